"""Nearest vectors among rows in memory, compared one by one, or by hnswlib's graph over them. Not thread-safe: the owner locks.

Distances are those of vector databases: 1 - cosine (of vectors whose length is 1), squared Euclidean, or 1 - dot product.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from agentkit.errors import StoreError

if TYPE_CHECKING:
    import hnswlib
    import numpy as np

Metric = Literal["cosine", "l2", "ip"]
"""How far two vectors are apart: `cosine` is 1 - cos (0 to 2), `l2` the squared Euclidean distance, `ip` 1 - dot product."""

LINKS = 16
"""hnswlib's M: links of a node to its neighbours."""
EFFORT_BUILD = 100
"""hnswlib's ef_construction: candidates looked at when a node is added."""
BLOCK = 1 << 14
"""Vectors that are compared or copied at once, so that memory stays small."""


class ExactIndex:
    """Rows of vectors by id, and the nearest of them by comparing with every one: never wrong, and fastest for some thousands."""

    def __init__(
        self,
        dimension: int,
        metric: Metric = "cosine",
        ids: np.ndarray | None = None,
        vectors: np.ndarray | None = None,
    ) -> None:
        """Starts with `vectors` (n, dimension; only read, so they may be mapped from a file) under the rising `ids` (n)."""
        import numpy as np

        self.dimension, self.metric = dimension, metric
        self._ids = np.empty(0, dtype=np.int64) if ids is None else ids
        self._alive = np.ones(len(self._ids), dtype=bool)
        self._first = np.empty((0, dimension), dtype=np.float32) if vectors is None else vectors
        self._later = np.empty((0, dimension), dtype=np.float32)
        self._count = len(self._ids)

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> np.ndarray:
        """The ids that are there, rising."""
        return self._ids[self._alive]

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Add vectors (n, dimension) under rising ids (n), all greater than those before.

        Raises StoreError for vectors of another dimension, or with NaN or infinite numbers.
        """
        import numpy as np

        check_vectors(vectors, self.dimension)
        if not len(ids):
            return
        used = len(self._ids) - len(self._first)
        if used + len(ids) > len(self._later):
            room = np.empty((max(used + len(ids), 2 * used), self.dimension), dtype=np.float32)
            room[:used] = self._later[:used]
            self._later = room
        self._later[used : used + len(ids)] = vectors
        self._ids = np.concatenate([self._ids, np.asarray(ids, dtype=np.int64)])
        self._alive = np.concatenate([self._alive, np.ones(len(ids), dtype=bool)])
        self._count += len(ids)

    def remove(self, ids: list[int]) -> list[int]:
        """Remove, and give those that were there; their rows take space until `compact`."""
        import numpy as np

        rows = self._rows(np.unique(np.asarray(ids, dtype=np.int64)))
        self._alive[rows] = False
        self._count -= len(rows)
        found: list[int] = self._ids[rows].tolist()
        return found

    @property
    def removed(self) -> np.ndarray:
        """The ids of rows that are removed but still take space, rising."""
        return self._ids[~self._alive]

    @property
    def waste(self) -> float:
        """The share of rows that are removed, 0 to 1."""
        return (len(self._ids) - self._count) / max(1, len(self._ids))

    def compact(self, ids: np.ndarray) -> None:
        """Free the space of removed rows, other than those of the given ids."""
        import numpy as np

        rows = np.flatnonzero(self._alive | np.isin(self._ids, ids))
        self._later = np.array(self._taken(rows))
        self._first = self._first[:0]
        self._ids, self._alive = self._ids[rows], self._alive[rows]

    def rest_on(self, vectors: np.ndarray) -> None:
        """Read all rows from `vectors`, which `write` wrote: mapped from the file they need no memory of their own."""
        self._first, self._later = vectors, self._later[:0].copy()

    def search(self, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Ids and distances of the at most `k` nearest to a vector (dimension), nearest first; `allowed`: rising ids."""
        ids, distances = self.search_many(query[None], k, allowed)
        return ids[0], distances[0]

    def search_many(
        self, queries: np.ndarray, k: int, allowed: np.ndarray | None = None
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """What `search` gives, for each of several vectors (m, dimension)."""
        import numpy as np

        ids = [np.empty(0, dtype=np.int64)] * len(queries)
        far = [np.empty(0)] * len(queries)
        if k < 1:
            return ids, far
        for rows, vectors in self._blocks(None if allowed is None else self._rows(allowed)):
            table = _compared(vectors, queries, self.metric)
            for one, found in enumerate(table):
                best = np.argpartition(found, k - 1)[:k] if k < len(found) else np.arange(len(found))
                exact = _distances(vectors[best], queries[one], self.metric)
                ids[one], far[one] = _merged(k, (ids[one], far[one]), (self._ids[rows[best]], exact))
        return ids, far

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the ids that are there, in the given order, and their vectors (n, dimension)."""
        import numpy as np

        given = np.asarray(ids, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._ids, given), max(0, len(self._ids) - 1))
        there = (self._ids[at] == given) & self._alive[at] if len(self._ids) else np.zeros(len(given), dtype=bool)
        rows, border = at[there], len(self._first)
        early = rows < border
        vectors = np.empty((len(rows), self.dimension), dtype=np.float32)
        vectors[early], vectors[~early] = self._first[rows[early]], self._later[rows[~early] - border]
        found: list[int] = given[there].tolist()
        return found, vectors

    def write(self, file: Any) -> None:
        """Write all rows, removed ones too, in numpy's format; the counterpart is `np.load`."""
        import numpy as np

        shape = (len(self._ids), self.dimension)
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for start in range(0, len(self._ids), BLOCK):
            file.write(self._taken(np.arange(start, min(start + BLOCK, len(self._ids)))).astype("<f4", copy=False).tobytes())

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        """The rows of those of the rising ids that are there."""
        import numpy as np

        at = np.searchsorted(self._ids, ids)
        inside = at < len(self._ids)
        at, wanted = at[inside], ids[inside]
        rows: np.ndarray = at[(self._ids[at] == wanted) & self._alive[at]]
        return rows

    def _blocks(self, rows: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows and their vectors, of all that are alive or of those that are named."""
        import numpy as np

        if rows is None:
            rows = np.flatnonzero(self._alive)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            yield part, self._taken(part)

    def _taken(self, rows: np.ndarray) -> np.ndarray:
        """The vectors of rising rows; a view where they follow one another."""
        import numpy as np

        border = len(self._first)
        split = int(np.searchsorted(rows, border))
        parts = [_picked(self._first, rows[:split]), _picked(self._later, rows[split:] - border)]
        taken: np.ndarray = np.concatenate(parts) if len(parts[0]) and len(parts[1]) else parts[0 if len(parts[0]) else 1]
        return taken


class Graph:
    """hnswlib's graph over vectors: near-exact, in a time that hardly grows with their number."""

    def __init__(self, dimension: int, metric: Metric, index: hnswlib.Index | None = None) -> None:
        self._index: Any = index if index is not None else _new_index(dimension, metric)

    def __len__(self) -> int:
        """Nodes, removed ones included."""
        return int(self._index.element_count)

    @property
    def ids(self) -> np.ndarray:
        """The ids of all nodes, rising, removed ones included."""
        import numpy as np

        return np.sort(np.asarray(self._index.get_ids_list(), dtype=np.int64))

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Add vectors (n, dimension) under new ids (n)."""
        if not len(ids):
            return  # which hnswlib cannot do
        needed = len(self) + len(ids)
        if needed > self._index.max_elements:
            self._index.resize_index(max(needed, 2 * self._index.max_elements))
        self._index.add_items(vectors, ids)

    def remove(self, ids: list[int]) -> None:
        """Mark nodes, which must be there, as removed: they are not found any more, but still take space."""
        for number in ids:
            self._index.mark_deleted(number)

    def search(self, queries: np.ndarray, k: int, effort: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Ids (m, k) and distances (m, k) of the nearest to vectors (m, dimension), looking at `effort` candidates.

        None when it finds fewer than `k`: equal vectors and removed ones can cut the graph in parts that lead nowhere.
        """
        import numpy as np

        self._index.set_ef(max(effort, k))
        try:
            ids, distances = self._index.knn_query(queries, k=k)
        except RuntimeError:
            return None
        return ids.astype(np.int64), distances.clip(0)

    def save(self, path: str) -> int:
        """Write it to a file, and give how many bytes that must have been: hnswlib does not say when the disk is full."""
        self._index.save_index(path)
        return int(self._index.index_file_size())


def load_graph(path: str, dimension: int, metric: Metric) -> Graph:
    """The saved graph; raises RuntimeError for a file that is none."""
    import hnswlib

    index = hnswlib.Index(space=_space(metric), dim=dimension)
    index.load_index(path)
    return Graph(dimension, metric, index)


def check_vectors(vectors: np.ndarray, dimension: int) -> None:
    """Raise StoreError unless the vectors (n, dimension) have that dimension and finite numbers only."""
    import numpy as np

    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise StoreError(
            f"Vectors of shape {vectors.shape} cannot be added to an index of {dimension} numbers each; "
            "use the embedding model that the collection was made with."
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise StoreError(
            f"{len(bad):,} of {len(vectors):,} vectors hold NaN or infinite numbers, the first in row {bad[0]}; "
            "the embedding model failed on these texts: take them in anew, or use another model."
        )


def _compared(vectors: np.ndarray, queries: np.ndarray, metric: Metric) -> np.ndarray:
    """Distances (m, n) that are good enough to choose by."""
    import numpy as np

    if metric == "cosine":
        alike: np.ndarray = queries @ vectors.T
        np.negative(alike, out=alike)
        return alike
    # Lengths differ here: in 32 bits large ones would overflow, or drown what makes the difference.
    rows, asked = vectors.astype(np.float64), queries.astype(np.float64)
    dots: np.ndarray = asked @ rows.T
    far: np.ndarray = -dots if metric == "ip" else np.square(rows).sum(axis=1) - 2 * dots
    return far


def _distances(vectors: np.ndarray, query: np.ndarray, metric: Metric) -> np.ndarray:
    """Distances (n), in double precision."""
    import numpy as np

    rows, asked = vectors.astype(np.float64), query.astype(np.float64)
    if metric == "l2":
        squared: np.ndarray = np.square(rows - asked).sum(axis=1)
        return squared
    far: np.ndarray = 1 - np.einsum("ij,j->i", rows, asked)
    return far.clip(0) if metric == "cosine" else far


def _merged(k: int, one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    ids, far = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.lexsort((ids, far))[:k]
    return ids[order], far[order]


def _picked(vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    one_after_the_other = len(rows) and rows[-1] - rows[0] + 1 == len(rows)
    picked: np.ndarray = vectors[rows[0] : rows[-1] + 1] if one_after_the_other else vectors[rows]
    return picked


def _space(metric: Metric) -> str:
    return "l2" if metric == "l2" else "ip"


def _new_index(dimension: int, metric: Metric) -> hnswlib.Index:
    import hnswlib

    index = hnswlib.Index(space=_space(metric), dim=dimension)
    index.init_index(max_elements=1024, ef_construction=EFFORT_BUILD, M=LINKS)
    return index
