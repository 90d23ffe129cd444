"""The vectors of an index by their ids, for what reads them: comparing a few, fusing, measuring.

Those that are in a graph's file are read from it, later ones from a file without a name. Not
thread-safe: the owner locks.
"""

from __future__ import annotations

import logging
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from agentkit import private
from agentkit.errors import StoreError
from agentkit.retrieval.index.graph import Metric, release_pages

if TYPE_CHECKING:
    import numpy as np

BLOCK = 1 << 12
"""Vectors that are compared at once with many queries, so that memory stays small."""
_FEW = 1 << 9
"""With few queries: less than 1 MB, which is at hand; the system takes longer to give more than
comparing takes.
"""

_FEW_QUERIES = 8
log = logging.getLogger(__name__)

Found = tuple["np.ndarray", "np.ndarray"]
"""Ids and distances, nearest first."""


@dataclass(frozen=True, slots=True)
class Addition:
    """What `Vectors` holds once some more are added."""

    ids: np.ndarray
    places: np.ndarray
    alive: np.ndarray
    later: np.ndarray
    count: int


class Vectors:
    """Vectors by id; removed ones take space until `compact`.

    What no graph's file has yet lies in a file in `folder`; without one, in memory.
    """

    def __init__(
        self, dimension: int, metric: Metric = "cosine", folder: Path | None = None
    ) -> None:
        import numpy as np

        self.dimension, self.metric = dimension, metric
        self._spill = _Spill(dimension, folder)
        self._ids = self._places = np.empty(0, dtype=np.int64)
        self._alive = np.empty(0, dtype=bool)
        self._saved = self._later = np.empty((0, dimension), dtype=np.float32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> np.ndarray:
        """The ids that are there, rising."""
        return self._ids[self._alive]

    @property
    def removed(self) -> np.ndarray:
        """The ids of those that are removed but still take space, rising."""
        return self._ids[~self._alive]

    @property
    def waste(self) -> float:
        """The share that is removed, 0 to 1."""
        return (len(self._ids) - self._count) / max(1, len(self._ids))

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Add vectors (n, dimension) under rising ids (n), all greater than those before.

        Raises StoreError for vectors of another dimension, or with NaN or infinite numbers.
        """
        self.take(self.prepare(ids, vectors))

    def prepare(self, ids: np.ndarray, vectors: np.ndarray) -> Addition:
        """All of `add` that takes time; until `take` nobody sees it, so that others may read."""
        import numpy as np

        _check(vectors, self.dimension)
        used = len(self._ids) - len(self._saved)
        later = self._spill.append(self._later, used, vectors)
        places = np.arange(len(ids), dtype=np.int64) + len(self._ids)
        return Addition(
            np.concatenate([self._ids, np.asarray(ids, dtype=np.int64)]),
            np.concatenate([self._places, places]),
            np.concatenate([self._alive, np.ones(len(ids), dtype=bool)]),
            later,
            len(ids),
        )

    def take(self, addition: Addition) -> None:
        """Add what was prepared; nothing else may have changed since."""
        self._ids, self._places = addition.ids, addition.places
        self._alive, self._later = addition.alive, addition.later
        self._count += addition.count

    def remove(self, ids: list[int]) -> list[int]:
        """Remove, and give those that were there."""
        import numpy as np

        rows = self._rows(np.unique(np.asarray(ids, dtype=np.int64)))
        self._alive[rows] = False
        self._count -= len(rows)
        found: list[int] = self._ids[rows].tolist()
        return found

    def compact(self, ids: np.ndarray) -> None:
        """Free the space of removed ones, other than those of the given ids."""
        import numpy as np

        rows = np.flatnonzero(self._alive | np.isin(self._ids, ids))
        self._later, self._saved = self._take(rows), self._saved[:0]
        self._ids, self._alive = self._ids[rows], self._alive[rows]
        self._places = np.arange(len(rows), dtype=np.int64)
        self._spill.empty()  # its file has them in another order

    def rest_on(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        """Read all from `vectors` (n, dimension), under `ids` (n), in any order.

        Mapped from a file they need no memory of their own. What is here already must be the same.
        """
        import numpy as np

        order = np.argsort(ids)
        if not len(self._ids):
            self._ids, self._alive = ids[order], np.ones(len(ids), dtype=bool)
            self._count = len(ids)
        elif not np.array_equal(ids[order], self._ids):
            raise ValueError("The file does not have the same ids.")
        self._places, self._saved, self._later = order, vectors, self._later[:0].copy()
        self._spill.empty()

    def get(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the ids that are there, in the given order, and their vectors (n, dimension)."""
        import numpy as np

        given = np.asarray(ids, dtype=np.int64)
        at = np.searchsorted(self._ids, given)
        inside = at < len(self._ids)
        at, given = at[inside], given[inside]
        there = (self._ids[at] == given) & self._alive[at]
        found: list[int] = given[there].tolist()
        return found, self._take(at[there])

    def nearest(self, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> Found:
        """The at most `k` nearest to a vector (dimension), all compared; `allowed`: rising ids."""
        return self.nearest_to_each(query[None], k, allowed)[0]

    def nearest_to_each(
        self, queries: np.ndarray, k: int, allowed: np.ndarray | None = None
    ) -> list[Found]:
        """What `nearest` gives, for each of several vectors (m, dimension)."""
        import numpy as np

        best: list[Found] = [(np.empty(0, dtype=np.int64), np.empty(0))] * len(queries)
        rows = np.flatnonzero(self._alive) if allowed is None else self._rows(allowed)
        at_once = BLOCK if len(queries) > _FEW_QUERIES else _FEW
        for ids, vectors in self._blocks(rows, at_once) if k > 0 else ():
            table = _compare(vectors, queries, self.metric)
            for one, far in enumerate(table):
                at = np.argpartition(far, k - 1)[:k] if k < len(far) else np.arange(len(far))
                found = ids[at], _distances(vectors[at], queries[one], self.metric)
                best[one] = _merge(k, best[one], found)
        return best

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        """The rows of those of the rising ids that are there."""
        import numpy as np

        at = np.searchsorted(self._ids, ids)
        inside = at < len(self._ids)
        at, wanted = at[inside], ids[inside]
        rows: np.ndarray = at[(self._ids[at] == wanted) & self._alive[at]]
        return rows

    def _blocks(self, rows: np.ndarray, at_once: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Ids and vectors of the rows, so many at a time."""
        for start in range(0, len(rows), at_once):
            if start and start % BLOCK == 0:  # else all of the files would count as memory
                release_pages(self._saved)
                release_pages(self._later)
            part = rows[start : start + at_once]
            yield self._ids[part], self._take(part)

    def _take(self, rows: np.ndarray) -> np.ndarray:
        """The vectors of rows, as a copy."""
        import numpy as np

        at, border = self._places[rows], len(self._saved)
        early = at < border
        vectors = np.empty((len(rows), self.dimension), dtype=np.float32)
        vectors[early], vectors[~early] = self._saved[at[early]], self._later[at[~early] - border]
        return vectors


class _Spill:
    """Vectors one after the other in a file that has no name and goes with the process."""

    def __init__(self, dimension: int, folder: Path | None) -> None:
        self._dimension, self._folder = dimension, folder
        self._file: IO[bytes] | None = None
        self._count = 0

    def append(self, there: np.ndarray, used: int, more: np.ndarray) -> np.ndarray:
        """The first `used` of those that are there, and behind them some more (n, dimension).

        What was handed out before stays as it is. On a full disk all are held in memory.
        """
        if not len(more):
            return there
        if self._folder is not None:
            try:
                return self._write(self._folder, there[:used], more)
            except OSError as error:
                log.warning(
                    "New vectors are held in memory: %s cannot be written to (%s).",
                    self._folder,
                    error,
                )
        self.empty()
        return _append_in_memory(there, used, more)

    def empty(self) -> None:
        """Forget all."""
        if self._file is not None:
            self._file.close()
        self._file, self._count = None, 0

    def _open(self, folder: Path) -> IO[bytes]:
        private.make_folder(folder)
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed with this)
        weakref.finalize(self, file.close)
        return file

    def _write(self, folder: Path, there: np.ndarray, more: np.ndarray) -> np.ndarray:
        import numpy as np

        if self._file is None or self._count != len(there):
            self.empty()
            self._file = self._open(folder)
            self._file.write(np.ascontiguousarray(there, dtype=np.float32).data)
        self._file.seek(4 * self._dimension * len(there))
        self._file.write(np.ascontiguousarray(more, dtype=np.float32).data)
        self._file.flush()
        self._count = len(there) + len(more)
        shape = (self._count, self._dimension)
        return np.memmap(self._file, np.float32, "r", 0, shape).view(np.ndarray)


def _append_in_memory(there: np.ndarray, used: int, more: np.ndarray) -> np.ndarray:
    import numpy as np

    needed, later = used + len(more), there
    if needed > len(there) or not there.flags.writeable:
        later = np.empty((max(needed, 2 * used), there.shape[1]), dtype=np.float32)
        later[:used] = there[:used]
    later[used:needed] = more
    return later


def _check(vectors: np.ndarray, dimension: int) -> None:
    """Raise StoreError unless they have that dimension and finite numbers only."""
    import numpy as np

    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise StoreError(
            f"Vectors of shape {vectors.shape} cannot be added to an index of {dimension} numbers "
            "each; use the embedding model that the collection was made with."
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise StoreError(
            f"{len(bad):,} of {len(vectors):,} vectors hold NaN or infinite numbers, the first in "
            f"row {bad[0]}; the embedding model failed on these texts: take them in anew, or use "
            "another model."
        )


def _compare(vectors: np.ndarray, queries: np.ndarray, metric: Metric) -> np.ndarray:
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


def _merge(k: int, one: Found, other: Found) -> Found:
    import numpy as np

    ids, far = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.lexsort((ids, far))[:k]
    return ids[order], far[order]
