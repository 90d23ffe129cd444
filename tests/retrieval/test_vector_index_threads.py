"""The vector index under several threads at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from agentkit.retrieval.index.graph import Graph
from agentkit.retrieval.index.vector_index import VectorIndex
from tests.retrieval.vector_table import SIZE, Table, vectors
from tests.soak import TIMES


class SharedTable(Table):
    """Changed and read by several threads, each time as a whole."""

    def __init__(self) -> None:
        super().__init__("cosine")
        self.lock = threading.RLock()

    def put(self, rows: np.ndarray) -> list[int]:
        with self.lock:
            return super().put(rows)

    def take(self, ids: list[int]) -> None:
        with self.lock:
            super().take(ids)

    def read_removed(self, after: int, until: int) -> list[int]:
        with self.lock:
            return super().read_removed(after, until)

    def read_added(self, after: int, until: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            return super().read_added(after, until, limit)

    def read_stored(self, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            return super().read_stored(ids)


def change(index: VectorIndex, table: SharedTable, seed: int) -> None:
    chance = np.random.default_rng(seed)
    for turn in range(40 * TIMES):
        table.put(vectors(int(chance.integers(1, 40)), 100 * seed + turn))
        with table.lock:
            gone = chance.choice(
                sorted(table.rows), max(0, len(table.rows) - 600) + 5, replace=False
            ).tolist()
        table.take(gone)
        index.refresh()
        assert not set(gone) & set(index.ids.tolist())
        if turn % 8 == 0:
            index.save()


def look(index: VectorIndex, table: SharedTable, seed: int) -> None:
    for number in range(150 * TIMES):
        index.refresh()
        some = np.sort(np.random.default_rng(number).choice(index.ids, 50, replace=False))
        for allowed in (None, some):
            ids, distances = index.search(vectors(1, seed)[0], 10, allowed)
            assert len(set(ids.tolist())) == len(ids) >= (10 if allowed is None else 1)
            assert (np.diff(distances) >= 0).all()
            assert allowed is None or np.isin(ids, allowed).all()


@pytest.mark.soak
def test_threads_that_add_remove_search_and_save_while_it_is_built_anew(tmp_path: Path) -> None:
    table = SharedTable()
    table.put(vectors(600, 1))
    index = table.index(tmp_path)
    wrong: list[BaseException] = []

    def guarded(work: Callable[[VectorIndex, SharedTable, int], None], seed: int) -> None:
        try:
            work(index, table, seed)
        except BaseException as error:  # noqa: BLE001 - reported below, in the thread of the test
            wrong.append(error)

    threads = [
        threading.Thread(target=guarded, args=(work, seed))
        for seed in (1, 2, 3)
        for work in (change, look)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    index.refresh()
    assert index.ids.tolist() == sorted(table.rows)
    assert index.figures().removed < 0.45 * len(table.gone), "it was built anew"
    index.save()
    assert table.index(tmp_path).ids.tolist() == sorted(table.rows)


class MeetingGraph:
    """Passes searches on after so many of them have come together."""

    def __init__(self, graph: Graph, parties: int) -> None:
        self._graph, self._together = graph, threading.Barrier(parties)

    def __len__(self) -> int:
        return len(self._graph)

    def search(self, queries: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray] | None:
        self._together.wait()
        return self._graph.search(queries, k, ef)


def test_searches_do_not_wait_for_each_other() -> None:
    table = SharedTable()
    ids = table.put(vectors(50, 1))
    index = VectorIndex(table, SIZE, "cosine", None)
    index.refresh()
    index._graph = MeetingGraph(index._graph, 4)  # type: ignore[assignment]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda row: index.search(row, 1)[0][0], vectors(50, 1)[:4]))
    assert found == ids[:4]


class HaltingTable(SharedTable):
    """Stops while it is read from after it was told to, until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.read, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def read_added(self, after: int, until: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        self.read.set()
        self.go_on.wait()
        return super().read_added(after, until, limit)


def test_a_search_does_not_wait_for_what_is_being_taken_in() -> None:
    table = HaltingTable()
    first = table.put(vectors(50, 1))
    index = VectorIndex(table, SIZE, "cosine", None)
    index.refresh()
    table.read.clear()
    table.go_on.clear()
    second = table.put(vectors(50, 2))
    with ThreadPoolExecutor(1) as pool:
        taking_in = pool.submit(index.refresh)
        table.read.wait()
        assert index.search(vectors(50, 1)[0], 1)[0].tolist() == first[:1]
        assert index.ids.tolist() == first
        table.go_on.set()
        taking_in.result()
    assert index.ids.tolist() == first + second


class HaltingGraph(Graph):
    """Stops in the middle of being changed, until it may go on."""

    def __init__(self) -> None:
        super().__init__(SIZE, "cosine")
        self.changing, self.go_on = threading.Event(), threading.Event()

    def add(self, ids: np.ndarray, vectors: np.ndarray) -> None:
        self.changing.set()
        self.go_on.wait()
        super().add(ids, vectors)


def test_vectors_are_read_while_the_graph_is_changed() -> None:
    table = SharedTable()
    ids = table.put(vectors(50, 1))
    index = VectorIndex(table, SIZE, "cosine", None)
    index._graph = graph = HaltingGraph()
    with ThreadPoolExecutor(2) as pool:
        taking_in = pool.submit(index.refresh)
        graph.changing.wait()
        reading = pool.submit(index.vectors, ids[:3])
        try:
            found, rows = reading.result(60)
        finally:
            graph.go_on.set()
        taking_in.result()
    assert found == ids[:3]
    assert np.allclose(rows, vectors(50, 1)[:3])


def test_the_more_candidates_a_trial_looks_at_the_fewer_are_tried_at_once() -> None:
    table = SharedTable()
    table.put(vectors(50, 1))
    index = VectorIndex(table, SIZE, "cosine", None)
    index.refresh()
    index._graph = counting = CountingGraph()
    most = np.full((30, 1), 2.0)
    for ef in (10, 500, 2_000):
        assert index._measure_recall(counting, vectors(30, 2), most, 10, ef) == 1
    assert counting.tried == [30, *[2] * 15, *[1] * 30]


class CountingGraph(Graph):
    """Finds something for each query, and notes how many were asked at once."""

    def __init__(self) -> None:
        super().__init__(SIZE, "cosine")
        self.tried: list[int] = []

    def search(self, queries: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray] | None:
        self.tried.append(len(queries))
        found = np.zeros((len(queries), k))
        return found.astype(np.int64), found


def test_a_search_with_fewer_candidates_takes_none_from_another() -> None:
    graph = Graph(SIZE, "cosine")
    graph.add(np.arange(50), vectors(50, 1))
    with graph._candidates(40):
        with graph._candidates(10):
            assert graph._index.ef == 40
        with graph._candidates(50):
            assert graph._index.ef == 50
    with graph._candidates(10):
        assert graph._index.ef == 10
