"""What is told of question sets and teams that were tried before something changed, and how that is
put right: in the lab, on the Documents and the Teams page, and among usage.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.ledger.evaluations.results import KIND
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.store.courses import Course
from agentkit.retrieval.store.questions import Measurement, Question, QuestionSet
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts
from tests.app.test_prompts import click
from tests.app.test_usage import open_tab
from tests.teams.built import drafts

Ingest = Callable[[str, dict[str, str]], None]
NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight")
DUE = "Measured before something changed"
WORSE = "The search got worse."
TRIED = "Tried before something changed"


@pytest.fixture
def measured(workspace: ScriptableWorkspace, ingest: Ingest) -> QuestionSet:
    """Eight questions, each answered by a document of its own, measured once."""
    ingest("Rooms", {f"{name}.md": f"The room {name} is {name}." for name in NAMES})
    questions = [Question(f"room {name}", {f"{name}.md": 1}) for name in NAMES]
    library = workspace.library
    made = library.questions.create(OWNER, "Doors", "Rooms", questions)
    measure(library, OWNER, made.id, "Rooms", library.options(OWNER, "Rooms"))
    return made


def clear(workspace: ScriptableWorkspace, left: int = 1) -> None:
    """Delete all documents but some."""
    there = workspace.library.documents(OWNER, "Rooms")
    workspace.library.delete_documents(OWNER, [one.id for one in there[left:]])


def documents() -> AppTest:
    return open_page("documents", collection="Rooms")


def test_a_set_is_measured_again_by_a_click_and_a_fall_is_told_until_accepted(
    workspace: ScriptableWorkspace, measured: QuestionSet
) -> None:
    app = documents()
    assert DUE not in texts(app)
    clear(workspace)
    app.run()
    assert "**Doors** on Rooms: documents came, changed or went" in texts(app)
    click(app, "measure-again")
    assert "Measuring Doors on Rooms" in texts(app)
    settle(app)
    shown = texts(app)
    assert WORSE in shown
    assert "over 8 questions: **worse by more than chance**" in shown
    assert DUE not in shown
    for page in (open_page("usage"), open_page("retrieval_lab", view="Measure")):
        if page.query_params.get("view") is None:
            open_tab(page, "Quality")
        assert WORSE in texts(page)
    accept = next(one for one in app.button if one.label == "Take it as it is")
    click(app, str(accept.key))
    assert WORSE not in texts(app)
    assert len(workspace.library.questions.history(OWNER, measured.id)) == 2


def test_a_set_that_is_switched_to_it_is_measured_by_itself(
    workspace: ScriptableWorkspace, measured: QuestionSet
) -> None:
    app = open_page("retrieval_lab", view="Measure")
    app.toggle(key=f"repeats-{measured.id}").set_value(True).run()
    clear(workspace, 4)
    assert DUE not in texts(documents())
    settle(app)
    history = workspace.library.questions.history(OWNER, measured.id)
    assert len(history) == 2
    app.run()
    assert DUE not in texts(app)
    assert len(workspace.library.questions.history(OWNER, measured.id)) == 2, "once is enough"


@pytest.mark.parametrize(
    ("page", "address"),
    [("documents", {"collection": "Rooms"}), ("retrieval_lab", {"view": "Measure"})],
)
def test_a_measurement_that_ends_while_the_page_is_drawn_is_not_told_to_be_due(
    workspace: ScriptableWorkspace,
    measured: QuestionSet,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    address: dict[str, str],
) -> None:
    clear(workspace, 4)
    questions, may_end = workspace.library.questions, threading.Event()
    read = questions.courses
    due = read(OWNER, "Rooms")

    def measure_later(*given: Any) -> Measurement:
        may_end.wait()
        return measure(*given)

    monkeypatch.setattr("agentkit.retrieval.evaluation.measuring.measure", measure_later)
    run = workspace.measure_again(OWNER, due)

    def read_before_the_end(owner: str, collection: str = "") -> list[Course]:
        found = read(owner, collection)
        may_end.set()
        run.result()
        return found

    monkeypatch.setattr(questions, "courses", read_before_the_end)
    app = open_page(page, **address)
    assert DUE not in texts(app)


@pytest.mark.usefixtures("double_clicks")
def test_two_clicks_measure_once(workspace: ScriptableWorkspace, measured: QuestionSet) -> None:
    clear(workspace)
    app = documents()
    click(app, "measure-again")
    settle(app)
    assert len(workspace.library.questions.history(OWNER, measured.id)) == 2


@pytest.fixture
def tried(kitchen: ScriptableWorkspace) -> QuestionSet:
    """A team that answered two questions, and has a newer version since."""
    kitchen.script(*["Steeped at 80 degrees [1]."] * 4)
    first = kitchen.save_team(OWNER, drafts.retrieve_chat())
    questions = [Question(f"How hot is tea? {n}", {"tea.txt": 1}) for n in range(2)]
    made = kitchen.library.questions.create(OWNER, "Tea", "Kitchen", questions)
    kitchen.evaluate_team(OWNER, first.key, "Tea").result()
    changed = {**drafts.retrieve_chat(), "description": "Newer."}
    kitchen.save_team(OWNER, changed, first.id)
    return made


def test_a_newer_version_is_put_to_the_set_by_a_click_with_its_forecast(
    kitchen: ScriptableWorkspace, tried: QuestionSet
) -> None:
    app = open_page("usage")
    open_tab(app, "Quality")
    assert TRIED in texts(app)
    app = open_page("teams")
    shown = texts(app)
    assert "**RetrieveChat** on Tea: it has a newer version (2 calls of models, as in" in shown
    assert not runs.live(OWNER, kind=KIND), "nothing is paid for without a click"
    click(app, "evaluate-again")
    settle(app)
    assert TRIED not in texts(app)
    newest, first = kitchen.evaluations.history(OWNER)
    assert newest.began.team_id > first.began.team_id


@pytest.mark.usefixtures("double_clicks")
def test_two_clicks_try_once(kitchen: ScriptableWorkspace, tried: QuestionSet) -> None:
    app = open_page("teams")
    click(app, "evaluate-again")
    settle(app)
    assert len(kitchen.evaluations.history(OWNER)) == 2


def test_teams_are_asked_by_themselves_where_a_person_switched_it_on(
    kitchen: ScriptableWorkspace, tried: QuestionSet
) -> None:
    app = open_page("teams", show="Question sets", set="Tea")
    assert TRIED in texts(app)
    app.toggle(key=f"asks-teams-{tried.id}").set_value(True).run()
    settle(app)
    assert len(kitchen.evaluations.history(OWNER)) == 2
    assert TRIED not in texts(app)
    app.run()
    assert not runs.live(OWNER, kind=KIND)
