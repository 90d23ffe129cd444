"""Two rankings made into one: a weighted sum of scores brought to one scale, then evened out among near neighbours.

Reciprocal ranks throw away how far apart the scores are; here each stage's scores over all candidates are stretched to 0..1 and
added (Bruch, Gai and Ingber 2022, arXiv:2210.11934, find that such a sum beats reciprocal ranks on every set they try). Then each
candidate takes a part of its score from the candidates most like it: close passages tend to answer the same questions
(Diaz 2005, "Regularizing ad hoc retrieval scores").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

DENSE_WEIGHT = 0.6
NEIGHBOURS = 5
NEIGHBOUR_WEIGHT = 0.3


def fuse(dense: np.ndarray, lexical: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Scores (n), 0 to 1, of candidates with these cosines (n), BM25 scores (n, 0 where none) and vectors (n, dimension)."""
    combined = DENSE_WEIGHT * _stretched(dense) + (1 - DENSE_WEIGHT) * _stretched(lexical)
    return combined if len(combined) <= 2 * NEIGHBOURS else _evened(combined, vectors)


def _stretched(scores: np.ndarray) -> np.ndarray:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else scores * 0.0


def _evened(scores: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    import numpy as np

    alike = np.clip(vectors @ vectors.T, 0.0, None)
    np.fill_diagonal(alike, 0.0)
    nearest = np.argpartition(-alike, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    weights = np.take_along_axis(alike, nearest, axis=1)
    total = np.maximum(weights.sum(1), 1e-9)
    around = (weights * scores[nearest]).sum(1) / total
    evened: np.ndarray = (1 - NEIGHBOUR_WEIGHT) * scores + NEIGHBOUR_WEIGHT * around
    return evened
