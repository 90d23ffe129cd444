"""How answers to a question set are scored, summed and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core.intervals import FEWEST, Verdict, find_margin
from agentkit.events import QuestionTried
from agentkit.ledger.evaluations.differences import compare
from agentkit.ledger.evaluations.results import (
    count_right,
    measure_precision,
    measure_recall,
    measure_score,
    sum_up,
)

numbers = st.integers(1, 5)
names = st.sampled_from(["tea.md", "danube.md", "tin.md"])
tried = st.builds(
    QuestionTried,
    st.integers(1, 9),
    st.text(max_size=3),
    st.dictionaries(names, numbers, min_size=1),
    cited=st.dictionaries(names, numbers),
)


def answered(question: str, right: int, wrong: int = 0) -> QuestionTried:
    cited = {name: n for name, n in {"tea.md": right, "tin.md": wrong}.items() if n}
    return QuestionTried(1, question, {"tea.md": 1}, cited=cited)


def test_citations_of_expected_documents_are_right() -> None:
    one = QuestionTried(1, "?", {"a": 1, "b": 2}, cited={"a": 2, "c": 1})
    assert (count_right(one), measure_precision(one), measure_recall(one)) == (2, 2 / 3, 0.5)
    assert measure_score(one) == pytest.approx(4 / 7)
    nothing = QuestionTried(1, "?", {"a": 1}, status="failed")
    assert (measure_precision(nothing), measure_score(nothing)) == (0, 0)


@given(tried)
def test_a_score_lies_between_both_shares(one: QuestionTried) -> None:
    shares = measure_precision(one), measure_recall(one)
    assert min(shares) - 1e-9 <= measure_score(one) <= max(shares) + 1e-9


def test_what_is_unknown_is_not_counted_as_nothing() -> None:
    paid = QuestionTried(1, "?", cost=0.5, calls=2, seconds=2.0)
    unknown = QuestionTried(2, "!", status="failed", unpriced=1, calls=1, seconds=1.0)
    sums = sum_up([paid, unknown])
    assert (sums.cost, sums.unpriced, sums.calls) == (0.5, 1, 3)
    assert (sums.failed, sums.seconds, sums.mean_s) == (1, 3.0, 1.5)
    assert sum_up([unknown]).cost is None
    assert sum_up([]).mean_s == 0


@pytest.mark.parametrize(
    ("better", "worse", "same", "verdict"),
    [
        (0, 0, 0, "none"),
        (0, 0, 9, "same"),
        (FEWEST - 1, 0, 0, "few"),
        (FEWEST, 0, 0, "better"),
        (0, 9, 3, "worse"),
        (4, 4, 30, "open"),
        (20, 2, 0, "better"),
    ],
)
def test_a_small_difference_over_few_questions_is_called_so(
    better: int, worse: int, same: int, verdict: Verdict
) -> None:
    total = better + worse + same
    before = [answered(str(n), int(n >= better)) for n in range(total)]
    after = [answered(str(n), int(not better <= n < better + worse)) for n in range(total)]
    found = compare(before, after)
    assert found.verdict == verdict
    assert (found.count("better"), found.count("worse")) == (better, worse)
    changes = [pair.change for pair in found.pairs]
    assert "same" not in changes[: better + worse], "what differs stands first"


def test_only_questions_of_both_are_compared() -> None:
    found = compare([answered("a", 1), answered("b", 1)], [answered("b", 1, 1), answered("c", 1)])
    assert [pair.after.question for pair in found.pairs] == ["b"]
    assert (found.left_out, found.margin, found.verdict) == (2, None, "few")


def test_the_interval_is_that_of_students_t() -> None:
    # The mean's 95 % interval of 5 values, as textbooks give it: t = 2.776 with 4 degrees.
    assert find_margin([1, 2, 3, 4, 5]) == pytest.approx(2.776 * 1.5811 / 5**0.5, rel=1e-3)
    assert find_margin([0.0, 1.0] * 5_000) == pytest.approx(1.962 * 0.5 / 100, rel=1e-3)
    assert find_margin([1.0]) is None
