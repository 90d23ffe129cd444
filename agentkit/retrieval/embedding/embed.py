"""What an embedder is: text to vectors of length 1. With a deterministic one without a model, for
tests.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from agentkit.core import bus
from agentkit.errors import BadModelReply, ModelError
from agentkit.events import ModelCalled, ModelReplied, Usage
from agentkit.messages import new_id

if TYPE_CHECKING:
    import numpy as np
    import tokenizers

Vectors = "np.ndarray[tuple[int, int], np.dtype[np.float32]]"

_BLOCK = 100_000
_MOST_TOKENS = 256


class Embedder(Protocol):
    """Turns texts into vectors; safe to use from several threads."""

    @property
    def name(self) -> str:
        """Vectors of the same name can be compared with each other."""

    @property
    def provider(self) -> str:
        """Who runs it, in the list of model calls: `local` for this process, else the server."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens, special tokens included; what is beyond is not seen."""

    @property
    def precision(self) -> str:
        """What it computes in, `float32` or `bfloat16`; empty where that is not known. Vectors of
        both can be compared with each other.
        """

    @property
    def is_ready(self) -> bool:
        """Whether it can embed at once; else it prepares itself at first, which may take a
        minute.
        """

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end character of each token, without special tokens."""

    def cost(self, tokens: int) -> float | None:
        """US dollars for embedding so many tokens; None when the price is unknown."""


def emit_embedding(
    embedder: Embedder,
    tokens: int,
    seconds: float,
    error: ModelError | None = None,
    *,
    attempt: int = 1,
    retry_in_s: float | None = None,
) -> None:
    """Say that the embedder was called: one row among the model calls.

    A call that failed took nothing, unless it gave an answer that was of no use. `retry_in_s`:
        seconds to the next attempt.
    """
    call, provider = new_id(), embedder.provider
    took = tokens if error is None or isinstance(error, BadModelReply) else 0
    bus.emit(ModelCalled(call, "", provider, embedder.name, "embedding"))
    bus.emit(
        ModelReplied(
            call,
            "",
            provider,
            embedder.name,
            "embedding",
            "failed" if error else "ok",
            usage=Usage(input=took, estimated=provider != "local" and took > 0),
            seconds=seconds,
            cost=embedder.cost(took) if took else 0.0,
            error=str(error or ""),
            error_type=type(error).__name__ if error else "",
            attempt=attempt,
            retry_in_s=retry_in_s,
        )
    )


class InProcess:
    """What embedders that run in this process have in common."""

    provider = "local"

    @property
    def precision(self) -> str:
        """What it computes in."""
        return "float32"

    @property
    def is_ready(self) -> bool:
        """It needs no preparation."""
        return True

    def cost(self, tokens: int) -> float | None:
        """Nothing."""
        return 0.0


class FakeEmbedder(InProcess):
    """A hashed bag of words: the same text gives the same vector in every process, similar words
    give near ones. For tests.
    """

    name = "fake"
    max_tokens = _MOST_TOKENS

    def __init__(self, dimension: int = 64, name: str = "fake") -> None:
        self.dimension = dimension
        self.name = name

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in _WORD.findall(text.lower()) or [""]:
                digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
                row[int.from_bytes(digest[:4], "big") % self.dimension] += (
                    1 if digest[4] & 1 else -1
                )
            if not row.any():
                row[0] = 1
            row /= np.linalg.norm(row)
        return vectors

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each word or sign."""
        return [match.span() for match in _TOKEN.finditer(text)]


_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def offsets(tokenizer: tokenizers.Tokenizer, text: str) -> list[tuple[int, int]]:
    """Start and end character of each token, without special tokens; the tokenizer is an
    `unlimited` one.
    """
    found: list[tuple[int, int]] = []
    for start, block in _blocks(text):
        encoded = tokenizer.encode(block, add_special_tokens=False).offsets
        found += [(start + first, start + last) for first, last in encoded] if start else encoded
    return found


def without_limits(tokenizer: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """The same tokenizer, set to neither cut nor pad texts."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def check_vectors(vectors: np.ndarray, count: int, dimension: int, who: str) -> np.ndarray:
    """The vectors, which an embedder gave; raises BadModelReply when they are not `count` of
    `dimension` finite numbers.
    """
    import numpy as np

    if vectors.shape != (count, dimension):
        raise BadModelReply(
            f"{who} gave vectors of shape {vectors.shape} for {count:,} texts, but ({count:,},"
            f" {dimension:,}) was expected; check which model is loaded there."
        )
    if not np.isfinite(vectors).all():
        raise BadModelReply(
            f"{who} gave a vector with numbers that are not finite (NaN or infinity); check the"
            " model."
        )
    return vectors


def embed_and_check(
    embedder: Embedder, texts: Sequence[str], dimension: int, tokens: int
) -> np.ndarray:
    """The vectors of the texts, which have so many tokens; raises ModelError, and a call that
    failed is emitted then.
    """
    started = time.perf_counter()
    try:
        return check_vectors(embedder.embed(texts), len(texts), dimension, embedder.name)
    except ModelError as error:
        emit_embedding(embedder, tokens, time.perf_counter() - started, error)
        raise


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The text in blocks cut at white space, where this tokenizer separates anyway; keeps memory
    flat for large texts.
    """
    start = 0
    while start < len(text):
        end = min(start + _BLOCK, len(text))
        while end < len(text) and not text[end].isspace():
            end += 1
        yield start, text[start:end]
        start = end
