"""Which teams are to be put to a question set again, and which got worse."""

from __future__ import annotations

from datetime import datetime

import pytest

from agentkit.core.intervals import FEWEST
from agentkit.events import EvaluationBegan, QuestionTried
from agentkit.ledger.evaluations.courses import TeamCourse, find_courses
from agentkit.ledger.evaluations.results import Evaluation

ASKED = FEWEST + 2
AT = datetime.fromisoformat("2026-05-01")


def made(
    run_id: str,
    team: str = "tea:1",
    model: str = "small",
    right: int = ASKED,
    state: str = "finished",
    asked: int = ASKED,
) -> Evaluation:
    """An evaluation whose first so many answers cite the right document."""
    began = EvaluationBegan("set", "Drinks", team, "Tea", "Kitchen", model, ASKED)
    tried = [
        QuestionTried(n, f"{n}?", {"a": 1}, cited={"a" if n < right else "b": 1})
        for n in range(asked)
    ]
    return Evaluation(run_id, state, AT, None, began, tuple(tried))


def find(*history: Evaluation, newest: str = "tea:1", accepted: tuple[str, ...] = ()) -> TeamCourse:
    """How the one team stands, newest first."""
    [found] = find_courses(history, {"tea": newest}, "small", accepted)
    return found


def test_nothing_is_due_while_all_is_as_it_was() -> None:
    found = find(made("one"))
    assert (found.is_due, found.causes, found.is_warned) == (False, (), False)


@pytest.mark.parametrize(
    ("before", "causes"),
    [
        (made("one", team="tea:0"), ("version",)),
        (made("one", model="large"), ("model",)),
        (made("one", team="tea:0", model="large"), ("version", "model")),
    ],
)
def test_a_version_and_a_model_make_it_due(before: Evaluation, causes: tuple[str, ...]) -> None:
    found = find(before)
    assert (found.is_due, found.causes, found.latest.run_id) == (True, causes, "one")


def test_what_broke_off_is_not_due_but_to_be_gone_on_with() -> None:
    found = find(made("two", state="stopped", asked=2), made("one", team="tea:0"))
    assert (found.is_due, found.now) == (False, None)
    assert find_courses([made("one", state="stopped", asked=2)], {"tea": "tea:1"}, "small") == []


def test_worse_than_the_version_before_is_warned_of_until_it_is_accepted() -> None:
    worse = made("two", right=0), made("one", team="tea:0")
    assert find(*worse).is_warned
    assert not find(*worse, accepted=("two",)).is_warned
    assert find(*worse, accepted=("one",)).is_warned, "another one was accepted"
    assert not find(made("two", right=ASKED - 1), made("one", team="tea:0")).is_warned
    again = made("three", right=0), *worse
    assert find(*again, accepted=("two",)).is_warned is False, "it is the same team"


def test_each_variant_stands_for_itself_and_what_is_gone_is_left_out() -> None:
    history = [made("one", team="group:auto"), made("two", team="group:random"), made("3", "gone")]
    newest = {"group:auto": "group:auto", "group:random": "group:random"}
    found = find_courses(history, newest, "small")
    assert [one.team_id for one in found] == ["group:auto", "group:random"]
    assert not any(one.is_due for one in found)
