"""Chunks to answers: embedding, the store, its indexes, taking documents in and finding passages in them."""

from agentkit.retrieval.embed import Embedder, FakeEmbedder, MiniLMEmbedder
from agentkit.retrieval.evaluation import Evaluation, evaluate, evaluate_modes
from agentkit.retrieval.fetching import fetch
from agentkit.retrieval.library import Library
from agentkit.retrieval.originals import sources_from_paths
from agentkit.retrieval.types import Chunk, Collection, Hit, Mode, Problem, Source, StoredDocument

__all__ = [
    "Chunk", "Collection", "Embedder", "Evaluation", "FakeEmbedder", "Hit", "Library", "MiniLMEmbedder", "Mode", "Problem",
    "Source", "StoredDocument", "evaluate", "evaluate_modes", "fetch", "sources_from_paths",
]  # fmt: skip
