"""The nearest vectors of a table that changes: hnswlib's graph over all of them, a cache of it."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from agentkit.retrieval.index import index_files
from agentkit.retrieval.index.graph import Graph, Metric
from agentkit.retrieval.index.index_files import FAR, FAR_SHARE, Tuned
from agentkit.retrieval.index.shared_lock import SharedLock
from agentkit.retrieval.index.vectors import Found, Vectors

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)

EXACT_BELOW = 5_000
"""Up to so many vectors ef is their number: the graph is followed to all of them."""
TARGET = 0.99
"""The recall that the graph is to reach on the sample; real queries are easier and reach more."""
_EF_STEPS = (16, 24, 32, 48, 64, 80, 96, 112, 128, 192, 256, 384, 512, 768, 1024)
_TEN = 10
_MORE_EACH = 0.5
"""Candidates more that are looked at for each further result.

Of those farther away a somewhat smaller share is found.
"""
_SAMPLE = 200
_MIXED = 0.7
"""A query of the sample is so much of one stored vector and the rest of another.

That is harder than a stored one, as real ones are.
"""
_GROWN = 1.5
"""ef is measured again when there are so many times the vectors."""
_SLICE = 10_000
"""Vectors that are read from the table at once."""
_STEP = 12
"""Vectors that are added to the graph while searches wait: 4 ms of processor time among 50,000
vectors, 10 among a million. hnswlib shares out more than four a thread between two threads.
"""
_LOOKED_AT = 1_000
"""Candidates, in all, of the queries of the sample that are tried while searches wait."""
_MOST_WASTE = 0.3
"""With a greater share of removed vectors the index is built again."""
_SPARE = 1.5
"""So many times what is expected is asked of the graph when most of it may be left out."""
_ROWS_PER_CANDIDATE = 5
"""To look at one candidate in the graph takes as long as to compare so many vectors."""
_COMPARED = 64
"""Of the last vectors, and of those from all over the index, so many are compared with the table's
when files are opened.
"""


class Changes(Protocol):
    """A table of vectors, and its changes; ids and changes are numbered by one sequence."""

    def last_change(self) -> int:
        """The number of the last change."""

    def read_removed(self, after: int, until: int) -> list[int]:
        """Ids removed after one change and until another."""

    def read_added(self, after: int, until: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n), rising, and vectors (n, dimension) added after one change and until another.

        The first `limit` of them.
        """

    def read_stored(self, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n) and vectors (n, dimension) of those of the ids that are there."""


@dataclass(frozen=True, slots=True)
class IndexFigures:
    """What there is to know of a vector index."""

    kind: Literal["exact", "hnsw"]
    """Whether a search looks at all vectors, or at those that the graph leads to first."""
    vectors: int
    removed: int
    """Removed vectors that still take space."""
    ef: int
    """Candidates that are looked at for ten results."""
    recall: float
    """The share of the ten nearest that were found for the sample; 1 when all are looked at."""
    sample: int
    """Queries that it was measured with: mixtures of stored vectors. 0 when all are looked at."""
    bytes: int
    """Size of the saved files."""


class VectorIndex:
    """Follows a table; share it between threads. `refresh` before searching for what is new.

    Searches never wait for each other, and while vectors are added they wait for one small step;
    who only reads vectors by their ids does not wait for the graph at all.

    It is saved in `folder` (None: in memory only) with the number of the last change in it, so that
    an older file, or none after a crash, is brought up to date from the table.
    """

    def __init__(
        self,
        changes: Changes,
        dimension: int,
        metric: Metric,
        folder: Path | None,
        exact_below: int = EXACT_BELOW,
    ) -> None:
        self._changes, self._dimension, self._metric = changes, dimension, metric
        self._folder, self._exact_below = folder, exact_below
        self._changing, self._rebuilding = threading.RLock(), threading.Lock()
        # To read, one of both is enough; what changes the vectors has both, the graph's one first.
        self._shared, self._reading_vectors = SharedLock(), SharedLock()
        self.problem = ""
        """Why the index could not be saved the last time; empty when all is well."""
        self._vectors, self._graph = Vectors(dimension, metric, folder), Graph(dimension, metric)
        self._tuned = Tuned(0, 0.0, 0, 0)
        self.change = 0
        """The number of the last change that is contained."""
        self.saved = 0
        """The number of the last change that need not be caught up with after a restart."""
        loaded = None
        if folder:
            loaded = index_files.read(folder, dimension, metric)
        if loaded and self._is_of_this_history(loaded):
            self._vectors, self._graph, self._tuned = loaded.vectors, loaded.graph, loaded.tuned
            self.change = self.saved = loaded.change

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def ids(self) -> np.ndarray:
        """All ids, rising."""
        with self._reading_vectors.reading():
            return self._vectors.ids

    @property
    def is_far(self) -> bool:
        """Whether so much came since the last save that another one is worth it."""
        return self.change - self.saved >= max(FAR, FAR_SHARE * len(self))

    def refresh(self) -> None:
        """Take in what changed in the table since the last time.

        Raises StoreError for vectors that cannot be.
        """
        if self._changes.last_change() <= self.change:
            return
        with self._changing:
            until = self._changes.last_change()
            if until > self.change:
                self._follow(until)
            wasteful = self._vectors.waste > _MOST_WASTE
        if wasteful and self._rebuilding.acquire(blocking=False):
            try:
                self._rebuild()
            finally:
                self._rebuilding.release()

    def search(self, query: np.ndarray, k: int, allowed: np.ndarray | None = None) -> Found:
        """Ids and distances of the at most `k` nearest to a vector (dimension), nearest first.

        `allowed`: rising ids.
        """
        with self._shared.reading():
            k = min(k, len(self._vectors))
            found = None
            if k > 0:
                found = self._search_graph(query, k, allowed)
            return found or self._vectors.nearest(query, k, allowed)

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the ids that are there, in the given order, and their vectors (n, dimension)."""
        with self._reading_vectors.reading():
            return self._vectors.get(ids)

    def save(self) -> None:
        """Write it, if it changed. Where that fails the files stay behind.

        That is logged and said in `problem`.
        """
        with self._changing:
            self.problem = ""
            if self._folder is not None and self.change > self.saved:
                self._try_to_write(self._folder)
            if not self.problem:
                self.saved = self.change

    def figures(self) -> IndexFigures:
        """What there is to know of it now."""
        with self._shared.reading():
            bytes_ = index_files.size(self._folder) if self._folder else 0
            count, removed = len(self._vectors), len(self._vectors.removed)
            if self._looks_at_all:
                return IndexFigures("exact", count, removed, count, 1.0, 0, bytes_)
            tuned = self._tuned
            return IndexFigures(
                "hnsw", count, removed, tuned.ef, tuned.recall, tuned.sample, bytes_
            )

    def find_wrong(self) -> list[int]:
        """Ids of vectors that are not what the table has under them; all are compared."""
        after, wrong = 0, list[int]()
        while len((stored := self._changes.read_added(after, self.change, _SLICE))[0]):
            wrong += _find_differing(stored, self.vectors)
            after = int(stored[0][-1])
        return wrong

    # Searching

    @property
    def _is_small(self) -> bool:
        return len(self._vectors) <= self._exact_below

    @property
    def _looks_at_all(self) -> bool:
        return self._is_small or not self._tuned.ef

    def _search_graph(self, query: np.ndarray, k: int, allowed: np.ndarray | None) -> Found | None:
        """What the graph finds; None when that is not enough, or comparing one by one is faster."""
        if self._is_small:
            if allowed is None:
                return self._search_small(query, k)
            return None
        if not self._tuned.ef:
            return None
        if allowed is None:
            return self._search_all(query, k)
        return self._search_among(query, k, allowed)

    def _search_all(self, query: np.ndarray, k: int) -> Found | None:
        ef = self._ef_for(k)
        if len(self._vectors) <= _ROWS_PER_CANDIDATE * ef:
            return None
        return self._follow_graph(query, k, ef)

    def _search_among(self, query: np.ndarray, k: int, allowed: np.ndarray) -> Found | None:
        """The nearest of the allowed ones; more are looked for, as many will be left out."""
        count = len(self._vectors)
        wanted = min(count, math.ceil(_SPARE * k * count / max(1, len(allowed))))
        ef = self._ef_for(0) + 2 * wanted
        if len(allowed) <= _ROWS_PER_CANDIDATE * ef:
            return None
        found = self._follow_graph(query, wanted, ef)
        if found is None:
            return None

        ids, distances = found
        kept = _among(ids, allowed)[:k]
        if len(kept) < k:
            return None
        return ids[kept], distances[kept]

    def _follow_graph(self, query: np.ndarray, k: int, ef: int) -> Found | None:
        """What the graph leads to from one query; None when that are fewer than `k`."""
        found = self._graph.search(query[None], k, ef)
        if found is None:
            return None
        ids, distances = found
        return ids[0], distances[0]

    def _search_small(self, query: np.ndarray, k: int) -> Found | None:
        """The nearest of all, exactly; None when the graph does not lead to all of them.

        So all are asked for, which takes hardly longer: else the part that a search begins in could
        pass for the whole.
        """
        import numpy as np

        found = self._follow_graph(query, len(self._vectors), len(self._graph))
        if found is None:
            return None
        # Once more in double precision, in which distances are given here.
        return self._vectors.nearest(query, k, np.sort(found[0][:k]))

    def _ef_for(self, k: int) -> int:
        """ef is measured for ten results; more of them need more candidates."""
        return self._tuned.ef + math.ceil(_MORE_EACH * max(0, k - _TEN))

    # Following

    @contextmanager
    def _changing_vectors(self) -> Iterator[None]:
        """While the block runs nobody reads the graph or the vectors."""
        with self._shared.writing(), self._reading_vectors.writing():
            yield

    def _follow(self, until: int) -> None:
        if self.change:
            removed = self._changes.read_removed(self.change, until)
            with self._changing_vectors():
                self._graph.remove(self._vectors.remove(removed))
        more = True
        while more:
            ids, vectors = self._changes.read_added(self.change, until, _SLICE)
            if not len(ids):
                break
            more = len(ids) == _SLICE
            addition = self._vectors.prepare(ids, vectors)
            with self._changing_vectors():
                self._vectors.take(addition)
            for start in range(0, len(ids), _STEP):
                with self._shared.writing():
                    self._graph.add(ids[start : start + _STEP], vectors[start : start + _STEP])
            self.change = int(ids[-1])
        self.change = until
        if not self._is_small and len(self._vectors) >= _GROWN * self._tuned.vectors:
            self._tuned = self._tune(self._graph)

    def _rebuild(self) -> None:
        """Build anew without what was removed; the old graph serves meanwhile."""
        graph = Graph(self._dimension, self._metric)
        self._fill(graph, self.ids)
        with self._changing:
            self._catch_up(graph)
            with self._changing_vectors():
                self._vectors.compact(graph.ids)
                self._graph = graph

    def _catch_up(self, graph: Graph) -> None:
        import numpy as np

        self._fill(graph, np.setdiff1d(self._vectors.ids, graph.ids))
        graph.remove(np.setdiff1d(graph.ids, self._vectors.ids).tolist())
        self._tuned = Tuned(0, 0.0, 0, 0) if self._is_small else self._tune(graph)

    def _fill(self, graph: Graph, ids: np.ndarray) -> None:
        """Add those of the vectors that are still there."""
        import numpy as np

        for start in range(0, len(ids), _SLICE):
            found, vectors = self.vectors(ids[start : start + _SLICE].tolist())
            graph.add(np.array(found, dtype=np.int64), vectors)

    def _tune(self, graph: Graph) -> Tuned:
        """The least ef that finds what comparing with all finds, on a sample of queries.

        By dot product alone the nearest may have no neighbourhood that a graph could lead to; all
        are compared then.
        """
        import numpy as np

        queries = self._sample_queries()
        count = len(self._vectors)
        k = min(_TEN, count)
        right = self._vectors.nearest_to_each(queries, k)
        farthest = np.array([distances[-1] for _, distances in right])[:, None]
        # By distance: of equal vectors it does not matter which are found.
        most = farthest + 1e-5 * np.abs(farthest) + 1e-6
        recall = 0.0
        for ef in _EF_STEPS:
            recall = self._measure_recall(graph, queries, most, k, ef)
            if recall >= TARGET:
                break
        if recall < TARGET and self._metric == "ip":
            return Tuned(0, 1.0, 0, count)
        return Tuned(ef, recall, _SAMPLE, count)

    def _measure_recall(
        self, graph: Graph, queries: np.ndarray, most: np.ndarray, k: int, ef: int
    ) -> float:
        """The share of the `k` nearest that are found with exactly this ef: no other search may go
        on, as it could raise it.
        """
        right, tried = 0, max(1, _LOOKED_AT // max(k, ef))
        for start in range(0, len(queries), tried):
            with self._shared.writing():
                found = graph.search(queries[start : start + tried], k, ef)
            if found is None:
                return 0.0
            right += int((found[1] <= most[start : start + tried]).sum())
        return right / (k * len(queries))

    def _sample_queries(self) -> np.ndarray:
        """Mixtures (_SAMPLE, dimension) of two stored vectors each, the same ones every time."""
        import numpy as np

        chance, ids = np.random.default_rng(0), self._vectors.ids
        one, other = (self._vectors.get(chance.choice(ids, _SAMPLE).tolist())[1] for _ in range(2))
        queries: np.ndarray = _MIXED * one + (1 - _MIXED) * other
        if self._metric == "cosine":
            queries /= np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-9)
        return queries

    # Files

    def _try_to_write(self, folder: Path) -> None:
        try:
            self._write(folder)
        except OSError as error:
            self.problem = f"The vector index in {folder} could not be saved ({error})."
            log.warning(
                "%s It is brought up to date from the database at the next start.", self.problem
            )

    def _write(self, folder: Path) -> None:
        if len(self._graph):
            saved = index_files.write(folder, self._vectors, self._graph, self._tuned, self.change)
            with self._changing_vectors():
                self._vectors.rest_on(*saved)
        elif folder.exists():
            index_files.clear(folder)

    def _is_of_this_history(self, loaded: index_files.Loaded) -> bool:
        """Whether the table has what the files say.

        It has not when it was put back to an older state.
        """
        import numpy as np

        last = self._changes.last_change()
        if loaded.change > last:
            return False
        gone = self._changes.read_removed(loaded.change, last)
        left = np.setdiff1d(loaded.vectors.ids, np.asarray(gone, dtype=np.int64))
        spread = left[:: math.ceil(len(left) / _COMPARED) or 1]
        some = np.union1d(spread, left[-_COMPARED:])
        stored = self._changes.read_stored(some.tolist())
        return len(stored[0]) == len(some) and not _find_differing(stored, loaded.vectors.get)


def _find_differing(
    stored: tuple[np.ndarray, np.ndarray], get: Callable[[list[int]], tuple[list[int], np.ndarray]]
) -> list[int]:
    """Those of the ids whose vectors are others than those that `get` gives, if it has them."""
    import numpy as np

    ids, vectors = stored
    found, ours = get(ids.tolist())
    theirs = vectors[np.isin(ids, found)]
    differ = ~np.isclose(ours, theirs, rtol=1e-4, atol=1e-5).all(axis=1)
    wrong: list[int] = np.asarray(found, dtype=np.int64)[differ].tolist()
    return wrong


def _among(ids: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The places of those ids that are in `allowed` (rising)."""
    import numpy as np

    at = np.minimum(np.searchsorted(allowed, ids), len(allowed) - 1)
    places: np.ndarray = np.flatnonzero(allowed[at] == ids)
    return places
