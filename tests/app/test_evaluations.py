"""Teams beside each other on the Teams page, and question sets that are put to them."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.ledger.evaluations.results import KIND
from agentkit.retrieval.store.questions import Question
from agentkit.ui.teams import drafts as forms_drafts
from agentkit.ui.teams.drafts import Draft
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts
from tests.app.test_prompts import choose, click
from tests.teams.built import drafts
from tests.teams.evaluated import break_off

SET = "Tea questions"
QUESTIONS = [
    Question("How hot is green tea?", {"tea.txt": 1}),
    Question("How long is it steeped?", {"tea.txt": 1}),
]


@pytest.fixture
def versions(kitchen: ScriptableWorkspace) -> list[str]:
    """A team in two versions, the newer one first, and a set of questions."""
    first = kitchen.save_team(OWNER, drafts.retrieve_chat())
    changed = {**drafts.retrieve_chat(), "description": "Newer."}
    second = kitchen.save_team(OWNER, changed, first.id)
    kitchen.library.questions.create(OWNER, SET, "Kitchen", QUESTIONS)
    return [second.key, first.key]


def open_view(name: str) -> AppTest:
    app = open_page("teams")
    choose(app, "show", name)
    return app


def widget(app: AppTest, key: str) -> Any:
    return app.get_by_key(key)


def press(app: AppTest, key: str) -> None:
    """Press a button, and wait until what that began has ended and is drawn."""
    click(app, key)
    settle(app)


def test_both_versions_answer_and_what_they_took_is_told(
    kitchen: ScriptableWorkspace, versions: list[str]
) -> None:
    kitchen.script(*["Steeped at 80 degrees [1]."] * 2)
    app = open_view("Side by side")
    assert widget(app, "beside-left").options[:2] == [
        "RetrieveChat, version 2",
        "RetrieveChat, version 1",
    ]
    press(app, "ask-both")
    shown = texts(app)
    assert shown.count("tea.txt") >= 2
    assert "Both answers are the same, word for word." in shown
    assert "| Tokens in |" in shown
    [one, two] = kitchen.figures.runs(OWNER, kind="try")
    assert {one.team, two.team} == set(versions)


def test_what_stands_in_a_form_is_put_beside_what_was_saved(
    kitchen: ScriptableWorkspace, versions: list[str]
) -> None:
    kitchen.script(*["Steeped at 80 degrees [1]."] * 2)
    team_id = versions[0].partition(":")[0]
    changed = {**kitchen.kept_teams.find(OWNER, team_id).document, "description": "In the form."}
    forms_drafts.keep(Draft(team_id, dict(changed), 2))
    app = open_page("teams", team=team_id)
    click(app, "team-beside")
    assert widget(app, "beside-right").value == f"draft:{team_id}"
    assert widget(app, "beside-left").value == versions[0]
    press(app, "ask-both")
    assert "RetrieveChat, as in its form" in texts(app)


def test_a_set_is_put_to_two_versions_and_compared(
    kitchen: ScriptableWorkspace, versions: list[str]
) -> None:
    kitchen.script(*["Steeped at 80 degrees [1].", "For long."] * 2)
    app = open_view("Question sets")
    widget(app, "evaluated-teams").set_value(versions).run()
    widget(app, "evaluated-at-once").set_value(1).run()
    assert "2 to 40 calls of models, by the limits of the team" in texts(app)
    press(app, "put-set")
    assert not runs.live(OWNER, kind=KIND)
    shown = texts(app)
    assert "No score differs" in shown or "too few to tell this from chance" in shown
    assert [one.began.team_id for one in kitchen.evaluations.history(OWNER)] == versions
    assert "as in its earlier evaluations" in shown


def test_what_was_interrupted_goes_on_by_a_click(
    kitchen: ScriptableWorkspace, versions: list[str]
) -> None:
    """Of its two questions one was answered when the app was closed."""
    model = kitchen.script("For long.")
    break_off(kitchen, OWNER, versions[0], "Kitchen", model.id)
    app = open_view("Question sets")
    shown = texts(app)
    assert "was interrupted, as the app ended: 1 of 2 questions answered." in shown
    go_on = next(one for one in app.button if one.label == "Go on with 1 question")
    click(app, str(go_on.key))
    settle(app)
    [found] = kitchen.evaluations.history(OWNER)
    assert [one.answer for one in found.results] == ["Steeped at 80 degrees [1].", "For long."]
    assert "was interrupted" not in texts(app)


def test_without_a_set_the_way_to_one_is_shown(kitchen: ScriptableWorkspace) -> None:
    assert "make one in the lab" in texts(open_view("Question sets"))


def test_the_lab_measures_teams_too(kitchen: ScriptableWorkspace, versions: list[str]) -> None:
    app = open_page("retrieval_lab", view="Teams")
    assert "This set was put to no team yet." in texts(app)
