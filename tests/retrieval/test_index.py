"""The two vector indexes keep the same contract, and the saved one survives what happens to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agentkit.retrieval.index import ExactIndex, HnswIndex, VectorIndex, load_hnsw

SIZE = 24


def vectors(count: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, SIZE)).astype(np.float32)
    scaled: np.ndarray = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return scaled


@pytest.fixture(params=[ExactIndex, HnswIndex])
def index(request: pytest.FixtureRequest) -> VectorIndex:
    made: VectorIndex = request.param(SIZE)
    return made


def test_an_empty_index_finds_nothing(index: VectorIndex) -> None:
    ids, scores = index.search(vectors(1)[0], 5)
    assert len(index) == len(ids) == len(scores) == 0
    assert index.vectors([1])[0] == []
    index.add(np.empty(0, dtype=np.int64), vectors(0))
    index.remove([1])
    assert len(index) == 0


def test_the_nearest_are_found_best_first(index: VectorIndex) -> None:
    rows = vectors(3_000)
    index.add(np.arange(1, 2_001), rows[:2_000])
    index.add(np.arange(2_001, 3_001), rows[2_000:])
    assert len(index) == 3_000
    right = 0
    for query in vectors(20, seed=1):
        ids, scores = index.search(query, 10)
        assert list(scores) == sorted(scores, reverse=True)
        assert np.allclose(rows[ids - 1] @ query, scores, atol=1e-5)
        right += len(set(ids.tolist()) & set((np.argsort(-(rows @ query))[:10] + 1).tolist()))
    assert right >= 196


def test_removed_ones_are_never_found(index: VectorIndex) -> None:
    rows = vectors(400)
    index.add(np.arange(400), rows)
    gone = list(range(0, 400, 2))
    index.remove([*gone, 5_000])
    assert len(index) == 200
    for row in rows[:20]:
        ids, _ = index.search(row, 300)
        assert len(ids) == 200
        assert not set(ids.tolist()) & set(gone)
    found, kept = index.vectors([7, 4, 3])
    assert found == [7, 3]
    assert np.allclose(kept, rows[[7, 3]], atol=1e-6)


def test_nearly_everything_may_be_removed(index: VectorIndex) -> None:
    rows = vectors(2_000)
    index.add(np.arange(2_000), rows)
    index.remove(list(range(1_995)))
    ids, _ = index.search(rows[0], 100)
    assert sorted(ids.tolist()) == [1_995, 1_996, 1_997, 1_998, 1_999]


def test_many_equal_vectors_are_all_found(index: VectorIndex) -> None:
    rows = np.repeat(vectors(3), 100, axis=0)
    index.add(np.arange(300), rows)
    index.remove([0])
    ids, scores = index.search(rows[0], 299)
    assert sorted(ids.tolist()) == list(range(1, 300))
    assert list(scores) == sorted(scores, reverse=True)


def saved(folder: Path) -> np.ndarray:
    rows, index = vectors(500), HnswIndex(SIZE)
    index.add(np.arange(500), rows)
    index.remove([3])
    index.save(folder, 77)
    return rows


def test_a_saved_index_is_the_same_when_loaded(tmp_path: Path) -> None:
    rows = saved(tmp_path)
    loaded = load_hnsw(tmp_path, SIZE)
    assert loaded is not None
    index, change = loaded
    assert (change, len(index), index.removed) == (77, 499, {3})
    assert index.search(rows[8], 1)[0].tolist() == [8]
    assert 3 not in index.search(rows[3], 499)[0]
    index.save(tmp_path, 78)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vectors-78.hnsw", "vectors.json"]


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "no meta", "bad meta", "other dimension"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, damage: str) -> None:
    saved(tmp_path)
    file, meta = tmp_path / "vectors-77.hnsw", tmp_path / "vectors.json"
    data = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        file.write_bytes(data[:5_000] + bytes([data[5_000] ^ 255]) + data[5_001:])
    elif damage == "no meta":
        meta.unlink()
    elif damage == "bad meta":
        meta.write_text("[1, 2")
    assert load_hnsw(tmp_path, 25 if damage == "other dimension" else SIZE) is None
