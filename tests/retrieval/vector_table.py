"""A table of vectors in memory, whose changes an index follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from agentkit.retrieval.index.graph import Metric
from agentkit.retrieval.index.vector_index import VectorIndex

SIZE = 16


def vectors(count: int, seed: int = 0, metric: Metric = "cosine") -> np.ndarray:
    """Vectors of some 6 dimensions and noise, as embeddings have; of length 1 for cosines."""
    chance = np.random.default_rng(seed)
    axes = np.random.default_rng(99).normal(size=(6, SIZE))
    drawn = chance.normal(size=(count, 6)) @ axes + 0.2 * chance.normal(size=(count, SIZE))
    if metric == "cosine":
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    rows: np.ndarray = drawn.astype(np.float32)
    return rows


class Table:
    """Keeps the rules of the real ones: a removal has a number of the same sequence as the ids."""

    def __init__(self, metric: Metric = "cosine") -> None:
        self.metric: Metric = metric
        self.rows: dict[int, np.ndarray] = {}
        self.gone: list[tuple[int, int]] = []
        self.last = 0

    def put(self, rows: np.ndarray) -> list[int]:
        ids = list(range(self.last + 1, self.last + len(rows) + 1))
        self.rows.update(zip(ids, rows, strict=True))
        self.last += len(rows)
        return ids

    def take(self, ids: list[int]) -> None:
        for number in ids:
            if self.rows.pop(number, None) is not None:
                self.last += 1
                self.gone.append((self.last, number))

    def index(self, folder: Path | None, exact_below: int = 100) -> VectorIndex:
        index = VectorIndex(self, SIZE, self.metric, folder, exact_below)
        index.refresh()
        return index

    def last_change(self) -> int:
        return self.last

    def read_removed(self, after: int, until: int) -> list[int]:
        return [number for change, number in self.gone if after < change <= until]

    def read_added(self, after: int, until: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        return self.read_stored(
            [number for number in sorted(self.rows) if after < number <= until][:limit]
        )

    def read_stored(self, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
        found = [number for number in ids if number in self.rows]
        kept = np.array([self.rows[number] for number in found], dtype=np.float32).reshape(
            len(found), SIZE
        )
        return np.array(found, dtype=np.int64), kept
