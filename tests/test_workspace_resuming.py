"""Answers whose process ended are gone on with: to the same end, with nothing done twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentkit import runs
from agentkit.coding.chat_kernel.kernel import is_available
from agentkit.errors import ConfigError, NotFound, ReplayDiffers, StoreError
from agentkit.events import (
    CodeRan,
    HumanInputRequested,
    ModelReplied,
    RunStarted,
    TokenDelta,
    ToolReturned,
)
from agentkit.ledger import queries
from agentkit.ledger.queries import CallFilter
from agentkit.llm.calls.wishes import Parameters
from agentkit.messages import text_of
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.retrieval.full_disk import at_most
from tests.servers.openai_server import Answer, OpenAIServer, tool_call

OWNER = "local"
TEA = "Green tea is steeped at 80 degrees.\n\nBlack tea is steeped at 95 degrees."
QUESTION = "How hot is green tea, and how hot is black tea?"
PLAN = """Plan: Look up green tea.
#E1 = search_documents[{"query": "green tea"}]
Plan: Look up black tea.
#E2 = search_documents[{"query": "black tea"}]"""
Script = Callable[[dict[str, Any]], Answer]


def last_role(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["role"])


def search_first(body: dict[str, Any]) -> Answer:
    if last_role(body) == "tool":
        return Answer("Green tea is steeped at 80 degrees [1].\nTERMINATE")
    return tool_call("search_documents", query="green tea")


def play_roles(body: dict[str, Any]) -> Answer:
    """The group of three: whoever is asked to choose a speaker goes by the order of the roles."""
    system = text_of(body["messages"][0]["content"])
    if "you are the researcher" in system:
        return (
            search_first(body)
            if last_role(body) == "tool"
            else tool_call("search_documents", query="green tea")
        )
    if "you are the critic" in system:
        return Answer("Nothing is missing.")
    if "you are the writer" in system:
        return Answer("Green tea is steeped at 80 degrees [1].\n\n**TERMINATE**")
    said = " ".join(text_of(one["content"]) for one in body["messages"])
    if "80 degrees [1]" not in said:
        return Answer("Researcher")
    return Answer("Writer" if "Nothing is missing" in said else "Critic")


def plan(body: dict[str, Any]) -> Answer:
    prompt = " ".join(text_of(one["content"]) for one in body["messages"])
    if "Show what was computed" in prompt:
        return Answer("Green tea is steeped at 80 degrees [1].")
    return Answer(PLAN)


def research(body: dict[str, Any]) -> Answer:
    if "80 degrees" in str(body["messages"]):
        return Answer("Green tea is steeped at 80 degrees [1].")
    return Answer("- How hot is green tea?\n- How hot is black tea?")


def quote(body: dict[str, Any]) -> Answer:
    return Answer("Green tea is steeped at 80 degrees [1].")


SCRIPTS: dict[str, Script] = {
    "answer": quote,
    "assistant": search_first,
    "tools": search_first,
    "research": research,
    "plan": plan,
    "group:auto": play_roles,
    "group:round_robin": play_roles,
    "group:random": play_roles,
}


@dataclass
class Server:
    """Answers by a script, and halts at one request until it is let go on."""

    script: Script
    halt_at: int = 0
    halted: threading.Event = field(default_factory=threading.Event)
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.bodies.append(body)
        if len(self.bodies) == self.halt_at:
            self.halted.set()
            return Answer("Green tea, never said", halt_after=2)
        return self.script(body)

    def counts(self) -> Counter[str]:
        """How often each request came."""
        return Counter(json.dumps(body, sort_keys=True) for body in self.bodies)


@dataclass
class Stage:
    """A data folder and a server."""

    settings: Settings
    server: OpenAIServer

    def open(self, **changes: Any) -> Workspace:
        return Workspace(replace(self.settings, **changes), FakeEmbedder())

    def play(self, script: Script, halt_at: int = 0) -> Server:
        self.server.go_on.clear()
        played = self.server.script = Server(script, halt_at)
        return played


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    path = tmp_path / "tea.txt"
    path.write_text(TEA)
    with OpenAIServer(quote) as server:
        made = Stage(
            Settings(tmp_path / "data", openai_base_url=server.base_url, openai_model="test-model"),
            server,
        )
        workspace = made.open()
        workspace.ingest(OWNER, "Kitchen", [Source("tea.txt", path, "upload:tea.txt")]).result()
        workspace.close()
        yield made
        server.go_on.set()


def has_begun(run: Run[Any]) -> bool:
    """Whether the text at which the server halts has come."""
    deltas = [one.event for one in run.events() if isinstance(one.event, TokenDelta)]
    return any(one.text.endswith("tea,") for one in deltas)


def begin(stage: Stage, team: str, halt_at: int, **changes: Any) -> tuple[str, str]:
    """Ask, and close the app while the server halts; gives the chat's and the run's id."""
    played = stage.play(SCRIPTS[team], halt_at)
    workspace = stage.open(**changes)
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen", team_id=team)
    assert played.halted.wait(60)
    while played.bodies[-1].get("stream") and not has_begun(run):
        run.wait(0.01)
    workspace.close()
    stage.server.go_on.set()
    return run.chat_id or "", run.id


def test_an_answer_goes_on_with_what_it_was_asked_with(stage: Stage) -> None:
    played = stage.play(SCRIPTS["assistant"], 2)
    workspace = stage.open()
    wished = Parameters(temperature=0.2, seed=7)
    run = workspace.ask(
        OWNER,
        QUESTION,
        collection="Kitchen",
        team_id="assistant",
        instructions="Answer in French.",
        parameters=wished,
    )
    assert played.halted.wait(60)
    while not has_begun(run):
        run.wait(0.01)
    workspace.close()
    stage.server.go_on.set()

    after = stage.play(SCRIPTS["assistant"])
    workspace = stage.open()
    workspace.resume(OWNER, run.id).result()
    workspace.close()
    assert after.bodies == played.bodies[1:], "the first is served, the second the same again"
    assert (after.bodies[0]["seed"], after.bodies[0]["temperature"]) == (7, 0.2)
    assert "Answer in French." in str(after.bodies[0]["messages"][0])


def events_of(workspace: Workspace, run: Run[Any], kind: type[Any]) -> list[Any]:
    return [
        one.event for one in workspace.figures.events(OWNER, run.id) if isinstance(one.event, kind)
    ]


CUTS = [
    ("answer", 1),
    *[(team, at) for team in ("assistant", "tools", "research", "plan") for at in (1, 2)],
    *[(f"group:{how}", at) for how in ("auto", "round_robin") for at in (1, 2, 3, 4)],
    ("group:random", 1),
]


@pytest.mark.parametrize(("team", "halt_at"), CUTS)
def test_a_cut_answer_goes_on_to_the_same_end(stage: Stage, team: str, halt_at: int) -> None:
    played = stage.play(SCRIPTS[team])
    workspace = stage.open()
    whole = workspace.ask(OWNER, QUESTION, collection="Kitchen", team_id=team).result()
    undisturbed = len(played.bodies)
    workspace.close()
    assert halt_at <= undisturbed

    chat_id, broken = begin(stage, team, halt_at)
    before = stage.server.script
    assert isinstance(before, Server)
    workspace = stage.open()
    assert workspace.ledger.thread(OWNER, chat_id)[0].content == QUESTION
    after = stage.play(SCRIPTS[team])
    run = workspace.resume(OWNER, broken)
    answer = run.result()
    if team != "group:random":
        assert (answer.text, answer.citations) == (whole.text, whole.citations)
        assert len(before.bodies) + len(after.bodies) == undisturbed + 1  # the cut one, once more
        assert answer.citations
    asked_twice = [body for body, times in (before.counts() + after.counts()).items() if times > 1]
    assert len(asked_twice) == 1
    assert asked_twice[0] == json.dumps(before.bodies[-1], sort_keys=True)

    thread = workspace.ledger.thread(OWNER, chat_id)
    assert [one.status for one in thread] == ["complete"] * len(thread)
    assert [one.content for one in thread if one.role == "user" and not one.extra.get("inner")] == [
        QUESTION
    ]
    kept = workspace.ledger.find_run_messages(OWNER, broken)
    assert not kept  # the new messages stand in their place
    assert queries.run_state(workspace.ledger, OWNER, broken).state == "continued"
    assert queries.find_resumed(workspace.ledger, OWNER, run.id) == broken
    workspace.close()


FINAL = {"answer": 1, "tools": 2, "plan": 2, "research": 2, "group:round_robin": 4}
"""Which request is for the final answer."""


@pytest.mark.parametrize("team", FINAL)
def test_killed_while_the_answer_streams_each_completed_call_is_made_once(
    stage: Stage, team: str, tmp_path: Path
) -> None:
    before = stage.play(SCRIPTS[team], FINAL[team])
    given = [str(stage.settings.data), stage.server.base_url, str(tmp_path / "tea.txt"), "tea,"]
    command = [sys.executable, "-m", "tests.kill_child", *given, team]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert killed.returncode == -9, killed.stderr
    stage.server.go_on.set()
    workspace = stage.open()
    (chat,) = workspace.ledger.chats(OWNER)
    broken = workspace.ledger.thread(OWNER, chat.id)[-1]
    assert (broken.status, broken.content.startswith("Green tea")) == ("interrupted", True)
    after = stage.play(SCRIPTS[team])
    answer = workspace.resume(OWNER, str(broken.run_id)).result()
    assert answer.text == "Green tea is steeped at 80 degrees [1]."
    counts = before.counts() + after.counts()
    cut = json.dumps(before.bodies[-1], sort_keys=True)
    assert len(before.bodies) == FINAL[team]
    assert [body for body, times in counts.items() if times > 1] == [cut]
    thread = workspace.ledger.thread(OWNER, chat.id)
    assert [one.status for one in thread] == ["complete"] * len(thread)
    workspace.close()


@pytest.mark.parametrize("team", ["assistant", "group:round_robin"])
def test_what_was_paid_for_is_counted_once(stage: Stage, team: str) -> None:
    chat_id, broken = begin(stage, team, 2)
    workspace = stage.open()
    stage.play(SCRIPTS[team])
    run = workspace.resume(OWNER, broken)
    run.result()
    replies = events_of(workspace, run, ModelReplied)
    assert [one.replayed for one in replies if one.purpose == "chat"][:2] == [True, False]
    of_chat = queries.totals(workspace.ledger, CallFilter(OWNER, chat=chat_id, purpose="chat"))
    of_answer = queries.of_messages(workspace.ledger, OWNER, [run.message_id])[run.message_id]
    assert (
        of_chat.calls == len([one for one in replies if one.purpose == "chat"]) + 1
    )  # the cut one
    assert of_answer.calls >= of_chat.calls
    (row,) = [one for one in workspace.figures.runs(OWNER, kind="chat") if one.id == run.id]
    assert row.calls == of_answer.calls
    workspace.close()


def test_an_answer_is_gone_on_with_after_a_second_death(stage: Stage) -> None:
    _, broken = begin(stage, "group:round_robin", 2)
    workspace = stage.open()
    again = stage.play(play_roles, halt_at=2)
    run = workspace.resume(OWNER, broken)
    assert again.halted.wait(60)
    workspace.close()
    workspace = stage.open()
    last = stage.play(play_roles)
    answer = workspace.resume(OWNER, run.id).result()
    assert answer.text == "Green tea is steeped at 80 degrees [1]."
    assert len(last.bodies) == 2  # the cut one, and the last
    with pytest.raises(ConfigError, match="did not break off"):
        workspace.resume(OWNER, broken)
    workspace.close()


def test_with_the_setting_it_goes_on_by_itself_once(stage: Stage) -> None:
    chat_id, broken = begin(stage, "assistant", 2)
    workspace = stage.open()
    assert workspace.resume_left() == []  # by default nothing does
    workspace.close()
    workspace = stage.open(resume=True)
    assert workspace.resume_left() == []  # it broke off before the last start
    workspace.close()

    chat_id, broken = begin(stage, "assistant", 2)
    workspace = stage.open(resume=True)
    again = stage.play(search_first, halt_at=1)
    (run,) = workspace.resume_left()
    assert (run.resumes, run.chat_id) == (broken, chat_id)
    assert again.halted.wait(60)
    workspace.close()  # and dies again
    workspace = stage.open(resume=True)
    assert workspace.resume_left() == []
    assert workspace.ledger.thread(OWNER, chat_id)[-1].content
    workspace.close()


TOOLS = '''from pathlib import Path

from agentkit import effects


def book(place: str) -> str:
    """Book a ferry."""
    with Path({log!r}).open("a") as log:
        log.write(place + "\\n")
    if Path({halt!r}).exists():
        import threading
        threading.Event().wait()
    return "booked"


@effects("none")
def count_seats(place: str) -> str:
    """Count the seats that are free."""
    with Path({log!r}).open("a") as log:
        log.write("seats\\n")
    return "seven"
'''


def ferry(body: dict[str, Any]) -> Answer:
    results = [text_of(one["content"]) for one in body["messages"] if one["role"] == "tool"]
    if not results:
        return tool_call("count_seats", place="Riga")
    if len(results) == 1:
        return tool_call("book", place="Riga")
    return Answer(f"It is {results[-1]}.\nTERMINATE")


@dataclass
class Ferry:
    """The stage with tools that write down when they run."""

    stage: Stage
    log: Path
    halt: Path

    def open(self) -> Workspace:
        return self.stage.open(tools=str(self.log.with_name("tools.py")))

    @property
    def ran(self) -> list[str]:
        return self.log.read_text().split()


@pytest.fixture
def harbour(stage: Stage, tmp_path: Path) -> Ferry:
    log, halt = tmp_path / "log", tmp_path / "halt"
    (tmp_path / "tools.py").write_text(TOOLS.format(log=str(log), halt=str(halt)))
    return Ferry(stage, log, halt)


def wait_for_question(run: Run[Any], prompt: str = "") -> HumanInputRequested:
    for recorded in run:
        event = recorded.event
        if isinstance(event, HumanInputRequested) and prompt in event.prompt:
            while run.waiting_for is None and not run.ended:
                run.wait(0.01)
            if run.waiting_for is not None and run.waiting_for.request_id == event.request_id:
                return event
    raise AssertionError("the run ended without asking")


def test_what_waits_for_a_person_waits_on(harbour: Ferry) -> None:
    played = harbour.stage.play(ferry)
    workspace = harbour.open()
    run = workspace.ask(OWNER, "Book a ferry to Riga.", collection="Kitchen", team_id="tools")
    wait_for_question(run, "book")
    workspace.close()
    workspace = harbour.open()
    chat_id = run.chat_id or ""
    assert queries.list_waiting_runs(workspace.ledger, OWNER, chat_id) == [run.id]
    (waiting,) = workspace.wait_on(OWNER, chat_id)
    request = wait_for_question(waiting, "book")
    assert len(played.bodies) == 2
    assert harbour.ran == ["seats"]
    waiting.answer("approve", request.request_id)
    assert waiting.result().text == "It is booked."
    assert harbour.ran == ["seats", "Riga"]
    assert workspace.wait_on(OWNER, chat_id) == []
    workspace.close()


def test_a_tool_that_has_run_runs_no_more(harbour: Ferry) -> None:
    played = harbour.stage.play(ferry, halt_at=3)
    workspace = harbour.open()
    run = workspace.ask(OWNER, "Book a ferry to Riga.", collection="Kitchen", team_id="tools")
    run.answer("approve", wait_for_question(run).request_id)
    assert played.halted.wait(60)
    workspace.close()
    workspace = harbour.open()
    harbour.stage.play(ferry)
    again = workspace.resume(OWNER, run.id)
    assert again.result().text == "It is booked."
    assert harbour.ran == ["seats", "Riga"]
    assert [one.content for one in events_of(workspace, again, ToolReturned)] == ["seven", "booked"]
    workspace.close()


@pytest.mark.parametrize("choice", ["approve", "reject"])
def test_a_tool_that_had_begun_is_asked_about(harbour: Ferry, choice: str) -> None:
    harbour.stage.play(ferry)
    harbour.halt.touch()
    workspace = harbour.open()
    run = workspace.ask(OWNER, "Book a ferry to Riga.", collection="Kitchen", team_id="tools")
    run.answer("approve", wait_for_question(run).request_id)
    while harbour.ran != ["seats", "Riga"]:
        run.wait(0.02)
    workspace.close()  # the function never comes back, and is left behind
    harbour.halt.unlink()
    workspace = harbour.open()
    again = workspace.resume(OWNER, run.id)
    request = wait_for_question(again, "had begun")
    again.answer(choice, request.request_id)
    text = again.result().text
    if choice == "approve":
        assert (text, harbour.ran) == ("It is booked.", ["seats", "Riga", "Riga"])
    else:
        assert harbour.ran == ["seats", "Riga"]
        assert "whether it was done is not known" in text
    workspace.close()


def test_a_difference_stops_it_and_keeps_what_there_was(stage: Stage) -> None:
    chat_id, broken = begin(stage, "assistant", 2)
    workspace = stage.open()
    workspace.database.execute(
        "update messages set content = ? where chat_id = ? and role = 'user' and parent_id is null",
        ["How hot is oolong?", chat_id],
    )
    before = [one.id for one in workspace.ledger.thread(OWNER, chat_id)]
    played = stage.play(search_first)
    run = workspace.resume(OWNER, broken)
    with pytest.raises(ReplayDiffers, match="oolong"):
        run.result()
    assert played.bodies == []
    assert [one.id for one in workspace.ledger.thread(OWNER, chat_id)] == before
    assert "oolong" in queries.why_not_resumed(workspace.ledger, OWNER, broken)
    assert queries.run_state(workspace.ledger, OWNER, broken).state == "interrupted"
    workspace.close()


def test_what_cannot_be_gone_on_with_says_so(stage: Stage) -> None:
    stage.play(quote)
    workspace = stage.open()
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen")
    run.result()
    with pytest.raises(ConfigError, match="did not break off"):
        workspace.resume(OWNER, run.id)
    with pytest.raises(NotFound, match="no run"):
        workspace.resume(OWNER, "nothing")
    workspace.database.execute("update runs set state = 'interrupted' where id = ?", [run.id])
    workspace.database.execute(
        'update events set data = json_merge_patch(data, \'{"asked": ""}\') where kind = ?',
        [ModelReplied.__name__],
    )
    with pytest.raises(ConfigError, match="older version"):
        workspace.resume(OWNER, run.id)
    assert [one.resumes for one in events_of(workspace, run, RunStarted)] == [""]
    workspace.close()


def test_an_answer_goes_on_once_the_disk_has_space_again(stage: Stage) -> None:
    played = stage.play(search_first, halt_at=2)
    workspace = stage.open()
    run = workspace.ask(OWNER, QUESTION, collection="Kitchen", team_id="assistant")
    assert played.halted.wait(60)
    with at_most(10):
        stage.server.go_on.set()
        with pytest.raises(StoreError, match="check free space"):
            run.result()
    assert "check free space" in runs.find_error(run.id, OWNER)
    stage.play(search_first)
    again = workspace.resume(OWNER, run.id)
    assert again.result().text == "Green tea is steeped at 80 degrees [1]."
    assert workspace.ledger.thread(OWNER, run.chat_id or "")[-1].status == "complete"
    workspace.close()
    reopened = stage.open()
    assert reopened.library.check() == []
    reopened.close()


def compute(body: dict[str, Any]) -> Answer:
    """Computes twice in the chat's kernel, then answers with what came out."""
    outputs = [text_of(one["content"]) for one in body["messages"][2:] if one["role"] == "user"]
    if len(outputs) < 2:
        code = "made = [*globals().get('made', []), 1]\nprint(len(made))"
        return Answer(f"```python\n{code}\n```\nNumber {len(outputs)}")
    return Answer(f"{outputs[-1].split()[-1]}\nTERMINATE")


@pytest.mark.skipif(not is_available(), reason="no kernel can run here")
def test_a_cell_that_has_run_runs_no_more_and_the_kernel_begins_empty(stage: Stage) -> None:
    played = stage.play(compute, halt_at=2)
    workspace = stage.open()
    run = workspace.ask(OWNER, "How often?", collection="Kitchen", team_id="tools")
    run.answer("approve", wait_for_question(run).request_id)
    assert played.halted.wait(60)
    workspace.close()
    stage.server.go_on.set()
    workspace = stage.open()
    after = stage.play(compute)
    again = workspace.resume(OWNER, run.id)
    seen = 0
    for recorded in again:
        if isinstance(recorded.event, HumanInputRequested):
            seen += 1
            if seen == 2:  # the first was answered before
                again.answer("approve")
    answer = again.result()
    first, second = events_of(workspace, again, CodeRan)
    assert (first.output.split(), second.output.split()[-1]) == (["1"], "1")
    assert "all variables of before are gone" in second.output
    assert len(after.bodies) == 2
    assert answer.text == "1"
    workspace.close()
