"""Two rankings made into one, by scores that mean the same for every query.

- Evidence: the weighted mean of the cosine and of BM25's share of what it could reach at most. A
  sum of scores of known range beats a sum of ranks (Bruch, Gai and Ingber 2022, arXiv:2210.11934:
  normalisation by theoretical bounds).
- Neighbours: each candidate takes a part of its score from those most like it, as close passages
  answer the same questions (Diaz 2005, "Regularizing ad hoc retrieval scores").
- Feedback: the query's vector is moved towards the best three candidates, as their words tell what
  the query left out (Rocchio 1971; with vectors of a model and few passages: Li et al. 2021,
  arXiv:2108.11044).

The last two give the order. They raise good and bad passages alike, so the scores are then scaled
to the best evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Chosen on every second question of the Cranfield collection by tests/bench/bench_fusion.py.
DENSE_WEIGHT = 0.4
NEIGHBOURS = 5
NEIGHBOUR_WEIGHT = 0.5
FEEDBACK = 3
FEEDBACK_WEIGHT = 0.8
POOL = 100
"""Candidates, best first, that are compared with each other; the others follow them in the order of
their evidence.
"""
_FEW = 128
"""Of more vectors than these, the products are worth being shared by several threads."""


def compare_all(vectors: np.ndarray) -> np.ndarray:
    """The dot products (n, n) of each of the vectors (n, dimension) with each.

    Few are computed by this thread alone: the threads of a matrix product wait in a loop for the
    next one, which took 26 ms of two processors' time, and the embedding of the next question
    waited for that. Alone it takes half a millisecond.
    """
    import numpy as np

    if len(vectors) > _FEW:
        many: np.ndarray = vectors @ vectors.T
        return many
    few: np.ndarray = np.vecdot(vectors[:, None], vectors[None])
    return few


def fuse(dense: np.ndarray, lexical: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Scores (n), 0 to 1, of candidates with these cosines (n), lexical shares (n, 0 where none)
    and vectors (n, dimension).

    A lexical share is the BM25 score divided by `LexicalIndex.ceiling(query)` of the index that it
    comes from. The best score is the highest weighted mean of cosine and share among the
    candidates, so that it can be compared between queries.
    """
    evidence = _mix(dense, lexical)
    if len(evidence) <= 2 * NEIGHBOURS:
        return evidence
    order = (-evidence).argsort(kind="stable")
    pool, rest = order[:POOL], order[POOL:]
    fused = evidence.copy()
    fused[pool] = _regularise(evidence[pool], dense[pool], lexical[pool], vectors[pool])
    fused[rest] = evidence[rest].clip(None, fused[pool].min())
    return fused


def _regularise(
    evidence: np.ndarray, dense: np.ndarray, lexical: np.ndarray, vectors: np.ndarray
) -> np.ndarray:
    nearest, weights = _find_neighbours(vectors)
    best = (-_smooth(evidence, nearest, weights)).argsort(kind="stable")[:FEEDBACK]
    order = _smooth(_mix(_add_feedback(dense, vectors, best), lexical), nearest, weights)
    top = order.max()
    return order * (evidence.max() / top) if top > 0 else order


def _mix(dense: np.ndarray, lexical: np.ndarray) -> np.ndarray:
    mixed: np.ndarray = DENSE_WEIGHT * dense.clip(0.0, 1.0) + (1 - DENSE_WEIGHT) * lexical.clip(
        0.0, 1.0
    )
    return mixed


def _add_feedback(dense: np.ndarray, vectors: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Cosines (n) to the query's vector plus a part of the mean of the best ones; the cosines stand
    for the query itself.
    """
    mean = FEEDBACK_WEIGHT * vectors[best].mean(0)
    length = (1 + 2 * FEEDBACK_WEIGHT * dense[best].mean() + mean @ mean) ** 0.5
    moved: np.ndarray = (dense + vectors @ mean) / max(float(length), 1e-9)
    return moved


def _find_neighbours(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights (n, NEIGHBOURS) of those most like each one; the weights of one sum to 1,
    or are all 0.
    """
    import numpy as np

    alike = compare_all(vectors)
    count = len(alike)
    alike.flat[:: count + 1] = 0.0  # itself
    nearest = np.argpartition(alike, count - NEIGHBOURS, axis=1)[:, count - NEIGHBOURS :]
    weights = np.maximum(alike[np.arange(count)[:, None], nearest], 0.0)
    return nearest, weights / np.maximum(weights.sum(1, keepdims=True), 1e-9)


def _smooth(scores: np.ndarray, nearest: np.ndarray, weights: np.ndarray) -> np.ndarray:
    evened: np.ndarray = (1 - NEIGHBOUR_WEIGHT) * scores + NEIGHBOUR_WEIGHT * (
        weights * scores[nearest]
    ).sum(1)
    return evened
