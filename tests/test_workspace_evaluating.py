"""Question sets that are put to teams: scored, stored, stopped, interrupted, forecast."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import ConfigError, NotFound, WrongArgument
from agentkit.events import QuestionBegan, TokenDelta
from agentkit.ledger import queries
from agentkit.ledger.evaluations.results import Evaluation, measure_score
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.store import utc_now
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.store.questions import Question
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams.built.calls import estimate_calls
from agentkit.teams.built.document import read_document
from agentkit.workspace import Workspace
from agentkit.workspace.evaluating import KIND_OF_ONE
from tests.api.doors import WHERE, opened
from tests.servers.openai_server import Answer, OpenAIServer, tool_call
from tests.teams.built import drafts

RIVER = "The Danube is 2,850 kilometres long."
TEA = "Green tea is steeped at 80 degrees."
SET = "Things to know"
QUESTIONS = [
    Question("How long is the Danube?", {"river.txt": 1}),
    Question("How hot is tea?", {"tea.txt": 1}),
    Question("What breaks?", {"tea.txt": 1}),
    Question("Who is king?", {"river.txt": 1}),
]


def speak(body: dict[str, Any]) -> Answer:
    """Right for the first question, wrong for the second, none for the others."""
    text = "\n".join(text_of(one.get("content")) for one in body["messages"])
    if "What breaks?" in text:
        return Answer(status=400, error={"message": "it broke", "type": "invalid_request_error"})
    if "Who is king?" in text:
        return Answer("UPDATE CONTEXT")
    river = next(one for one in parse_passages(text) if "Danube" in one.text)
    return Answer(f"So it is written [{river.marker}].")


@pytest.fixture
def settings(tmp_path: Path, owner: str, server: OpenAIServer) -> Iterator[Settings]:
    server.script = speak
    yield Settings(
        data=tmp_path / "data",
        owner=owner,
        openai_base_url=server.base_url,
        openai_model="test-model",
    )
    server.go_on.clear()


@pytest.fixture(params=WHERE)
def workspace(
    tmp_path: Path, settings: Settings, request: pytest.FixtureRequest
) -> Iterator[Workspace]:
    with opened(settings, FakeEmbedder(), request.param) as workspace:
        fill(workspace, tmp_path)
        yield workspace


def fill(workspace: Workspace, folder: Path) -> None:
    """Two documents and the questions about them."""
    owner = workspace.settings.owner
    for name, text in {"river.txt": RIVER, "tea.txt": TEA}.items():
        path = folder / name
        path.write_text(text)
        workspace.ingest(owner, "Documents", [Source(name, path, f"upload:{name}")]).result()
    workspace.library.questions.create(owner, SET, "Documents", QUESTIONS)


def save(workspace: Workspace, document: dict[str, Any]) -> str:
    return workspace.save_team(workspace.settings.owner, document).key


def test_a_set_is_put_to_a_team_and_scored(workspace: Workspace, owner: str) -> None:
    team = save(workspace, drafts.retrieve_chat())
    found = workspace.evaluate_team(owner, team, SET).result()
    right, wrong, broken, unknown = found.results
    assert (found.state, found.is_whole, found.began.team_id) == ("finished", True, team)
    assert (right.cited, measure_score(right)) == ({"river.txt": 1}, 1.0)
    assert (wrong.cited, measure_score(wrong)) == ({"river.txt": 1}, 0.0)
    assert broken.status == "failed"
    assert "it broke" in broken.error
    assert unknown.end in ("no evidence", "no passages", "passages", "answered")
    assert unknown.updates >= 1
    sums = found.sums
    assert (sums.asked, sums.failed, sums.cited, sums.right) == (4, 1, 2, 1)
    assert right.calls == 1
    assert right.input_tokens > 0 < right.output_tokens
    assert right.seconds > 0

    [run] = workspace.figures.runs(owner, kind="evaluation")
    assert (run.state, run.team) == ("finished", team)
    alone = workspace.figures.runs(owner, kind=KIND_OF_ONE)
    assert {one.id for one in alone} == {one.run_id for one in found.results}
    assert sum(one.tokens for one in alone) >= sums.input_tokens + sums.output_tokens
    assert workspace.ledger.chats(owner) == []


def test_evaluations_are_kept_by_set_and_team(workspace: Workspace, owner: str) -> None:
    first = save(workspace, drafts.retrieve_chat())
    changed = {**drafts.retrieve_chat(), "description": "Newer."}
    second = workspace.save_team(owner, changed, first.partition(":")[0]).key
    done = [workspace.evaluate_team(owner, key, SET).result() for key in (first, second, "answer")]
    history = workspace.evaluations.history(owner)
    assert [one.run_id for one in history] == [one.run_id for one in reversed(done)]
    of_team = workspace.evaluations.history(owner, team_id=second)
    assert [one.began.team_id for one in of_team] == [second, first]
    assert workspace.evaluations.one(owner, done[0].run_id).results == done[0].results
    assert workspace.evaluations.history("somebody else") == []
    assert workspace.evaluations.history(owner, "another set") == []
    with pytest.raises(NotFound):
        workspace.evaluations.one("somebody else", done[0].run_id)


def halt(server: OpenAIServer, question: str = "", after: int = 0) -> None:
    """Let the replies to a question (or to all) wait, after so many words, until the server is
    told to go on.
    """

    def script(body: dict[str, Any]) -> Answer:
        answer = speak(body)
        return replace(answer, halt_after=after) if question in json.dumps(body) else answer

    server.script = script


def until_asked(server: OpenAIServer, number: int) -> None:
    """Wait until so many requests are in."""
    for _ in range(6_000):
        if len(server.chats) >= number:
            return
        time.sleep(0.01)
    raise AssertionError("the model was not asked")


def count_together(runs: Sequence[RunTotals]) -> int:
    """How many of the runs went on at the same time, at most."""
    return max(
        sum(one.started_at <= other.started_at < (one.finished_at or utc_now()) for one in runs)
        for other in runs
    )


def test_no_more_than_asked_for_are_answered_at_the_same_time(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    halt(server)
    run = workspace.evaluate_team(owner, save(workspace, drafts.cited_answer()), SET, at_once=2)
    until_asked(server, 2)
    server.go_on.set()
    assert len(run.result().results) == 4
    assert count_together(workspace.figures.runs(owner, kind=KIND_OF_ONE)) == 2


def stop_early(workspace: Workspace, owner: str, server: OpenAIServer) -> Run[Evaluation]:
    """Put the set to a team, and stop while the second question is asked."""
    halt(server, "How hot is tea?")
    run = workspace.evaluate_team(owner, save(workspace, drafts.retrieve_chat()), SET, at_once=1)
    until_asked(server, 2)
    run.stop()
    assert run.wait(60)
    return run


def test_what_was_answered_before_a_stop_is_kept(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    run = stop_early(workspace, owner, server)
    found = workspace.evaluations.one(owner, run.id)
    assert (found.state, found.is_whole) == ("stopped", False)
    assert [one.question for one in found.results] == ["How long is the Danube?"]


def test_half_an_answer_is_not_kept_as_one(
    settings: Settings, tmp_path: Path, owner: str, server: OpenAIServer
) -> None:
    halt(server, "How hot is tea?", after=3)
    with opened(settings, FakeEmbedder(), "here") as workspace:
        fill(workspace, tmp_path)
        team = save(workspace, drafts.cited_answer())
        run = workspace.evaluate_team(owner, team, SET, at_once=1)
        began = (one.event for one in run if isinstance(one.event, QuestionBegan))
        second = next(one.run_id for one in began if one.number == 2)
        assert any(isinstance(one.event, TokenDelta) for one in runs.get(second, owner))
        run.stop()
        stopped = run.result()
        assert [one.question for one in stopped.results] == ["How long is the Danube?"]
        server.script = speak
        gone_on = workspace.resume_evaluation(owner, run.id).result()
        assert [one.question for one in gone_on.results] == [one.text for one in QUESTIONS]
        assert gone_on.results[1].answer.startswith("So it is written [")
        assert gone_on.results[1].end == "answered"


def test_what_was_answered_before_a_restart_is_kept(
    settings: Settings, tmp_path: Path, owner: str, server: OpenAIServer
) -> None:
    halt(server, "How hot is tea?")
    with opened(settings, FakeEmbedder(), "here") as workspace:
        fill(workspace, tmp_path)
        team = save(workspace, drafts.retrieve_chat())
        run = workspace.evaluate_team(owner, team, SET, at_once=1)
        until_asked(server, 2)
    with opened(settings, FakeEmbedder(), "here") as workspace:
        found = workspace.evaluations.one(owner, run.id)
        assert found.state == "interrupted"
        assert [one.question for one in found.results] == ["How long is the Danube?"]


def speak_twice(body: dict[str, Any]) -> Answer:
    """What the two conversations of a queue say."""
    asked = body["messages"][0]["content"] + body["messages"][-1]["content"]
    return Answer("It is short." if "hot is tea" in asked else "It is long.")


def is_second_call(body: dict[str, Any]) -> bool:
    """Whether it is the other conversation about tea, which is told what came of the first."""
    return "It is short." in json.dumps(body)


@pytest.mark.parametrize("how", ["restart", "stop"])
def test_an_evaluation_goes_on_without_paying_twice(
    settings: Settings, tmp_path: Path, owner: str, server: OpenAIServer, how: str
) -> None:
    """Its first question was answered, its second had made one of two calls."""

    def script(body: dict[str, Any]) -> Answer:
        answer = speak_twice(body)
        return replace(answer, halt_after=0) if is_second_call(body) else answer

    server.script = script
    with opened(settings, FakeEmbedder(), "here") as workspace:
        fill(workspace, tmp_path)
        team = save(workspace, drafts.queue())
        run = workspace.evaluate_team(owner, team, SET, at_once=1)
        until_asked(server, 4)
        with pytest.raises(ConfigError, match="goes on still"):
            workspace.resume_evaluation(owner, run.id)
        if how == "stop":
            run.stop()
            assert run.wait(60)
    server.script = speak_twice
    with opened(settings, FakeEmbedder(), "here") as workspace:
        left = workspace.evaluations.one(owner, run.id)
        assert (left.is_whole, len(left.results)) == (False, 1)
        found = workspace.resume_evaluation(owner, run.id).result()
        assert (found.state, found.is_whole, found.results[0]) == (
            "finished",
            True,
            left.results[0],
        )
        assert len(server.chats) == 2 * len(QUESTIONS) + 1  # the call that nobody replied to
        assert [one.calls for one in found.results] == [2, 3, 2, 2]
        assert [one.run_id for one in workspace.evaluations.history(owner)] == [found.run_id]
        _, second, *_ = found.results
        assert queries.find_resumed(workspace.ledger, owner, second.run_id)
        for run_id in (run.id, found.run_id):
            with pytest.raises(ConfigError, match=r"already|All questions"):
                workspace.resume_evaluation(owner, run_id)


def test_a_set_that_has_changed_is_not_gone_on_with(
    workspace: Workspace, owner: str, server: OpenAIServer
) -> None:
    run = stop_early(workspace, owner, server)
    [known] = workspace.library.questions.sets(owner)
    workspace.library.questions.replace_questions(owner, known.id, QUESTIONS[1:])
    with pytest.raises(ConfigError, match="has changed since then"):
        workspace.resume_evaluation(owner, run.id)


BOOK = '''
def book(place: str) -> str:
    """Book a table."""
    raise SystemExit("it ran")
'''


def test_nobody_is_waited_for(
    settings: Settings, tmp_path: Path, owner: str, server: OpenAIServer
) -> None:
    """What has to be approved is not run, and the question comes to its end."""
    asked = tool_call("book", place="a window")
    server.script = lambda body: Answer("Full.") if len(body["messages"]) > 3 else asked
    tools = tmp_path / "tools.py"
    tools.write_text(BOOK)
    with opened(replace(settings, tools=str(tools)), FakeEmbedder(), "here") as workspace:
        fill(workspace, tmp_path)
        team = save(workspace, drafts.single(tools=[{"name": "book"}]))
        found = workspace.evaluate_team(owner, team, SET).result()
        assert [(one.status, one.asked, one.answer) for one in found.results] == [
            ("ok", 1, "Full.")
        ] * 4


@pytest.mark.parametrize(
    ("changed", "error", "told"),
    [
        ({"set_name": "None such"}, NotFound, "no question set"),
        ({"team_id": "my-none"}, NotFound, "no team"),
        ({"collection": "Nowhere"}, NotFound, "Nowhere"),
        ({"at_once": 0}, WrongArgument, "choose from 1"),
        ({"model_id": "none/such"}, NotFound, "none/such"),
        ({"set_name": "Empty"}, ConfigError, "has no questions"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_runs(
    workspace: Workspace, owner: str, changed: dict[str, Any], error: type[Exception], told: str
) -> None:
    workspace.library.questions.create(owner, "Empty", "Documents", ())
    with pytest.raises(error, match=told):
        workspace.evaluate_team(owner, **{"team_id": "answer", "set_name": SET, **changed})
    assert workspace.figures.runs(owner, kind="evaluation") == []


def test_the_number_of_calls_is_forecast(workspace: Workspace, owner: str) -> None:
    team = save(workspace, drafts.retrieve_chat())
    before = workspace.forecast_evaluation(owner, team, SET)
    assert (before.calls, before.basis) == ((4, 80), "team")
    found: Evaluation = workspace.evaluate_team(owner, team, SET).result()
    taken = [one.calls for one in found.results if one.status == "ok"]
    after = workspace.forecast_evaluation(owner, team, SET)
    assert (after.each, after.basis) == ((min(taken), max(taken)), "earlier")
    with pytest.raises(NotFound):
        workspace.forecast_evaluation(owner, "my-none", SET)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (drafts.single(), (1, 12)),
        (drafts.pair(max_turns=5), (1, 5)),
        (drafts.group(max_round=7), (1, 7)),
        (drafts.queue(), (2, 2)),
        (drafts.cited_answer(), (1, 1)),
        (drafts.research(), (2, 2)),
    ],
)
def test_limits_of_a_team_say_how_many_calls_it_makes(
    document: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert estimate_calls(read_document(document)) == expected
