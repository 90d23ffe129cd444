"""hnswlib's graph over vectors, in memory and in a file.

Several threads may search it at once; while one changes it nobody else may use it: the owner locks.
"""

from __future__ import annotations

import math
import mmap
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import hnswlib
    import numpy as np

Metric = Literal["cosine", "l2", "ip"]
"""How far two vectors are apart, as vector databases have it.

`cosine` is 1 - cos (0 to 2) of vectors whose length is 1, `l2` the squared Euclidean distance,
`ip` 1 - dot product.
"""

LINKS = 16
"""hnswlib's M: links of a node to its neighbours."""
EFFORT_BUILD = 100
"""hnswlib's ef_construction: candidates looked at when a node is added."""
_ROOM = 128
"""Nodes that there is room for at first."""
_READ_AT_ONCE = 1 << 13
_HEADER = struct.Struct("<6Q2i3QdQ")
"""What a file of hnswlib 0.8 begins with; of it we read the sizes and where things are in a
node.
"""


class Graph:
    """Vectors by id, and the nearest of them in a time that hardly grows with their number."""

    def __init__(self, dimension: int, metric: Metric, index: hnswlib.Index | None = None) -> None:
        self._index: Any = index if index is not None else _new_index(dimension, metric)
        self._least = -math.inf if metric == "ip" else 0.0
        self._lock = threading.Lock()
        self._searches = self._ef = 0

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
        """Mark nodes, which must be there, as removed: no more found, but still taking space."""
        for number in ids:
            self._index.mark_deleted(number)

    def search(self, queries: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Ids (m, k) and distances (m, k) of the nearest to vectors (m, dimension).

        `ef` is how many candidates are looked at: at least so many, when another thread searches
        with more. None when it finds fewer than `k`: equal vectors and removed ones can cut the
        graph in parts that lead nowhere.
        """
        import numpy as np

        with self._candidates(max(ef, k)):
            try:
                ids, distances = self._index.knn_query(queries, k=k)
            except RuntimeError:
                return None
        return ids.astype(np.int64), distances.clip(self._least)

    @contextmanager
    def _candidates(self, ef: int) -> Iterator[None]:
        """hnswlib has one ef for all searches: while others go on it is only raised."""
        with self._lock:
            if not self._searches or ef > self._ef:
                self._index.set_ef(ef)
                self._ef = ef
            self._searches += 1
        try:
            yield
        finally:
            with self._lock:
                self._searches -= 1

    def save(self, path: str) -> int:
        """Write it to a file, and give how many bytes that must have been.

        hnswlib does not say when the disk is full.
        """
        self._index.save_index(path)
        return int(self._index.index_file_size())


def load_graph(path: str, dimension: int, metric: Metric) -> Graph:
    """The saved graph; raises RuntimeError for any other file."""
    import hnswlib

    index = hnswlib.Index(space=_space(metric), dim=dimension)
    index.load_index(path)
    return Graph(dimension, metric, index)


def map_vectors(file: Path, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids (n) of the nodes of a saved graph, and their vectors (n, dimension), mapped from the
    file.

    They are in the order of the nodes, so the ids need not rise. Raises OSError, and ValueError for
    a file of another layout.
    """
    import numpy as np

    with file.open("rb") as opened:
        head = opened.read(_HEADER.size)
    if len(head) < _HEADER.size:
        raise ValueError(f"{file} is cut off.")
    _, _, count, size, at_id, at_vector, *_ = _HEADER.unpack(head)
    if (at_id, size) != (at_vector + 4 * dimension, at_id + 8):
        raise ValueError(f"{file} has no vectors of {dimension} numbers where they are expected.")
    node = np.dtype(
        {
            "names": ["vector", "id"],
            "formats": [("<f4", (dimension,)), "<i8"],
            "offsets": [at_vector, at_id],
            "itemsize": size,
        }
    )
    if not count:
        return np.empty(0, dtype=np.int64), np.empty((0, dimension), dtype=np.float32)
    nodes = np.memmap(file, node, "r", _HEADER.size, (count,)).view(np.ndarray)
    ids = np.empty(count, dtype=np.int64)
    for start in range(0, count, _READ_AT_ONCE):
        ids[start : start + _READ_AT_ONCE] = nodes["id"][start : start + _READ_AT_ONCE]
        release_pages(nodes)
    return ids, nodes["vector"]


def release_pages(mapped: np.ndarray) -> None:
    """Let the system have the pages that were read of a mapped file; they come back when they are
    read. Nothing happens to an array that is in memory.
    """
    base: object = mapped
    while hasattr(base, "base"):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _space(metric: Metric) -> str:
    return "l2" if metric == "l2" else "ip"


def _new_index(dimension: int, metric: Metric) -> hnswlib.Index:
    import hnswlib

    index = hnswlib.Index(space=_space(metric), dim=dimension)
    index.init_index(max_elements=_ROOM, ef_construction=EFFORT_BUILD, M=LINKS)
    return index
