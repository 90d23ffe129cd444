"""Chunks to answers: embedding, the store, its indexes, taking documents in and finding passages in them."""

from agentkit.retrieval.embed import Embedder, FakeEmbedder, MiniLMEmbedder
from agentkit.retrieval.evaluation import Evaluation, evaluate, evaluate_modes
from agentkit.retrieval.fetching import fetch
from agentkit.retrieval.finding import Match
from agentkit.retrieval.library import Library
from agentkit.retrieval.measuring import measure
from agentkit.retrieval.near import IndexFigures
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.originals import sources_from_paths
from agentkit.retrieval.questions import Measurement, Question, QuestionSet
from agentkit.retrieval.types import Chunk, Collection, Hit, IndexVersion, Mode, Problem, Scope, Source, StoredDocument
from agentkit.retrieval.versions import VersionStatus

__all__ = [
    "Chunk", "Collection", "Embedder", "Evaluation", "FakeEmbedder", "Hit", "IndexFigures", "IndexVersion", "Library", "Match",
    "Measurement", "MiniLMEmbedder", "Mode", "Problem", "Question", "QuestionSet", "Scope", "SearchOptions", "Source",
    "StoredDocument", "VersionStatus", "evaluate", "evaluate_modes", "fetch", "measure", "sources_from_paths",
]  # fmt: skip
