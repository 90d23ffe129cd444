"""Rows compared one by one, and hnswlib's graph: what each finds, and what it refuses."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.errors import StoreError
from agentkit.retrieval.index.nearest import BLOCK, ExactIndex, Graph, Metric

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


def filled(count: int, metric: Metric = "cosine") -> tuple[ExactIndex, np.ndarray]:
    rows = vectors(count)
    index = ExactIndex(SIZE, metric)
    index.add(np.arange(1, count + 1), rows)
    return index, rows


def test_an_empty_index_finds_nothing() -> None:
    index = ExactIndex(SIZE)
    ids, distances = index.search(vectors(1)[0], 5)
    assert len(index) == len(ids) == len(distances) == 0
    assert index.vectors([1])[0] == []
    index.add(np.empty(0, dtype=np.int64), vectors(0))
    assert index.remove([1]) == []
    assert (len(index), index.waste) == (0, 0)
    assert len(index.search(vectors(1)[0], 5, np.array([1, 2]))[0]) == 0


@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_are_found_nearest_first(metric: Metric) -> None:
    count = BLOCK + 500  # more than are compared at once
    rows = vectors(count) * np.random.default_rng(2).uniform(0.5, 2, (count, 1)).astype(np.float32)
    if metric == "cosine":
        rows = vectors(count)
    index = ExactIndex(SIZE, metric)
    for start in range(0, count, 4_000):
        index.add(np.arange(start, min(count, start + 4_000)) + 1, rows[start : start + 4_000])
    for query in vectors(5, seed=1):
        ids, distances = index.search(query, 10)
        right = far(rows, query, metric)
        assert ids.tolist() == (np.argsort(right)[:10] + 1).tolist()
        assert np.allclose(distances, right[ids - 1], atol=1e-6)
        assert len(index.search(query, 0)[0]) == 0


def test_large_numbers_far_from_the_origin_are_told_apart() -> None:
    rows = np.full((3, SIZE), 1e4, dtype=np.float32)
    rows[:, 0] += [0, 1, 2]
    index = ExactIndex(SIZE, "l2")
    index.add(np.arange(3), rows)
    ids, distances = index.search(rows[2], 3)
    assert (ids.tolist(), distances.tolist()) == ([2, 1, 0], [0, 1, 4])


def test_only_allowed_ones_are_found() -> None:
    index, rows = filled(500)
    index.remove([30])
    allowed = np.array([-5, 10, 20, 30, 40, 9_000])
    ids, _ = index.search(rows[9], 10, allowed)
    assert ids[0] == 10
    assert sorted(ids.tolist()) == [10, 20, 40]
    assert len(index.search(rows[9], 10, np.empty(0, dtype=np.int64))[0]) == 0


def test_removed_ones_are_never_found() -> None:
    index, rows = filled(400)
    gone = list(range(2, 401, 2))
    assert index.remove([*gone, 5_000]) == gone
    assert index.remove(gone) == []
    assert (len(index), index.waste, index.removed.tolist()) == (200, 0.5, gone)
    for _ in range(2):
        assert set(index.search(rows[1], 300)[0].tolist()) == set(range(1, 401, 2))
        found, kept = index.vectors([7, 4, 3, 7])
        assert found == [7, 3, 7]
        assert np.array_equal(kept, rows[[6, 2, 6]])
        index.compact(index.ids)
    assert (index.waste, len(index.ids)) == (0, 200)


def test_what_is_written_can_be_rested_on() -> None:
    index, rows = filled(BLOCK + 10)
    index.remove([3])
    file = io.BytesIO()
    index.write(file)
    file.seek(0)
    written = np.load(file)
    assert np.array_equal(written, rows)
    index.rest_on(written)
    index.add(np.array([99_999]), rows[:1])
    assert index.search(rows[0], 2)[0].tolist() == [1, 99_999]
    assert index.vectors([BLOCK + 1, 99_999, 3])[0] == [BLOCK + 1, 99_999]
    index.compact(index.ids)
    assert len(index.search(rows[0], 100_000)[0]) == len(index) == BLOCK + 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((2, 5), dtype=np.float32), r"shape \(2, 5\) cannot be added to an index of 24"),
        (np.zeros(SIZE, dtype=np.float32), r"shape \(24,\)"),
        (np.array([[0.0] * SIZE, [np.nan] * SIZE], dtype=np.float32), "1 of 2 vectors hold NaN .* in row 1"),
        (np.full((1, SIZE), np.inf, dtype=np.float32), "1 of 1 vectors hold NaN or infinite"),
    ],
)
def test_vectors_that_cannot_be_are_refused_and_nothing_is_added(wrong: np.ndarray, message: str) -> None:
    index, _ = filled(10)
    with pytest.raises(StoreError, match=message):
        index.add(np.array([11, 12]), wrong)
    assert len(index.search(vectors(1)[0], 50)[0]) == len(index) == 10


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.integers(0, 9), st.lists(st.integers(1, 60), max_size=20)), max_size=12))
def test_any_sequence_of_changes(steps: list[int | list[int]]) -> None:
    index, model, last = ExactIndex(SIZE), {}, 0
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
    found, kept = index.vectors(list(range(70)))
    assert found == sorted(model)
    assert all(np.array_equal(row, model[number]) for number, row in zip(found, kept, strict=True))
    assert sorted(index.search(vectors(1)[0], 100)[0].tolist()) == sorted(model)


@pytest.mark.parametrize("metric", METRICS[:2])
def test_a_graph_finds_nearly_all_of_the_nearest(metric: Metric) -> None:
    rows = vectors(3_000)
    graph = Graph(SIZE, metric)
    graph.add(np.arange(1, 2_001), rows[:2_000])
    graph.add(np.arange(2_001, 3_001), rows[2_000:])
    graph.add(np.empty(0, dtype=np.int64), vectors(0))
    assert (len(graph), graph.ids.tolist()) == (3_000, list(range(1, 3_001)))
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
