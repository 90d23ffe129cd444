"""Means over questions: how sure they are, and what a difference of two is worth."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import fsum, sqrt
from statistics import stdev
from typing import Literal

Verdict = Literal["none", "same", "few", "open", "better", "worse"]
"""`none`: no question is in both; `same`: no score differs; `few`: so few differ that it may be
chance; `open`: the interval has 0 in it; else the second is better or worse.
"""
FEWEST = 6
"""Questions that have to differ before a difference counts: with fewer, even if all went the same
way, chance would do as much in one of 20 comparisons (sign test).
"""
SAME = 1e-9
"""Scores that differ by no more are the same."""
_DEGREES = (*range(1, 21), 25, 30, 40, 60, 120, 1_000)
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.060, 2.042, 2.021, 2.000, 1.980, 1.962),
)
"""The 97.5th percentile of Student's t for these degrees of freedom."""


def find_margin(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of their mean, by Student's t; None for fewer than
    two.
    """
    if len(values) < 2:
        return None
    below = bisect_right(_DEGREES, len(values) - 1) - 1  # between two, that of the lower one
    return _STUDENT[below] * stdev(values) / sqrt(len(values))


def judge(differences: Sequence[float]) -> Verdict:
    """What can be said of these differences of scores, one for each question that is in both."""
    if not differences:
        return "none"
    differing = [one for one in differences if abs(one) > SAME]
    if not differing:
        return "same"
    if len(differing) < FEWEST:
        return "few"
    mean = fsum(differences) / len(differences)
    margin = find_margin(differences) or 0.0
    return _weigh(mean, margin)


def _weigh(mean: float, margin: float) -> Verdict:
    """Where the interval of the mean lies."""
    if mean > margin:
        return "better"
    if mean < -margin:
        return "worse"
    return "open"
