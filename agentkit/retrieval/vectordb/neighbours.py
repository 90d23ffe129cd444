"""The nearest documents of one collection of the embedded database: all compared, or for large sets hnswlib's graph.

The graph serves cosines, the default. Other distances, and searches among those documents that pass a filter, compare with every
vector in question: exact, in a time that grows with their number.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.retrieval.index import ExactIndex, HnswIndex, load_hnsw
from agentkit.retrieval.indexes import EXACT_BELOW
from agentkit.retrieval.vectordb.base import Metric
from agentkit.retrieval.vectordb.filters import Condition
from agentkit.retrieval.vectordb.tables import Collection

if TYPE_CHECKING:
    import numpy as np

Near = dict[int, float]
"""Distances by the documents' numbers."""

_SLICE = 2_000
_FAR = 5_000
"""So many changes after the last save make it worth to save again."""
_MOST_WASTE = 0.3
"""A graph with a greater share of removed nodes is built again."""
_BLOCK = 8_192


class Neighbours:
    """Follows the table of documents; share it between threads.

    The graph is saved in `folder` (None: in memory only) with the number of the last change in it, so that an older file, or none
    after a crash, is brought up to date from the table.
    """

    def __init__(self, collection: Collection, dimension: int, folder: Path | None, exact_below: int = EXACT_BELOW) -> None:
        self.collection = collection
        self._tables = collection.tables
        self._dimension = dimension
        self._folder = folder
        self._exact_below = exact_below
        self._lock = threading.RLock()
        loaded = load_hnsw(folder, dimension) if folder else None
        if loaded and loaded[1] > self._tables.last_change(collection):
            loaded = None  # the database is an older copy: the file is of another history
        self._near: ExactIndex | HnswIndex = loaded[0] if loaded else ExactIndex(dimension)
        self._change = self._saved = loaded[1] if loaded else 0

    def nearest(self, vector: np.ndarray, k: int) -> Near:
        """The at most `k` documents nearest to the vector (dimension)."""
        with self._lock:
            self.refresh()
            if isinstance(self._near, HnswIndex):
                numbers, cosines = self._near.search(_unit(vector[None])[0], k)
                return dict(zip(numbers.tolist(), (1 - cosines).clip(0).tolist(), strict=True))
            numbers, vectors = self._near.everything()
        return _best(numbers, vectors, vector, k, self.collection.metric)

    def nearest_of(self, condition: Condition, vector: np.ndarray, k: int) -> Near:
        """The at most `k` nearest of the documents that fulfil the condition."""
        numbers, vectors = self._tables.vectors(self.collection, condition)
        return _best(numbers, vectors, vector, k, self.collection.metric)

    def refresh(self) -> None:
        """Take in what changed in the table since the last time."""
        with self._lock:
            until = self._tables.last_change(self.collection)
            if until > self._change:
                self._follow(until)
            if self._change - self._saved >= _FAR:
                self.save()

    def save(self) -> None:
        """Write the graph, if there is one, and forget the removals that are in it."""
        with self._lock:
            if isinstance(self._near, HnswIndex) and self._folder and self._change > self._saved:
                self._near.save(self._folder, self._change)
            self._saved = self._change
            self._tables.forget_removed(self.collection, self._saved)

    def _follow(self, until: int) -> None:
        if self._change:
            self._near.remove(self._tables.removed(self.collection, self._change, until))
        while self._change < until:
            numbers, vectors = self._tables.vectors(
                self.collection, ("number > ? and number <= ?", [self._change, until]), limit=_SLICE
            )
            if len(numbers):
                self._add(numbers, vectors)
            self._change = int(numbers[-1]) if len(numbers) else until
        if isinstance(self._near, HnswIndex) and self._near.waste > _MOST_WASTE:
            self._near, self._change = ExactIndex(self._dimension), 0
            self._follow(until)

    def _add(self, numbers: np.ndarray, vectors: np.ndarray) -> None:
        large = self.collection.metric == "cosine" and len(self._near) + len(numbers) > self._exact_below
        if large and isinstance(self._near, ExactIndex):
            before = self._near.everything()
            self._near = HnswIndex(self._dimension)
            self._near.add(before[0], _unit(before[1]))
        self._near.add(numbers, _unit(vectors) if isinstance(self._near, HnswIndex) else vectors)


def distances(vectors: np.ndarray, vector: np.ndarray, metric: Metric) -> np.ndarray:
    """Distances (n) of vectors (n, dimension) to one (dimension), in double precision."""
    import numpy as np

    query = vector.astype(np.float64)
    found = np.empty(len(vectors))
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK].astype(np.float64)
        if metric == "l2":
            part = np.square(block - query).sum(axis=1)
        elif metric == "ip":
            part = 1 - block @ query
        else:
            part = (1 - (block @ query) / (np.linalg.norm(block, axis=1) * np.linalg.norm(query))).clip(0)
        found[start : start + _BLOCK] = part
    return found


def _best(numbers: np.ndarray, vectors: np.ndarray, vector: np.ndarray, k: int, metric: Metric) -> Near:
    import numpy as np

    found = distances(vectors, vector, metric)
    best = np.argpartition(found, k - 1)[:k] if k < len(found) else np.arange(len(found))
    return dict(zip(numbers[best].tolist(), found[best].tolist(), strict=True))


def _unit(vectors: np.ndarray) -> np.ndarray:
    import numpy as np

    unit: np.ndarray = (vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)).astype(np.float32)
    return unit
