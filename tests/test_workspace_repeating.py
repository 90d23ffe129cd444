"""Finished answers that are run again from one of their steps: what is served, what is done anew,
what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError, NotFound, ReplayDiffers, WrongArgument
from agentkit.events import (
    Event,
    HumanInputRequested,
    ModelCalled,
    ModelReplied,
    RunStarted,
    StepDone,
    ToolReturned,
)
from agentkit.ledger import queries
from agentkit.llm import Model
from agentkit.messages import text_of
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams.planning_settings import Planning
from agentkit.teams.repeating import Repeat
from agentkit.workspace import Workspace
from agentkit.workspace.repeating import find_finished, find_step, select_served
from tests.servers.openai_server import Answer, OpenAIServer, tool_call

OWNER = "local"
TEA = "Green tea is steeped at 80 degrees.\n\nBlack tea is steeped at 95 degrees."
QUESTION = "How hot is green tea, and how hot is black tea?"
PLAN = """Plan: Look up green tea.
#E1 = search_documents[{"query": "green tea"}]
Plan: Read it.
#E2 = read_result[How many degrees? #E1]
Plan: Look up black tea.
#E3 = search_documents[{"query": "black tea"}]"""
TOOLS = '''from pathlib import Path


def book(place: str) -> str:
    """Book a ferry."""
    with Path({log!r}).open("a") as log:
        log.write(place + "\\n")
    return "booked for " + place
'''


def said(body: dict[str, Any]) -> str:
    return " ".join(text_of(one["content"]) for one in body["messages"])


def play_plan(body: dict[str, Any]) -> Answer:
    if "Show what was computed" in said(body):
        return Answer(f"By {body['model']}: 80 degrees [1].")
    return Answer("80") if "bare value or fact" in said(body) else Answer(PLAN)


def play_tools(body: dict[str, Any]) -> Answer:
    if body["messages"][-1]["role"] != "tool":
        return tool_call("book", place="Riga")
    return Answer(f"It is {text_of(body['messages'][-1]['content'])}.\nTERMINATE")


def play_group(body: dict[str, Any]) -> Answer:
    system = text_of(body["messages"][0]["content"])
    if "you are the researcher" in system:
        return Answer(f"{body['model']} says that green tea takes 80 degrees.")
    if "you are the critic" in system:
        return Answer(f"{body['model']} misses nothing.")
    return Answer("Green tea is steeped at 80 degrees.\n\n**TERMINATE**")


@dataclass
class Server:
    """Answers by a script and keeps what it was asked."""

    script: Callable[[dict[str, Any]], Answer]
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.bodies.append(body)
        return self.script(body)


class TwoModels(Workspace):
    """A workspace in which the server has another model, too."""

    def model(self, model_id: str = "") -> Model:
        if model_id != "other":
            return super().model(model_id)
        return replace(super().model(), id="other", name="other-model", label="other-model")


@dataclass
class Stage:
    """A workspace, and the server that its model asks."""

    workspace: Workspace
    server: OpenAIServer
    log: Path

    def play(self, script: Callable[[dict[str, Any]], Answer]) -> Server:
        played = self.server.script = Server(script)
        return played

    def ask(self, team: str, **facts: Any) -> Run[Any]:
        return self.workspace.ask(OWNER, QUESTION, collection="Kitchen", team_id=team, **facts)

    def events(self, run: Run[Any]) -> list[Event]:
        return [one.event for one in queries.events(self.workspace.ledger, OWNER, run.id)]

    def of(self, run: Run[Any], kind: type[Any]) -> list[Any]:
        return [one for one in self.events(run) if isinstance(one, kind)]


@pytest.fixture
def kitchen(tmp_path: Path) -> Iterator[Stage]:
    path, log, tools = tmp_path / "tea.txt", tmp_path / "log", tmp_path / "tools.py"
    path.write_text(TEA)
    tools.write_text(TOOLS.format(log=str(log)))
    with OpenAIServer(play_plan) as server:
        settings = Settings(
            tmp_path / "data",
            openai_base_url=server.base_url,
            openai_model="first-model",
            tools=str(tools),
        )
        workspace = TwoModels(settings, FakeEmbedder())
        sources = [Source("tea.txt", path, "upload:tea.txt")]
        workspace.ingest(OWNER, "Kitchen", sources).result()
        yield Stage(workspace, server, log)
        workspace.close()


def texts(replies: Sequence[ModelReplied]) -> list[str]:
    return [one.text for one in replies if one.purpose == "chat"]


def test_a_run_is_begun_from_a_step_with_another_model(kitchen: Stage) -> None:
    played = kitchen.play(play_group)
    first = kitchen.ask("group:round_robin")
    first.result()
    asked = len(played.bodies)
    assert asked >= 3
    played = kitchen.play(play_group)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, 2), model_id="other")
    again.result()
    assert {body["model"] for body in played.bodies} == {"other-model"}
    assert len(played.bodies) == asked - 1, "what was done before is not asked again"
    told = texts(kitchen.of(again, ModelReplied))
    assert told[0] == "first-model says that green tea takes 80 degrees."
    assert told[1] == "other-model misses nothing."
    replayed = [one.replayed for one in kitchen.of(again, ModelReplied) if one.purpose == "chat"]
    assert replayed == [True] + [False] * (asked - 1)
    (started,) = kitchen.of(again, RunStarted)
    assert (started.repeats, started.from_step, started.resumes) == (first.id, 2, "")
    assert again.result() is not None


def test_it_stands_beside_the_first_answer(kitchen: Stage) -> None:
    first = kitchen.ask("plan")
    first.result()
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, 3), model_id="other")
    assert again.chat_id == first.chat_id
    assert again.result().text == "By other-model: 80 degrees [1]."
    ledger = kitchen.workspace.ledger
    one, two = (ledger.find_run_messages(OWNER, run.id) for run in (first, again))
    assert one[0].parent_id == two[0].parent_id
    assert one[0].content == two[0].content == QUESTION
    assert one[-1].content == "By first-model: 80 degrees [1]."
    assert two[-1].extra["model"] == "other"
    assert two[0].extra["repeat"]["run_id"] == first.id


def test_an_edited_reply_is_what_the_others_go_on_with(kitchen: Stage) -> None:
    kitchen.play(play_group)
    first = kitchen.ask("group:round_robin")
    first.result()
    played = kitchen.play(play_group)
    repeat = Repeat(first.id, 1, reply="It takes 70 degrees.")
    again = kitchen.workspace.run_again(OWNER, repeat)
    again.result()
    assert texts(kitchen.of(again, ModelReplied))[0] == "It takes 70 degrees."
    assert "It takes 70 degrees." in said(played.bodies[0])
    assert "80 degrees" not in said(played.bodies[0])
    took = queries.of_messages(kitchen.workspace.ledger, OWNER, [again.message_id])
    assert took[again.message_id].calls >= len(played.bodies)


def test_other_instructions_hold_from_the_step_on(kitchen: Stage) -> None:
    kitchen.play(play_group)
    first = kitchen.ask("group:round_robin")
    first.result()
    played = kitchen.play(play_group)
    repeat = Repeat(first.id, 2, instructions="you are the critic, and very strict.")
    again = kitchen.workspace.run_again(OWNER, repeat)
    again.result()
    assert text_of(played.bodies[0]["messages"][0]["content"]) == repeat.instructions
    # and from that run once more, from a later step: they still hold for what comes after
    played = kitchen.play(play_group)
    once_more = kitchen.workspace.run_again(OWNER, Repeat(again.id, 3))
    once_more.result()
    assert len(played.bodies) >= 1
    others = [text_of(body["messages"][0]["content"]) for body in played.bodies]
    assert repeat.instructions not in others[:1]


def test_without_a_system_message_the_prompt_is_what_is_changed(kitchen: Stage) -> None:
    first = kitchen.ask("plan")
    first.result()
    played = kitchen.play(play_plan)
    repeat = Repeat(first.id, 3, instructions="Show what was computed. Say it in one word.")
    kitchen.workspace.run_again(OWNER, repeat).result()
    (body,) = played.bodies
    assert text_of(body["messages"][-1]["content"]) == repeat.instructions


def test_a_difference_before_the_step_stops_it_and_says_how(kitchen: Stage) -> None:
    first = kitchen.ask("plan")
    first.result()
    played = kitchen.play(play_plan)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, 3), planning=Planning(most_steps=9))
    with pytest.raises(ReplayDiffers, match="Planner would be asked something else now than in"):
        again.result()
    assert played.bodies == []
    thread = kitchen.workspace.ledger.thread(OWNER, first.chat_id or "")
    assert thread[-1].content == "By first-model: 80 degrees [1]."


def wait_for_question(run: Run[Any]) -> HumanInputRequested:
    for recorded in run:
        if isinstance(recorded.event, HumanInputRequested):
            while run.waiting_for is None:
                run.wait(0.01)
            return recorded.event
    raise AssertionError("the run ended without asking")


def test_what_may_change_something_is_asked_about_again(kitchen: Stage) -> None:
    kitchen.play(play_tools)
    first = kitchen.ask("tools")
    first.answer("always", wait_for_question(first).request_id)
    assert first.result().text == "It is booked for Riga."
    kitchen.play(play_tools)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, 1))
    again.answer("reject", wait_for_question(again).request_id)
    again.result()
    assert kitchen.log.read_text().split() == ["Riga"], "it was not done by itself"
    served = kitchen.workspace.run_again(OWNER, Repeat(first.id, 2))
    assert served.result().text == "It is booked for Riga."
    assert kitchen.log.read_text().split() == ["Riga"], "what was done before is served"
    assert [one.content for one in kitchen.of(served, ToolReturned)] == ["booked for Riga"]


def test_a_tool_that_is_gone_is_told(kitchen: Stage) -> None:
    kitchen.play(play_tools)
    first = kitchen.ask("tools")
    first.answer("always", wait_for_question(first).request_id)
    first.result()
    tools = kitchen.log.with_name("tools.py")
    tools.write_text(tools.read_text().replace("book", "reserve"))
    played = kitchen.play(play_tools)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, 2))
    with pytest.raises(ReplayDiffers, match=r"at its model call 1: .* but not the tools") as told:
        again.result()
    calls = kitchen.of(first, ModelCalled)
    assert told.value.call_id == calls[0].call_id
    assert played.bodies == []


def test_a_step_of_a_plan_is_done_again_and_the_others_are_served(kitchen: Stage) -> None:
    first = kitchen.ask("plan")
    first.result()
    played = kitchen.play(play_plan)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, label="#E2"))
    again.result()
    agents = [one.agent for one in kitchen.of(again, ModelReplied) if not one.replayed]
    assert agents == ["Reader", "Solver"]
    assert len(played.bodies) == 2
    assert sorted(one.label for one in kitchen.of(again, StepDone)) == ["#E1", "#E2", "#E3"]
    (started,) = kitchen.of(again, RunStarted)
    assert (started.repeats, started.from_step) == (first.id, 0)


def test_what_depends_on_a_step_is_done_again_where_that_gives_something_else(
    kitchen: Stage,
) -> None:
    first = kitchen.ask("plan")
    first.result()

    def play(body: dict[str, Any]) -> Answer:
        return Answer("81") if "bare value or fact" in said(body) else play_plan(body)

    kitchen.play(play)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, label="#E2"))
    again.result()
    done = {one.label: one.evidence for one in kitchen.of(again, StepDone)}
    assert done["#E2"] == "81"


def test_a_plan_that_was_agreed_to_is_not_asked_about_again(kitchen: Stage) -> None:
    first = kitchen.ask("plan", planning=Planning(seen_first=True))
    first.answer("approve", wait_for_question(first).request_id)
    first.result()
    kitchen.play(play_plan)
    again = kitchen.workspace.run_again(OWNER, Repeat(first.id, 3))
    again.result()
    assert len(kitchen.of(again, HumanInputRequested)) == 1


def test_what_cannot_be_run_again_is_told(kitchen: Stage) -> None:
    workspace = kitchen.workspace
    first = kitchen.ask("plan")
    first.result()
    with pytest.raises(ConfigError, match="has 3 model calls"):
        workspace.run_again(OWNER, Repeat(first.id, 9))
    with pytest.raises(ConfigError, match="did no step #E9"):
        workspace.run_again(OWNER, Repeat(first.id, label="#E9"))
    with pytest.raises(NotFound):
        workspace.run_again(OWNER, Repeat("no-such-run", 1))
    with pytest.raises(NotFound):
        workspace.run_again("somebody else", Repeat(first.id, 1))
    workspace.ledger.database.execute(
        'update events set data = json_merge_patch(data, \'{"asked": ""}\')'
        " where run_id = ? and kind = 'ModelReplied'",
        [first.id],
    )
    with pytest.raises(ConfigError, match="noted too little"):
        workspace.run_again(OWNER, Repeat(first.id, 3))
    for wrong in ({}, {"from_step": 1, "label": "#E1"}, {"from_step": -1}):
        with pytest.raises(WrongArgument):
            Repeat(first.id, **wrong)
    with pytest.raises(WrongArgument):
        Repeat(first.id, label="#E1", reply="no")


def test_a_call_is_found_by_its_id(kitchen: Stage) -> None:
    first = kitchen.ask("plan")
    first.result()
    finished = find_finished(kitchen.workspace.ledger, OWNER, first.id)
    calls = [one for one in finished.events if isinstance(one, ModelCalled)]
    wanted = [one for one in calls if one.purpose == "chat"]
    assert [find_step(finished.events, one.call_id) for one in wanted] == [1, 2, 3]
    with pytest.raises(NotFound):
        find_step(finished.events, "no-such-call")
    assert not [
        one
        for one in select_served(finished.events, Repeat(first.id, 1), lambda call_id: ())
        if isinstance(one, ModelReplied) and one.purpose == "chat"
    ]
