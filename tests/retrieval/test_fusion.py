"""The fused score orders candidates as its parts do, and close passages support each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.retrieval.evaluation.evaluation import scores
from agentkit.retrieval.search.fusion import POOL, compare_all, fuse


def apart(count: int) -> np.ndarray:
    return np.eye(count, 64, dtype=np.float32)


def test_best_in_both_is_best() -> None:
    fused = fuse(np.array([0.9, 0.5, -0.1]), np.array([0.6, 0.4, 0.0]), apart(3))
    assert fused.tolist() == pytest.approx([0.72, 0.44, 0.0])  # words count three fifths


def test_the_like_of_good_ones_rise() -> None:
    """The last of the second group and those of the third have the same evidence, and nothing in
    common with the best ones.
    """
    vectors = np.repeat(np.eye(3, 64, dtype=np.float32), 6, axis=0)
    dense = np.repeat([0.9, 0.6, 0.3], 6)
    dense[11] = 0.3
    fused = fuse(dense, np.zeros(18), vectors)
    assert fused[0] > fused[6] > fused[11] > fused[12:].max()


def test_what_resembles_the_best_three_rises() -> None:
    """Two groups of equal evidence, each its own neighbours: the one that leans towards the best
    ones comes first.
    """
    vectors = np.repeat(np.eye(6, 64, dtype=np.float32), 6, axis=0)
    vectors[30:] = (vectors[0] + 3 * vectors[30:]) / np.sqrt(10)
    dense = np.full(36, 0.3)
    dense[:6] = 0.9
    fused = fuse(dense, np.zeros(36), vectors)
    assert fused[30:].min() > fused[24:30].max() > 0


def test_the_best_score_is_absolute() -> None:
    """Weak evidence stays weak, however well it does beside the rest; the best of the order has the
    best evidence.
    """
    random = np.random.default_rng(3)
    vectors = random.normal(size=(60, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    dense, lexical = random.uniform(0.0, 0.6, 60), random.choice([0.0, 0.2, 0.4], 60)
    strong, weak = fuse(dense, lexical, vectors), fuse(dense / 4, lexical / 4, vectors)
    assert strong.max() == pytest.approx((0.4 * dense + 0.6 * lexical).max())
    assert weak.max() == pytest.approx(strong.max() / 4)


@pytest.mark.parametrize("count", [1, 2, 100, 300])
def test_all_are_compared_with_all(count: int) -> None:
    vectors = np.random.default_rng(4).normal(size=(count, 16)).astype(np.float32)
    assert np.allclose(compare_all(vectors), vectors @ vectors.T, atol=1e-5)


_ALONE = """
import time
import numpy as np
from agentkit.retrieval.search.fusion import fuse

vectors = np.random.default_rng(5).normal(size=(200, 384)).astype(np.float32)
dense = np.linspace(1, 0, 200, dtype=np.float32)
fuse(dense, dense, vectors)
time.sleep(0.3)
began = time.process_time() - time.thread_time()
for _ in range(20):
    fuse(dense, dense, vectors)
    time.sleep(0.05)
print(time.process_time() - time.thread_time() - began)
"""


def test_fusing_keeps_no_other_thread_busy() -> None:
    """Those of numpy's matrix products wait in a loop: 20 fusions took them 0.5 s of processor
    time, each of which the embedding of the next question lacked.
    """
    done = subprocess.run(
        [sys.executable, "-c", _ALONE],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(done.stdout) < 0.1


def test_many_candidates_keep_the_order_of_their_evidence() -> None:
    """Only the best are compared with each other: time and memory do not grow with the square of
    the rest.
    """
    count = 3 * POOL
    vectors = np.eye(count, dtype=np.float32)
    vectors[-1] = vectors[:6] = vectors[0]
    fused = fuse(np.linspace(0.9, 0.1, count), np.zeros(count), vectors)
    assert fused[:POOL].min() >= fused[POOL]
    assert (np.diff(fused[POOL:]) <= 0).all()


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_scores_stay_between_0_and_1(count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    fused = fuse(random.uniform(-1, 1, count), random.choice([0.0, 0.5, 1.2], count), vectors)
    assert fused.shape == (count,)
    assert ((fused >= 0) & (fused <= 1 + 1e-6)).all()


def test_measures() -> None:
    found = scores(["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1, "z": 0})
    assert found["recall_10"] == found["recall_100"] == pytest.approx(2 / 3)
    assert found["mrr_10"] == 0.5
    assert found["ndcg_10"] == pytest.approx(
        (1 / np.log2(3) + 1 / np.log2(5)) / (1 + 1 / np.log2(3) + 0.5)
    )
    assert set(scores(["x"], {"a": 1}).values()) == {0.0}
