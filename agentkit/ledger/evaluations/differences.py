"""Two evaluations with the same questions: what got better and worse, and whether that is more
than chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from agentkit.core.intervals import SAME, Verdict, find_margin, judge
from agentkit.events import QuestionTried
from agentkit.ledger.evaluations.results import find_mean, measure_score

Change = Literal["better", "worse", "same"]


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
        if self.difference > SAME:
            return "better"
        if self.difference < -SAME:
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
        return judge(list(map(_DIFFERENCE, self.pairs)))


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
