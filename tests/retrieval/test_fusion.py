"""The fused score orders candidates as its parts do, and close passages support each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.retrieval.evaluation import scores
from agentkit.retrieval.fusion import NEIGHBOURS, fuse


def apart(count: int) -> np.ndarray:
    return np.eye(count, 64, dtype=np.float32)


def test_best_in_both_is_best() -> None:
    fused = fuse(np.array([0.9, 0.5, 0.1]), np.array([3.0, 2.0, 0.0]), apart(3))
    assert fused.tolist() == pytest.approx([1, 0.5667, 0], abs=1e-4)


def test_the_like_of_good_ones_rise() -> None:
    count = 20
    vectors = apart(count)
    vectors[:6] = vectors[0]
    dense = np.full(count, 0.3)
    dense[:5], dense[-1] = 0.9, 0.1
    fused = fuse(dense, np.zeros(count), vectors)
    assert fused[5] > fused[6]
    assert fused[0] > fused[5]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_scores_stay_between_0_and_1(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    fused = fuse(random.uniform(-1, 1, count), random.choice([0.0, 5.0, 9.0], count), vectors)
    assert fused.shape == (count,)
    assert ((fused >= -1e-6) & (fused <= 1 + 1e-6)).all()
    assert count > NEIGHBOURS or len(fused) == count


def test_measures() -> None:
    found = scores(["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1, "z": 0})
    assert found["recall_10"] == found["recall_100"] == pytest.approx(2 / 3)
    assert found["mrr_10"] == 0.5
    assert found["ndcg_10"] == pytest.approx((1 / np.log2(3) + 1 / np.log2(5)) / (1 + 1 / np.log2(3) + 0.5))
    assert set(scores(["x"], {"a": 1}).values()) == {0.0}
