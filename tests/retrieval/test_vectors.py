"""Vectors by id, and hnswlib's graph: what each finds, keeps and refuses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.errors import StoreError
from agentkit.retrieval.index.graph import (
    Graph,
    Metric,
    load_graph,
    map_vectors,
    release_pages,
)
from agentkit.retrieval.index.vectors import BLOCK, Vectors

SIZE = 24
METRICS: Sequence[Metric] = ("cosine", "l2", "ip")


def vectors(count: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, SIZE)).astype(np.float32)
    scaled: np.ndarray = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return scaled


def far(rows: np.ndarray, query: np.ndarray, metric: Metric) -> np.ndarray:
    """The distances by their definition."""
    one, other = rows.astype(np.float64), query.astype(np.float64)
    found: np.ndarray = np.square(one - other).sum(axis=1) if metric == "l2" else 1 - one @ other
    return found


def filled(count: int, metric: Metric = "cosine") -> tuple[Vectors, np.ndarray]:
    rows = vectors(count)
    index = Vectors(SIZE, metric)
    index.add(np.arange(1, count + 1), rows)
    return index, rows


def test_an_empty_index_finds_nothing() -> None:
    index = Vectors(SIZE)
    ids, distances = index.nearest(vectors(1)[0], 5)
    assert len(index) == len(ids) == len(distances) == 0
    assert index.get([1])[0] == []
    index.add(np.empty(0, dtype=np.int64), vectors(0))
    assert index.remove([1]) == []
    assert (len(index), index.waste) == (0, 0)
    assert len(index.nearest(vectors(1)[0], 5, np.array([1, 2]))[0]) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_are_found_nearest_first(metric: Metric) -> None:
    count = BLOCK + 500  # more than are compared at once
    rows = vectors(count) * np.random.default_rng(2).uniform(0.5, 2, (count, 1)).astype(np.float32)
    if metric == "cosine":
        rows = vectors(count)
    index = Vectors(SIZE, metric)
    for start in range(0, count, 4_000):
        index.add(np.arange(start, min(count, start + 4_000)) + 1, rows[start : start + 4_000])
    for query in vectors(5, seed=1):
        ids, distances = index.nearest(query, 10)
        right = far(rows, query, metric)
        assert ids.tolist() == (np.argsort(right)[:10] + 1).tolist()
        assert np.allclose(distances, right[ids - 1], atol=1e-6)
        assert len(index.nearest(query, 0)[0]) == 0


def test_large_numbers_far_from_the_origin_are_told_apart() -> None:
    rows = np.full((3, SIZE), 1e4, dtype=np.float32)
    rows[:, 0] += [0, 1, 2]
    index = Vectors(SIZE, "l2")
    index.add(np.arange(3), rows)
    ids, distances = index.nearest(rows[2], 3)
    assert (ids.tolist(), distances.tolist()) == ([2, 1, 0], [0, 1, 4])


def test_only_allowed_ones_are_found() -> None:
    index, rows = filled(500)
    index.remove([30])
    allowed = np.array([-5, 10, 20, 30, 40, 9_000])
    ids, _ = index.nearest(rows[9], 10, allowed)
    assert ids[0] == 10
    assert sorted(ids.tolist()) == [10, 20, 40]
    assert len(index.nearest(rows[9], 10, np.empty(0, dtype=np.int64))[0]) == 0


def test_removed_ones_are_never_found() -> None:
    index, rows = filled(400)
    gone = list(range(2, 401, 2))
    assert index.remove([*gone, 5_000]) == gone
    assert index.remove(gone) == []
    assert (len(index), index.waste, index.removed.tolist()) == (200, 0.5, gone)
    for _ in range(2):
        assert set(index.nearest(rows[1], 300)[0].tolist()) == set(range(1, 401, 2))
        found, kept = index.get([7, 4, 3, 7])
        assert found == [7, 3, 7]
        assert np.array_equal(kept, rows[[6, 2, 6]])
        index.compact(index.ids)
    assert (index.waste, len(index.ids)) == (0, 200)


def test_what_is_in_a_graphs_file_is_read_from_it(tmp_path: Path) -> None:
    count = BLOCK + 10
    index, rows = filled(count)
    graph = Graph(SIZE, "cosine")
    graph.add(index.ids, rows)
    index.remove([3])
    graph.remove([3])
    graph.save(str(tmp_path / "graph"))
    ids, written = map_vectors(tmp_path / "graph", SIZE)
    assert np.array_equal(written[np.argsort(ids)], rows)
    again = Vectors(SIZE)
    again.rest_on(ids, written)
    again.remove([3])
    index.rest_on(ids, written)
    for one in (index, again):
        one.add(np.array([99_999]), rows[:1])
        assert one.nearest(rows[0], 2)[0].tolist() == [1, 99_999]
        assert one.get([BLOCK + 1, 99_999, 3])[0] == [BLOCK + 1, 99_999]
        assert np.array_equal(one.get([7, 99_999, 5])[1], rows[[6, 0, 4]])
        one.compact(one.ids)
        assert len(one.nearest(rows[0], 100_000)[0]) == len(one) == count
    with pytest.raises(ValueError, match="same ids"):
        index.rest_on(ids, written)


def test_as_many_as_were_new_stay_when_space_is_freed_and_more_come(tmp_path: Path) -> None:
    index, rows = Vectors(SIZE, folder=tmp_path), vectors(50)
    index.rest_on(np.arange(20), rows[:20])
    index.add(np.arange(20, 40), rows[20:40])
    index.remove([*range(10), *range(20, 30)])
    index.compact(index.ids)
    index.add(np.arange(40, 50), rows[40:])
    found, kept = index.get(list(range(50)))
    assert found == [*range(10, 20), *range(30, 50)]
    assert np.array_equal(kept, rows[found])


def held_by_process(part: str) -> int:
    """Kilobytes of this process's memory: `RssAnon`, or `RssFile` for mapped files."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split(f"{part}:")[1].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_is_not_saved_yet_takes_no_memory(tmp_path: Path) -> None:
    index, rows = Vectors(1_024, folder=tmp_path), np.ones((1_000, 1_024), dtype=np.float32)
    index.add(np.arange(1_000), rows)
    before = held_by_process("RssAnon")
    for start in range(1_000, 21_000, 1_000):
        index.add(np.arange(start, start + 1_000), rows * start)
    assert held_by_process("RssAnon") - before < 40_000  # of 80,000
    found, kept = index.get([20_500, 5, 1_000])
    assert (found, kept[:, 0].tolist()) == ([20_500, 5, 1_000], [20_000.0, 1.0, 1_000.0])
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_new_vectors_are_held_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index, rows = Vectors(SIZE, folder=tmp_path / "index"), vectors(30)
    index.add(np.arange(10), rows[:10])
    (tmp_path / "index").rmdir()
    (tmp_path / "index").write_text("in the way", encoding="utf-8")
    index.rest_on(np.arange(10), rows[:10])
    for start in (10, 20):
        index.add(np.arange(start, start + 10), rows[start : start + 10])
    assert "held in memory" in caplog.text
    assert np.array_equal(index.get(list(range(30)))[1], rows)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_graphs_file_that_was_read_is_let_go_of(tmp_path: Path) -> None:
    graph = Graph(1_024, "cosine")
    graph.add(np.arange(2_000), np.ones((2_000, 1_024), dtype=np.float32))
    graph.save(str(tmp_path / "graph"))
    before = held_by_process("RssFile")
    _, mapped = map_vectors(tmp_path / "graph", 1_024)
    assert held_by_process("RssFile") - before < 4_000  # of 8,000, though all ids were read
    total = mapped.sum()
    assert held_by_process("RssFile") - before > 7_000
    release_pages(mapped)
    assert held_by_process("RssFile") - before < 4_000
    assert mapped.sum() == total


def test_a_file_of_another_layout_is_not_taken_for_vectors(tmp_path: Path) -> None:
    graph = Graph(SIZE, "cosine")
    graph.save(str(tmp_path / "graph"))
    assert [len(part) for part in map_vectors(tmp_path / "graph", SIZE)] == [0, 0]
    graph.add(np.array([1]), vectors(1))
    graph.save(str(tmp_path / "graph"))
    with pytest.raises(ValueError, match="vectors of 25 numbers"):
        map_vectors(tmp_path / "graph", SIZE + 1)
    content = (tmp_path / "graph").read_bytes()
    for harm in (content[:50], content[:100]):
        (tmp_path / "graph").write_bytes(harm)
        with pytest.raises(ValueError, match=r"cut off|mmap length is greater"):
            map_vectors(tmp_path / "graph", SIZE)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((2, 5), dtype=np.float32), r"shape \(2, 5\) cannot be added to an index of 24"),
        (np.zeros(SIZE, dtype=np.float32), r"shape \(24,\)"),
        (
            np.array([[0.0] * SIZE, [np.nan] * SIZE], dtype=np.float32),
            "1 of 2 vectors hold NaN .* in row 1",
        ),
        (np.full((1, SIZE), np.inf, dtype=np.float32), "1 of 1 vectors hold NaN or infinite"),
    ],
)
def test_vectors_that_cannot_be_are_refused_and_nothing_is_added(
    wrong: np.ndarray, message: str
) -> None:
    index, _ = filled(10)
    with pytest.raises(StoreError, match=message):
        index.add(np.array([11, 12]), wrong)
    assert len(index.nearest(vectors(1)[0], 50)[0]) == len(index) == 10


@pytest.mark.parametrize("on_disk", [False, True])
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(st.integers(0, 9), st.lists(st.integers(1, 60), max_size=20)), max_size=12)
)
def test_any_sequence_of_changes(
    on_disk: bool, tmp_path_factory: pytest.TempPathFactory, steps: list[int | list[int]]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "index" if on_disk else None
    index, model, last = Vectors(SIZE, folder=folder), {}, 0
    for seed, step in enumerate(steps):
        if isinstance(step, int):
            rows = vectors(step, seed)
            index.add(np.arange(last + 1, last + step + 1), rows)
            model.update({last + 1 + row: vector for row, vector in enumerate(rows)})
            last += step
        else:
            assert sorted(index.remove(step)) == sorted(set(step) & set(model))
            for number in step:
                model.pop(number, None)
        if index.waste > 0.5:
            index.compact(index.ids)
    assert index.ids.tolist() == sorted(model)
    found, kept = index.get(list(range(70)))
    assert found == sorted(model)
    assert all(np.array_equal(row, model[number]) for number, row in zip(found, kept, strict=True))
    assert sorted(index.nearest(vectors(1)[0], 100)[0].tolist()) == sorted(model)


@pytest.mark.parametrize("metric", METRICS[:2])
def test_a_graph_finds_nearly_all_of_the_nearest(tmp_path: Path, metric: Metric) -> None:
    rows = vectors(3_000)
    graph = Graph(SIZE, metric)
    graph.add(np.arange(1, 2_001), rows[:2_000])
    graph.add(np.arange(2_001, 3_001), rows[2_000:])
    graph.add(np.empty(0, dtype=np.int64), vectors(0))
    assert (len(graph), graph.ids.tolist()) == (3_000, list(range(1, 3_001)))
    graph.save(str(tmp_path / "graph"))
    graph = load_graph(str(tmp_path / "graph"), SIZE, metric)
    queries = vectors(20, seed=1)
    found = graph.search(queries, 10, 128)
    assert found is not None
    right = 0
    for query, ids, distances in zip(queries, *found, strict=True):
        expected = far(rows, query, metric)
        assert np.allclose(distances, expected[ids - 1], atol=1e-5)
        right += len(set(ids.tolist()) & set((np.argsort(expected)[:10] + 1).tolist()))
    assert right >= 196


def test_a_graph_says_when_it_cannot_find_enough() -> None:
    graph = Graph(SIZE, "cosine")
    graph.add(np.arange(300), np.repeat(vectors(3), 100, axis=0))
    graph.remove(list(range(290)))
    found = graph.search(vectors(3)[:1], 10, 16)
    assert found is None or sorted(found[0][0].tolist()) == list(range(290, 300))
    assert graph.search(vectors(3)[:1], 11, 16) is None
