"""What figures over questions are worth: intervals, and changes that are more than chance."""

from __future__ import annotations

import pytest

from agentkit.cli.quality.measuring import tell_difference
from agentkit.core.intervals import Verdict
from agentkit.retrieval.evaluation.comparing import (
    Difference,
    Interval,
    compare,
    find_intervals,
    pair_questions,
)
from agentkit.retrieval.evaluation.evaluation import scores
from agentkit.retrieval.store.questions import QuestionResult
from agentkit.ui.lab.worth import tell


def result(number: int, rank: int | None, ndcg: float) -> QuestionResult:
    return QuestionResult(f"Question {number}?", {"tea.md": rank}, ndcg, rank is not None, 0.01)


def ranked(*ranks: int | None) -> list[QuestionResult]:
    found = []
    for number, rank in enumerate(ranks):
        ranking = ["other.md"] * (rank - 1) + ["tea.md"] if rank else []
        found.append(result(number, rank, scores(ranking, {"tea.md": 1})["ndcg_10"]))
    return found


def test_what_a_question_scores_is_what_the_figures_are_the_mean_of() -> None:
    ranks = (1, 2, 7, 11, None, 100)
    found = find_intervals(ranked(*ranks))
    for name in ("ndcg_10", "recall_1", "recall_5", "recall_10", "recall_100", "mrr_10"):
        rankings = [["other.md"] * (rank - 1) + ["tea.md"] if rank else [] for rank in ranks]
        each = [scores(ranking, {"tea.md": 1})[name] for ranking in rankings]
        assert found[name].mean == pytest.approx(sum(each) / 6), name
    assert found["hit_rate"].mean == pytest.approx(5 / 6)
    low, high = found["recall_1"].ends or (0.0, 0.0)
    assert low < 1 / 6 < high
    assert (low + high) / 2 == pytest.approx(1 / 6)
    assert find_intervals(ranked(1))["mrr_10"].ends is None, "one question does not tell"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([0.0] * 40, "same"),
        ([-0.5] * 5 + [0.0] * 35, "few"),
        ([-0.5] * 10 + [0.3] * 8 + [0.0] * 22, "open"),
        ([-0.3] * 12 + [0.0] * 28, "worse"),
        ([0.3] * 12 + [0.0] * 28, "better"),
    ],
)
def test_a_change_is_called_what_it_is(changes: list[float], verdict: Verdict) -> None:
    before = [result(number, 1, 0.6) for number, _ in enumerate(changes)]
    after = [result(number, 1, 0.6 + change) for number, change in enumerate(changes)]
    found = compare(before, after)
    assert found["ndcg_10"].verdict == verdict
    assert found["mrr_10"].verdict == "same"


def test_a_change_in_words() -> None:
    changes = [-0.5] * 10 + [0.3] * 8 + [0.0] * 22
    before = [result(number, 1, 0.6) for number, _ in enumerate(changes)]
    after = [result(number, 1, 0.6 + change) for number, change in enumerate(changes)]
    found = compare(before, after)["ndcg_10"]
    assert tell_difference(found) == "-0.07 over 40 questions: within chance"
    assert tell(found) == ("-0.07 over 40 questions: **within chance** (95 %: -0.16 to +0.03)")
    far = Difference(Interval(-0.9, 0.23, 10), "worse")
    assert tell(far).endswith("(95 %: -1.00 to -0.67)"), "shares differ by no more"


def test_only_questions_of_both_are_compared() -> None:
    before, after = ranked(1, 1, 1), ranked(1, 2)[1:]
    assert [len(part) for part in pair_questions(before, after)] == [1, 1]
    assert compare(before, after)["ndcg_10"].interval.questions == 1
    assert compare(before, [])["ndcg_10"].verdict == "none"
