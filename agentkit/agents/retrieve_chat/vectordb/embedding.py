"""Embedding functions for vector databases: the packaged model's, an embedder's, and what checks
their vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.vectordb.base import EmbeddingFunction, Vector
from agentkit.core import stopping
from agentkit.errors import WrongArgument
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.embedding.folders import MiniLMEmbedder
from agentkit.retrieval.index.graph import Metric

if TYPE_CHECKING:
    import numpy as np

_BATCH = 256
_HEADROOM = 1e18
"""Larger numbers would overflow when they are squared in 32 bits."""


@cache
def default_embedding_function() -> EmbeddingFunction:
    """all-MiniLM-L6-v2 (384 dimensions), one for the whole process; the model is loaded when it is
    first called.
    """
    return embedding_function_of(MiniLMEmbedder())


def embedding_function_of(embedder: Embedder) -> EmbeddingFunction:
    """The embedder as a function from texts to lists of numbers."""

    def embed(texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = embedder.embed(texts).tolist()
        return vectors

    return embed


def embed_texts(function: EmbeddingFunction, texts: Sequence[str], metric: Metric) -> np.ndarray:
    """Vectors (n, dimension) of the texts, computed in batches; raises WrongArgument as
    `to_vectors`, and Stopped.
    """
    import numpy as np

    parts: list[Any] = []
    for start in range(0, len(texts), _BATCH):
        stopping.check()
        batch = list(texts[start : start + _BATCH])
        given = function(batch)
        if len(given) != len(batch):
            raise WrongArgument(
                f"The embedding function gave {len(given)} vectors for {len(batch)} texts; it must"
                " give one each."
            )
        parts.append(to_vectors(given, metric, [f"the text {text[:40]!r}" for text in batch]))
        if parts[0].shape[1] != parts[-1].shape[1]:
            raise WrongArgument(
                f"The embedding function gave vectors of {parts[0].shape[1]} and of"
                f" {parts[-1].shape[1]} numbers; they must have one dimension."
            )
    return np.concatenate(parts)


def to_vectors(given: Sequence[Vector], metric: Metric, owners: Sequence[str]) -> np.ndarray:
    """The vectors as one array (n, dimension) of float32.

    Raises WrongArgument, naming the owner of the vector, when one is not finite, has another
    dimension than the others, or has length 0 where cosines are wanted.
    """
    import numpy as np

    lengths = [len(vector) for vector in given]
    for owner, length in zip(owners, lengths, strict=True):
        if length != lengths[0] or not length:
            raise WrongArgument(
                f"The vector of {owner} has {length} numbers, the first has {lengths[0]}; they must"
                " have as many."
            )
    try:
        vectors = np.asarray(given, dtype=np.float64).reshape(len(given), -1)
    except (TypeError, ValueError) as error:
        raise WrongArgument(
            f"The vectors of {owners[0]} and others are not plain numbers ({error})."
        ) from error
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(vectors) < _HEADROOM).all(axis=1)
    if bad.any():
        raise WrongArgument(
            f"The vector of {owners[int(bad.argmax())]} holds NaN, infinity or too large a number;"
            " correct it."
        )
    single = vectors.astype(np.float32)
    empty = ~single.any(axis=1)
    if metric == "cosine" and empty.any():
        raise WrongArgument(
            f"The vector of {owners[int(empty.argmax())]} has length 0, which has no direction to"
            ' compare; give another one, or use metadata={"hnsw:space": "l2"}.'
        )
    return single
