"""What the figures of a measurement are worth: their intervals over the questions, and whether two
measurements differ by more than chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agentkit.core.intervals import Verdict, find_margin, judge
from agentkit.retrieval.store.questions import QuestionResult


def _read_ndcg(result: QuestionResult) -> float:
    return result.ndcg_10


def _read_hit(result: QuestionResult) -> float:
    return float(result.hit)


def _measure_recall(depth: int, result: QuestionResult) -> float:
    """The share of the expected documents that are among so many."""
    found = sum(rank is not None and rank <= depth for rank in result.ranks.values())
    return found / len(result.ranks)


_RECIPROCALS: Mapping[int | None, float] = {rank: 1 / rank for rank in range(1, 11)}


def _measure_reciprocal_rank(result: QuestionResult) -> float:
    """One divided by the rank of the first expected document; 0 beyond rank 10."""
    return _RECIPROCALS.get(result.best_rank, 0.0)


Score = Callable[[QuestionResult], float]
SCORES: Mapping[str, Score] = {
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
    return {name: _to_interval([score(one) for one in results]) for name, score in SCORES.items()}


def compare(
    before: Sequence[QuestionResult], after: Sequence[QuestionResult]
) -> dict[str, Difference]:
    """How each figure changed from one measurement to the other, by the words of the questions."""
    old, new = pair_questions(before, after)
    return {name: _find_difference(old, new, score) for name, score in SCORES.items()}


def pair_questions(
    before: Sequence[QuestionResult], after: Sequence[QuestionResult]
) -> tuple[list[QuestionResult], list[QuestionResult]]:
    """What came of the questions that are in both, before and after, in the order of the second."""
    known = {one.question: one for one in before}
    later = [one for one in after if one.question in known]
    return [known[one.question] for one in later], later


def _find_difference(
    old: Sequence[QuestionResult], new: Sequence[QuestionResult], score: Score
) -> Difference:
    changes = [score(later) - score(earlier) for earlier, later in zip(old, new, strict=True)]
    return Difference(_to_interval(changes), judge(changes))


def _to_interval(values: Sequence[float]) -> Interval:
    return Interval(sum(values) / max(1, len(values)), find_margin(values), len(values))
