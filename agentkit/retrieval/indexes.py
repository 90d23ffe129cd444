"""The two indexes of one collection, kept up with the database; and the set of those that are open."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.retrieval.chunk_table import ChunkTable
from agentkit.retrieval.index import ExactIndex, HnswIndex, VectorIndex, load_hnsw
from agentkit.retrieval.lexical import LexicalIndex
from agentkit.retrieval.types import IndexVersion, Problem

if TYPE_CHECKING:
    import numpy as np

EXACT_BELOW = 5_000
"""Collections with fewer chunks are searched exactly."""
_SLICE = 2_000
_FAR = 5_000
"""So many changes after the last save make it worth to save at the end of an ingest, and not only when closing."""
_MOST_WASTE = 0.3
"""A graph with a greater share of removed nodes is built again."""


class CollectionIndex:
    """Both indexes of one index version; safe to share between threads."""

    def __init__(self, chunks: ChunkTable, version: IndexVersion, folder: Path, exact_below: int) -> None:
        self.version = version
        self._chunks = chunks
        self._folder = folder
        self._exact_below = exact_below
        self._lock = threading.RLock()
        self._words = LexicalIndex(folder / "lexical")
        loaded = load_hnsw(folder, version.dimension)
        self._near: VectorIndex = loaded[0] if loaded else ExactIndex(version.dimension)
        self._change = self._saved = loaded[1] if loaded else 0
        if max(self._change, self._words.change) > chunks.last_change(version):
            self._start_anew()  # the database is an older copy: what the files contain is of another history

    def refresh(self) -> None:
        """Take in what changed in the database since the last time."""
        if self._chunks.last_change(self.version) <= min(self._change, self._words.change):
            return
        with self._lock:
            until = self._chunks.last_change(self.version)
            if until > self._change:
                self._follow_vectors(until)
            if until > self._words.change:
                self._follow_words(until)

    def nearest(self, query: np.ndarray, k: int) -> tuple[list[int], list[float]]:
        """Ids and cosines of the at most `k` chunks nearest to the vector, best first."""
        with self._lock:
            ids, scores = self._near.search(query, k)
        return ids.tolist(), scores.tolist()

    def matching(self, query: str, k: int, allowed: Sequence[int] | None = None) -> tuple[list[int], list[float]]:
        """Ids and BM25 scores of the at most `k` chunks, of those that are allowed, that share words with the query."""
        return self._words.search(query, k, allowed)

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the chunks that are there and their vectors (n, dimension)."""
        with self._lock:
            return self._near.vectors(ids)

    def settle(self) -> None:
        """After an ingest: free what only writing needs, and save if much would have to be caught up with."""
        with self._lock:
            self._words.settle()
            if self._change - self._saved >= _FAR:
                self._save()

    def close(self) -> None:
        """Write what is not yet in the files."""
        with self._lock:
            self.refresh()
            self._words.settle()
            if self._change > self._saved:
                self._save()
            if self._change:
                self._chunks.forget_removed(self.version, min(self._saved or self._change, self._words.change))

    def check(self) -> list[Problem]:
        """Whether the indexes have exactly the chunks that the database has."""
        with self._lock:
            self.refresh()
            stored = set(self._chunks.chunk_ids(self.version))
            found = {"vector": set(self._near.vectors(sorted(stored))[0]), "lexical": self._words.ids()}
            counts = {"vector": len(self._near), "lexical": len(self._words)}
        return [
            Problem(
                f"The {kind} index of version {self.version.id} has {counts[kind]} chunks, the database {len(stored)}.",
                f"Stop the program, remove the folder {self._folder} and start again: the index is built anew.",
            )
            for kind in found
            if found[kind] != stored or counts[kind] != len(stored)
        ]

    def _follow_vectors(self, until: int) -> None:
        if self._change:
            self._near.remove(self._chunks.removed(self.version, self._change, until))
        while True:
            ids, vectors = self._chunks.vectors_added(self.version, self._change, until, _SLICE)
            if not len(ids):
                break
            self._grow(len(ids))
            self._near.add(ids, vectors)
            self._change = int(ids[-1])
        self._change = until
        if isinstance(self._near, HnswIndex) and self._near.waste > _MOST_WASTE:
            self._near, self._change = ExactIndex(self.version.dimension), 0
            self._follow_vectors(until)

    def _follow_words(self, until: int) -> None:
        known = self._words.change
        if known:
            self._words.remove(self._chunks.removed(self.version, known, until))
        while rows := self._chunks.texts_added(self.version, known, until, _SLICE):
            self._words.add(rows)
            known = rows[-1].id
        self._words.commit(until)

    def _grow(self, more: int) -> None:
        """Change over to the graph when the exact index gets too large."""
        if isinstance(self._near, ExactIndex) and len(self._near) + more > self._exact_below:
            ids, vectors = self._near.everything()
            self._near = HnswIndex(self.version.dimension)
            self._near.add(ids, vectors)

    def _save(self) -> None:
        if isinstance(self._near, HnswIndex):
            self._near.save(self._folder, self._change)
            self._saved = self._change

    def _start_anew(self) -> None:
        self._words.clear()
        self._near, self._change, self._saved = ExactIndex(self.version.dimension), 0, 0


class Indexes:
    """The open indexes of all collections; each is opened at its first use."""

    def __init__(self, chunks: ChunkTable, folder: Path) -> None:
        self._chunks = chunks
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[str, CollectionIndex] = {}

    def of(self, version: IndexVersion) -> CollectionIndex:
        """The indexes of that version, up to date."""
        with self._lock:
            index = self._open.get(version.id)
            if index is None:
                index = self._open[version.id] = CollectionIndex(self._chunks, version, self._folder / version.id, EXACT_BELOW)
        index.refresh()
        return index

    def drop(self, version: IndexVersion) -> None:
        """Remove the indexes of a version that is no more."""
        with self._lock:
            self._open.pop(version.id, None)
            shutil.rmtree(self._folder / version.id, ignore_errors=True)

    def close(self) -> None:
        """Save all."""
        with self._lock:
            for index in self._open.values():
                index.close()
            self._open.clear()
