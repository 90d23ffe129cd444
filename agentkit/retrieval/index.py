"""Vector indexes over the chunks of one collection: exact for small sets, hnswlib beyond. The truth is in the database."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import hnswlib
    import numpy as np

LINKS = 16
"""hnswlib's M: links of a node to its neighbours."""
EFFORT_BUILD = 200
"""hnswlib's ef_construction: candidates looked at when a node is added."""
EFFORT = 128
"""hnswlib's ef: candidates looked at when searching, at least; never fewer than twice what is asked for."""
_META = "vectors.json"
_READ = 1 << 22
_BLOCK = 1 << 16


class VectorIndex(Protocol):
    """Nearest chunks of a vector; all vectors have length 1, scores are cosines. Not thread-safe: the owner locks."""

    def __len__(self) -> int:
        """How many vectors there are."""

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Add vectors (n, dimension) under new ids (n)."""

    def remove(self, ids: list[int]) -> None:
        """Remove; ids that are not there are passed over."""

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and scores of the at most `k` nearest to a vector (dimension), best first."""

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the ids that are there, in the given order, and their vectors (n, dimension)."""


class ExactIndex:
    """Compares with every vector; the fastest way for some thousands, and never wrong."""

    def __init__(self, dimension: int) -> None:
        import numpy as np

        self._ids = np.empty(0, dtype=np.int64)
        self._vectors = np.empty((0, dimension), dtype=np.float32)
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Add vectors (n, dimension) under new ids (n)."""
        import numpy as np

        self._keep(np.concatenate([self._ids, ids]), np.concatenate([self._vectors, vectors]))

    def remove(self, ids: list[int]) -> None:
        """Remove; ids that are not there are passed over."""
        import numpy as np

        stay = ~np.isin(self._ids, ids)
        self._keep(self._ids[stay], self._vectors[stay])

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and scores of the at most `k` nearest to a vector (dimension), best first."""
        return nearest(self._ids, self._vectors, query, k)

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the ids that are there, in the given order, and their vectors (n, dimension)."""
        found = [number for number in ids if number in self._rows]
        return found, self._vectors[[self._rows[number] for number in found]]

    def everything(self) -> tuple[np.ndarray, np.ndarray]:
        """All ids and vectors."""
        return self._ids, self._vectors

    def _keep(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        self._ids, self._vectors = ids, vectors
        self._rows = {number: row for row, number in enumerate(ids.tolist())}


class HnswIndex:
    """hnswlib's graph: near-exact, in a time that hardly grows with the number of vectors."""

    def __init__(self, dimension: int, index: hnswlib.Index | None = None, removed: Iterable[int] = ()) -> None:
        self._index: Any = index if index is not None else _new_index(dimension)
        self._dimension = dimension
        self.removed = set(removed)
        """Ids that are marked as removed but still take space."""

    def __len__(self) -> int:
        return int(self._index.element_count) - len(self.removed)

    @property
    def waste(self) -> float:
        """The share of nodes that are removed, 0 to 1."""
        return len(self.removed) / max(1, int(self._index.element_count))

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Add vectors (n, dimension) under new ids (n)."""
        if not len(ids):
            return  # which hnswlib cannot do
        needed = self._index.element_count + len(ids)
        if needed > self._index.max_elements:
            self._index.resize_index(max(needed, 2 * self._index.max_elements))
        self._index.add_items(vectors, ids)

    def remove(self, ids: list[int]) -> None:
        """Remove; ids that are not there are passed over."""
        for number in set(self._index.get_ids_list()).intersection(ids) - self.removed:
            self._index.mark_deleted(number)
            self.removed.add(number)

    def search(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and scores of the at most `k` nearest to a vector (dimension), best first."""
        import numpy as np

        k = min(k, len(self))
        if not k:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        self._index.set_ef(max(EFFORT, 2 * k))
        try:
            ids, distances = self._index.knn_query(query, k=k)
        except RuntimeError:
            return self._scan(query, k)  # equal vectors and removed ones can cut the graph in parts that lead nowhere
        return ids[0].astype(np.int64), 1 - distances[0]

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the ids that are there, in the given order, and their vectors (n, dimension)."""
        import numpy as np

        found: list[int] = []
        rows = np.empty((len(ids), self._dimension), dtype=np.float32)
        for number in ids:
            try:
                rows[len(found)] = self._index.get_items([number])[0]
            except RuntimeError:  # not there, or marked as removed
                continue
            found.append(number)
        return found, rows[: len(found)]

    def _scan(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """What `search` gives, by comparing with every vector, a block at a time."""
        import numpy as np

        left = np.array(sorted(set(self._index.get_ids_list()) - self.removed), dtype=np.int64)
        best: tuple[np.ndarray, np.ndarray] = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        for start in range(0, len(left), _BLOCK):
            block = left[start : start + _BLOCK]
            ids, scores = nearest(block, np.asarray(self._index.get_items(block), dtype=np.float32), query, k)
            ids, scores = np.concatenate([best[0], ids]), np.concatenate([best[1], scores])
            order = np.argsort(-scores, kind="stable")[:k]
            best = ids[order], scores[order]
        return best

    def save(self, folder: Path, change: int) -> None:
        """Write the index, which contains all changes up to that number; a crash leaves what was there before."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"vectors-{change}.hnsw"
        temporary = folder / "vectors.tmp"
        self._index.save_index(str(temporary))
        _publish(temporary, file)
        meta = {"file": file.name, "change": change, "crc32": _checksum(file), "dimension": self._dimension}
        meta["removed"] = sorted(self.removed)
        temporary.write_text(json.dumps(meta), encoding="utf-8")
        _publish(temporary, folder / _META)
        for old in folder.glob("vectors-*.hnsw"):
            if old != file:
                old.unlink()


def load_hnsw(folder: Path, dimension: int) -> tuple[HnswIndex, int] | None:
    """The saved index and the number of the last change in it; None when it is missing or damaged."""
    import hnswlib

    try:
        meta = json.loads((folder / _META).read_text(encoding="utf-8"))
        file = folder / str(meta["file"])
        if meta["dimension"] != dimension or _checksum(file) != meta["crc32"]:
            return None
        index = hnswlib.Index(space="ip", dim=dimension)
        index.load_index(str(file))
        return HnswIndex(dimension, index, meta["removed"]), int(meta["change"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None  # whatever is wrong with a cache, it is built again


def nearest(ids: np.ndarray, vectors: np.ndarray, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and scores of the at most `k` vectors (n, dimension) nearest to a vector (dimension), best first."""
    import numpy as np

    scores = vectors @ query
    best = np.argpartition(-scores, k)[:k] if k < len(scores) else np.arange(len(scores))
    best = best[np.lexsort((ids[best], -scores[best]))]
    return ids[best], scores[best]


def _new_index(dimension: int) -> hnswlib.Index:
    import hnswlib

    index = hnswlib.Index(space="ip", dim=dimension)
    index.init_index(max_elements=1024, ef_construction=EFFORT_BUILD, M=LINKS)
    return index


def _publish(temporary: Path, file: Path) -> None:
    """Make what was written durable, then put it in its place in one step."""
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    temporary.replace(file)


def _checksum(file: Path) -> int:
    value = 0
    with file.open("rb") as opened:
        while block := opened.read(_READ):
            value = zlib.crc32(block, value)
    return value
