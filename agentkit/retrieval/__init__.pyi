from .embedding.embed import Embedder, FakeEmbedder
from .embedding.folders import MiniLMEmbedder
from .evaluation.evaluation import Evaluation, evaluate, evaluate_modes
from .evaluation.measuring import measure
from .index.vector_index import IndexFigures
from .ingest.versions import VersionStatus
from .library import Library
from .options import SearchOptions
from .store.exact_search import Match
from .store.originals import sources_from_paths
from .store.questions import Measurement, Question, QuestionSet
from .types import (
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
from .web.fetching import fetch, source_at

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
