"""Two evaluations with the same questions: what got better and worse, and whether that is more
than chance.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from operator import attrgetter
from statistics import stdev
from typing import Literal

from agentkit.events import QuestionTried
from agentkit.ledger.evaluations.results import find_mean, measure_score

Change = Literal["better", "worse", "same"]
Verdict = Literal["none", "same", "few", "open", "better", "worse"]
"""`none`: no question is in both; `same`: no score differs; `few`: so few differ that it may be
chance; `open`: the interval has 0 in it; else the second is better or worse.
"""
FEWEST = 6
"""Questions that have to differ before a difference counts: with fewer, even if all went the same
way, chance would do as much in one of 20 comparisons (sign test).
"""
_SAME = 1e-9
_DEGREES = (*range(1, 21), 25, 30, 40, 60, 120, 1_000)
_STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.060, 2.042, 2.021, 2.000, 1.980, 1.962),
)
"""The 97.5th percentile of Student's t for these degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question that both were asked."""

    before: QuestionTried
    after: QuestionTried

    @property
    def difference(self) -> float:
        """By which the score rose."""
        return measure_score(self.after) - measure_score(self.before)

    @property
    def change(self) -> Change:
        """What became of it."""
        if self.difference > _SAME:
            return "better"
        if self.difference < -_SAME:
            return "worse"
        return "same"


@dataclass(frozen=True, slots=True)
class Differences:
    """What changed from one evaluation to the other."""

    pairs: tuple[Pair, ...]
    """Those that differ first, the greatest difference before the others."""
    left_out: int
    """Questions that only one of the two was asked."""
    mean: float
    """Of the differences of the scores."""
    margin: float | None
    """Half the width of the interval in which the mean lies with 95 % confidence; None for fewer
    than two questions.
    """

    def count(self, change: Change) -> int:
        """How many questions changed like this."""
        return [pair.change for pair in self.pairs].count(change)

    @property
    def differing(self) -> int:
        """How many questions changed at all."""
        return len(self.pairs) - self.count("same")

    @property
    def verdict(self) -> Verdict:
        """What can be said."""
        if not self.pairs:
            return "none"
        if not self.differing:
            return "same"
        if self.differing < FEWEST:
            return "few"
        return self._weigh(self.margin or 0.0)

    def _weigh(self, margin: float) -> Verdict:
        """Where the interval of the mean lies."""
        if self.mean > margin:
            return "better"
        if self.mean < -margin:
            return "worse"
        return "open"


_DIFFERENCE: Callable[[Pair], float] = attrgetter("difference")


def compare(before: Sequence[QuestionTried], after: Sequence[QuestionTried]) -> Differences:
    """The questions that are in both, by their words, and how the scores differ."""
    known, found = _read_by_words(before), _read_by_words(after)
    both = [Pair(known[words], one) for words, one in found.items() if words in known]
    differences = list(map(_DIFFERENCE, both))
    pairs = sorted(both, key=lambda pair: -abs(pair.difference))
    left_out = len(known.keys() ^ found.keys())
    margin = find_margin(differences)
    return Differences(tuple(pairs), left_out, find_mean(differences), margin)


def _read_by_words(results: Sequence[QuestionTried]) -> dict[str, QuestionTried]:
    return dict(zip(map(_WORDS, results), results, strict=True))


_WORDS: Callable[[QuestionTried], str] = attrgetter("question")


def find_margin(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of their mean, by Student's t; None for fewer than
    two.
    """
    if len(values) < 2:
        return None
    below = bisect_right(_DEGREES, len(values) - 1) - 1  # between two, that of the lower one
    return _STUDENT[below] * stdev(values) / sqrt(len(values))
