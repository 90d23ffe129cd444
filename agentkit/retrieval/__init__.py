"""Chunks to answers: embedding, the store, its indexes, taking documents in and finding passages in
them.
"""

from agentkit.retrieval.embedding.embed import Embedder, FakeEmbedder, MiniLMEmbedder
from agentkit.retrieval.evaluation.evaluation import Evaluation, evaluate, evaluate_modes
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.index.vector_index import IndexFigures
from agentkit.retrieval.ingest.versions import VersionStatus
from agentkit.retrieval.library import Library
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.exact_search import Match
from agentkit.retrieval.store.originals import sources_from_paths
from agentkit.retrieval.store.questions import Measurement, Question, QuestionSet
from agentkit.retrieval.types import (
    Chunk,
    Collection,
    Hit,
    IndexVersion,
    Mode,
    Problem,
    Scope,
    Source,
    StoredDocument,
)
from agentkit.retrieval.web.fetching import fetch, source_at

__all__ = [
    "Chunk",
    "Collection",
    "Embedder",
    "Evaluation",
    "FakeEmbedder",
    "Hit",
    "IndexFigures",
    "IndexVersion",
    "Library",
    "Match",
    "Measurement",
    "MiniLMEmbedder",
    "Mode",
    "Problem",
    "Question",
    "QuestionSet",
    "Scope",
    "SearchOptions",
    "Source",
    "StoredDocument",
    "VersionStatus",
    "evaluate",
    "evaluate_modes",
    "fetch",
    "measure",
    "source_at",
    "sources_from_paths",
]
