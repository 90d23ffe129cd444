"""Which embedder belongs to an index version, and whether it still answers as it did when the
version was made.
"""

from __future__ import annotations

import copy
import time

from agentkit.core import bus
from agentkit.errors import ConfigError
from agentkit.events import EmbedderAwaited
from agentkit.retrieval.embedding.embed import Embedder, check_vectors, emit_embedding
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.store.version_table import VersionTable
from agentkit.retrieval.types import IndexVersion

_PROBE = (
    "The quick brown fox jumps over the lazy dog; 42 readers of Zürich noted it on a rainy Tuesday."
)
_SAME = 0.99
"""Cosine of what one model makes of the probe at other times and on other machines, at least."""
_RESTORE = (
    "restore the model as it was, search in lexical mode, "
    "or build a new version of the index in the retrieval lab."
)


class VersionEmbedders:
    """The embedders that versions were made with, each compared once; share it between threads."""

    def __init__(self, table: VersionTable, embedders: Embedders) -> None:
        self._table, self._embedders = table, embedders
        self._compared: set[str] = set()

    def among(self, embedders: Embedders) -> VersionEmbedders:
        """The same for other embedders; what was compared stays so."""
        other = copy.copy(self)
        other._embedders = embedders
        return other

    def of(self, version: IndexVersion) -> Embedder:
        """The version's embedder; raises ConfigError when it is not there or has changed since.

        Emits EmbedderAwaited first, when it is not ready.
        """
        embedder = self.find_named(version)
        if not embedder.is_ready:
            bus.emit(EmbedderAwaited(embedder.name))
        if version.id not in self._compared:
            self._compare(version, embedder)
            self._compared.add(version.id)
        return embedder

    def find_named(self, version: IndexVersion) -> Embedder:
        """The version's embedder, not compared; raises ConfigError when it is not there, or gives
        vectors of another dimension.
        """
        embedder = self._embedders.of(version.embedder)
        if embedder.dimension != version.dimension:
            raise ConfigError(
                f"{embedder.name} gives {embedder.dimension:,} numbers now, but gave"
                f" {version.dimension:,} when the index was made; {_RESTORE}"
            )
        return embedder

    def has_changed(self, version: IndexVersion, embedder: Embedder) -> bool:
        """Whether the embedder answers otherwise than when the version got its first chunks."""
        changed = self._measure_cosine(version, embedder) < _SAME
        if changed:
            self._compared.discard(version.id)
        return changed

    def _compare(self, version: IndexVersion, embedder: Embedder) -> None:
        """Raise ConfigError unless the embedder answers as it did when the version got its first
        chunks.
        """
        if (cosine := self._measure_cosine(version, embedder)) < _SAME:
            raise ConfigError(
                f"{embedder.name} answers differently than when the index was made (cosine"
                f" {cosine:.3f}, {_SAME} or more is expected); {_RESTORE}"
            )

    def _measure_cosine(self, version: IndexVersion, embedder: Embedder) -> float:
        """How near the embedder's answer is to the one when the version got its first chunks; noted
        when that is not known.
        """
        import numpy as np

        began = time.perf_counter()
        vector = check_vectors(embedder.embed([_PROBE]), 1, version.dimension, embedder.name)[0]
        if (
            embedder.provider != "local"
        ):  # who has to be paid is asked for nothing that is not booked
            emit_embedding(embedder, len(embedder.offsets(_PROBE)) + 2, time.perf_counter() - began)
        table = self._table
        before = table.probe(version)
        if before and table.counts(version)[2]:
            return float(np.dot(vector, np.asarray(before, dtype=np.float32)))
        table.keep_probe(version, [float(number) for number in vector], embedder.precision)
        return 1.0
