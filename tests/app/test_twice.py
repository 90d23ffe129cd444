"""Buttons that are clicked twice before the page is drawn anew begin what they begin once."""

from __future__ import annotations

import pytest

from agentkit.events import DocumentDone
from agentkit.ledger import sides
from agentkit.retrieval.store.questions import Question
from agentkit.runs import Run
from agentkit.workspace.question_sets import drafting
from tests.app import test_plan_first
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle
from tests.app.test_compare import open_repeat
from tests.app.test_evaluations import open_view
from tests.app.test_teams import document_of, open_form, unfold
from tests.teams.built import drafts

QUESTIONS = [Question("How hot is green tea?", {"tea.txt": 1})]


def began(workspace: ScriptableWorkspace, kind: str) -> int:
    return len(workspace.figures.runs(OWNER, kind=kind))


@pytest.mark.usefixtures("double_clicks")
class TestTwice:
    def test_a_question_to_begin_with(self, kitchen: ScriptableWorkspace) -> None:
        there = kitchen.library.collection(OWNER, "Kitchen")
        kitchen.ledger.set(OWNER, "", "starters", {there.id: [QUESTIONS[0].text]})
        for chats in (1, 2):  # the second one on purpose
            app = open_page("chat")
            app.button(key=f"ask-{QUESTIONS[0].text}").click().run()
            settle(app)
            assert len(kitchen.ledger.chats(OWNER)) == began(kitchen, "chat") == chats

    def test_the_samples(
        self, workspace: ScriptableWorkspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        load = workspace.ingest_samples

        def load_and_count(owner: str) -> Run[list[DocumentDone]]:
            asked.append(owner)
            return load(owner)

        monkeypatch.setattr(workspace, "ingest_samples", load_and_count)
        app = open_page("chat")
        app.button(key="load-samples").click().run()
        settle(app)
        assert asked == [OWNER]

    def test_an_answer_that_is_run_again(self, kitchen: ScriptableWorkspace) -> None:
        app, run_id, _ = open_repeat(kitchen)
        (form,) = [one for one in app.button if one.label == "Run again"]
        form.click().run()
        settle(app)
        assert len(sides.find_repeats(kitchen.ledger, OWNER, run_id)) == 1
        problem = f"again-problem-{run_id}"  # that the chat is answering already
        assert problem not in app.session_state

    def test_questions_that_are_drafted(self, kitchen: ScriptableWorkspace) -> None:
        kitchen.script("How hot is green tea?", "How hot is it?")
        app = open_page("retrieval_lab", view="Measure", collection="Kitchen")
        app.button(key="draft-questions").click().run()
        settle(app)
        assert began(kitchen, drafting.KIND) == 1

    def test_a_set_that_is_put_to_a_team(self, kitchen: ScriptableWorkspace) -> None:
        kitchen.library.questions.create(OWNER, "Tea", "Kitchen", QUESTIONS)
        app = open_view("Question sets")
        for _ in range(2):  # as it is done on purpose
            app.button(key="put-set").click().run()
            settle(app)
        assert len(kitchen.evaluations.history(OWNER)) == 2

    def test_a_set_that_is_measured(self, kitchen: ScriptableWorkspace) -> None:
        made = kitchen.library.questions.create(OWNER, "Tea", "Kitchen", QUESTIONS)
        app = open_page("retrieval_lab", view="Measure", set="Tea")
        app.button(key="measure").click().run()
        settle(app)
        assert len(kitchen.library.questions.history(OWNER, made.id)) == 1

    def test_a_question_for_two_teams(self, kitchen: ScriptableWorkspace) -> None:
        app = open_view("Side by side")
        app.button(key="ask-both").click().run()
        settle(app)
        assert began(kitchen, "try") == 2

    def test_an_agent_that_is_taken_out(self, kitchen: ScriptableWorkspace) -> None:
        document = drafts.group()
        app, team_id = open_form(document)
        unfold(app, team_id, 0)
        app.button(key=f"team-{team_id}-0-move-drop-agents-0").click().run()
        left = document_of(kitchen, team_id)["agents"]
        assert [one["name"] for one in left] == [one["name"] for one in document["agents"][1:]]

    def test_a_team_that_is_tried(self, kitchen: ScriptableWorkspace) -> None:
        app, team_id = open_form(drafts.retrieve_chat())
        for _ in range(2):
            app.button(key=f"team-{team_id}-try-go").click().run()
            settle(app)
        assert began(kitchen, "try") == 2


def test_a_step_of_a_plan_that_is_dropped(
    kitchen: ScriptableWorkspace, request: pytest.FixtureRequest
) -> None:
    app, run, _ = test_plan_first.begin(kitchen, test_plan_first.PLAN, "Thirty.")
    request.getfixturevalue("double_clicks")
    app.button(key=test_plan_first.keys(app, "drop")[0]).click().run()
    assert test_plan_first.fields(app, "arguments") == ["80 / 2"]
    run.stop()
    settle(app)
