"""What the figures of a measurement are worth: their intervals over the questions, and whether two
measurements differ by more than chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter, sub

from agentkit.core.intervals import SAME, Verdict, find_margin, judge
from agentkit.retrieval.store.questions import QuestionResult


def _read_ndcg(result: QuestionResult) -> float:
    return result.ndcg_10


def _read_hit(result: QuestionResult) -> float:
    return float(result.hit)


def _measure_recall(depth: int, result: QuestionResult) -> float:
    """The share of the expected documents that are among so many."""
    within = range(1, depth + 1)
    is_found = list(map(within.__contains__, result.ranks.values()))
    return is_found.count(True) / len(is_found)


_RECIPROCALS: Mapping[int | None, float] = {rank: 1 / rank for rank in range(1, 11)}


def _measure_reciprocal_rank(result: QuestionResult) -> float:
    """One divided by the rank of the first expected document; 0 beyond rank 10."""
    return _RECIPROCALS.get(result.best_rank, 0.0)


SCORES: Mapping[str, Callable[[QuestionResult], float]] = {
    "ndcg_10": _read_ndcg,
    "recall_1": partial(_measure_recall, 1),
    "recall_5": partial(_measure_recall, 5),
    "recall_10": partial(_measure_recall, 10),
    "recall_100": partial(_measure_recall, 100),
    "mrr_10": _measure_reciprocal_rank,
    "hit_rate": _read_hit,
}
"""What one question scores, by the name of the figure that is the mean of it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and how sure it is."""

    mean: float
    margin: float | None
    """Half the width of the interval in which it lies with 95 % confidence; None for fewer than
    two questions.
    """
    questions: int

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest value that it may have."""
        if self.margin is None:
            return None
        return self.mean - self.margin, self.mean + self.margin


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much a figure changed over the questions that are in both measurements."""

    interval: Interval
    verdict: Verdict


def find_intervals(results: Sequence[QuestionResult]) -> dict[str, Interval]:
    """The interval of each figure; there is at least one result."""
    scored = map(partial(_score_all, results), SCORES.values())
    intervals = map(_to_interval, scored)
    return dict(zip(SCORES, intervals, strict=True))


def compare(
    before: Sequence[QuestionResult], after: Sequence[QuestionResult]
) -> dict[str, Difference]:
    """How each figure changed from one measurement to the other, by the words of the questions."""
    old, new = pair_questions(before, after)
    scores = SCORES.values()
    earlier = map(partial(_score_all, old), scores)
    later = map(partial(_score_all, new), scores)
    differences = map(_to_difference, earlier, later)
    return dict(zip(SCORES, differences, strict=True))


def list_worse(
    before: Sequence[QuestionResult], after: Sequence[QuestionResult]
) -> list[QuestionResult]:
    """What came of those questions whose nDCG@10 fell, that which fell most first."""
    pairs = list(zip(*pair_questions(before, after), strict=True))
    worse = list(filter(_is_worse, pairs))
    worse.sort(key=_fall)
    return list(map(_LATER, worse))


def pair_questions(
    before: Sequence[QuestionResult], after: Sequence[QuestionResult]
) -> tuple[list[QuestionResult], list[QuestionResult]]:
    """What came of the questions that are in both, before and after, in the order of the second."""
    known = dict(zip(map(_WORDS, before), before, strict=True))
    later = [one for one in after if one.question in known]
    earlier = list(map(known.__getitem__, map(_WORDS, later)))
    return earlier, later


_Pair = tuple[QuestionResult, QuestionResult]
_WORDS: Callable[[QuestionResult], str] = attrgetter("question")
_LATER: Callable[[_Pair], QuestionResult] = itemgetter(1)


def _fall(pair: _Pair) -> float:
    """By which nDCG@10 changed; below 0 where it fell."""
    old, new = pair
    return new.ndcg_10 - old.ndcg_10


def _is_worse(pair: _Pair) -> bool:
    return _fall(pair) < -SAME


def _score_all(
    results: Sequence[QuestionResult], score: Callable[[QuestionResult], float]
) -> list[float]:
    return list(map(score, results))


def _to_difference(earlier: Sequence[float], later: Sequence[float]) -> Difference:
    changes = list(map(sub, later, earlier))
    return Difference(_to_interval(changes), judge(changes))


def _to_interval(values: Sequence[float]) -> Interval:
    return Interval(sum(values) / max(1, len(values)), find_margin(values), len(values))
