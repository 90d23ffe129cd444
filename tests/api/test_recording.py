"""`record()`: what a script's agents do is in the ledger, whoever holds the folder."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentkit import AssistantAgent, UserProxyAgent, record
from agentkit.api import Held, Workspace
from agentkit.core import bus
from agentkit.events import ChatEnded, MessageSent, ModelCalled, ModelReplied, TokenDelta
from agentkit.ledger.bill.budgets import Budget
from agentkit.ledger.queries import CallFilter, RunTotals
from agentkit.llm.calls.scripted import scripted_model
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from tests.api.doors import WHERE
from tests.api.holder import holding, started

ME = "local"
POLLS, PAUSE_S = 2_400, 0.05
"""Two minutes at most."""


@pytest.fixture(params=WHERE)
def _somewhere(settings: Settings, request: pytest.FixtureRequest) -> Iterator[None]:
    held = Held(settings, FakeEmbedder()) if request.param == "elsewhere" else None
    yield
    if held:
        held.close()


anywhere = pytest.mark.usefixtures("_somewhere")


def chat(*replies: str) -> None:
    """Somebody asks an agent as often as there are replies."""
    model = {"config_list": [{"model": scripted_model(replies)}]}
    clerk = AssistantAgent("clerk", llm_config=model)
    user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
    for number, _ in enumerate(replies):
        user.initiate_chat(clerk, message=f"Question {number}", max_turns=1, silent=True)


def runs(settings: Settings) -> list[RunTotals]:
    workspace = Workspace(settings, FakeEmbedder())
    found = workspace.figures.runs(ME)
    workspace.close()
    return found


@anywhere
def test_chats_calls_and_costs_are_in_the_ledger(settings: Settings) -> None:
    with record("Two questions", settings) as run:
        chat("One.", "Two.")
    assert [type(one.event).__name__ for one in run.events()].count("ModelReplied") == 2
    workspace = Workspace(settings, FakeEmbedder())
    (found,) = workspace.figures.runs(ME)
    assert (found.id, found.kind, found.title) == (run.id, "script", "Two questions")
    assert (found.state, found.calls) == ("finished", 2)
    assert workspace.figures.totals(CallFilter(ME)).calls == 2
    events = [one.event for one in workspace.figures.events(ME, run.id)]
    said = [one.content for one in events if isinstance(one, MessageSent)]
    assert said == ["Question 0", "One.", "Question 1", "Two."]
    workspace.close()


def test_a_budget_of_the_folder_stops_a_script(settings: Settings) -> None:
    workspace = Workspace(settings, FakeEmbedder())
    workspace.bill.budgets.enter(Budget("question", "tokens", 10.0))
    workspace.close()
    with record("Two questions", settings) as run:
        chat("One.")
    ended = [one.event for one in run.events() if isinstance(one.event, ChatEnded)]
    assert [one.end.kind for one in ended if one.end] == ["budget"]
    assert ended[0].reason == "the budget of 10 tokens a question is used up"


@anywhere
def test_a_run_within_is_booked_once(settings: Settings) -> None:
    with record("Around", settings) as run:
        workspace = Workspace(settings, FakeEmbedder())
        workspace.library.create_collection(ME, "Books")
        asked = workspace.ask(ME, "How long is the Danube?", collection="Books")
        asked.result()
        workspace.library.retrieve(ME, "Books", "Danube")
        workspace.close()
    by_id = {one.id: one for one in runs(settings)}
    assert by_id[asked.id].calls > 0
    # The look-up alone is the outer run's: where there is nothing, it asks no model.
    assert [by_id[run.id].calls, by_id[run.id].state] == [0, "finished"]
    assert [type(one.event).__name__ for one in run.events()].count("Retrieved") == 1


@anywhere
def test_how_the_work_ends_is_how_the_run_ends(settings: Settings) -> None:
    with pytest.raises(ZeroDivisionError), record("Fails", settings):
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), record("Interrupted", settings):
        raise KeyboardInterrupt
    with pytest.raises(SystemExit), record("Leaves", settings):
        sys.exit()
    with record("", settings):
        pass
    ends = [(one.title, one.state, one.reason) for one in runs(settings)]
    assert ends[::-1][:3] == [
        ("Fails", "failed", "division by zero"),
        ("Interrupted", "stopped", "stopped by the user"),
        ("Leaves", "finished", ""),
    ]
    assert ends[0][0] == Path(sys.argv[0]).name


def test_a_holder_that_dies_does_not_stop_the_script(settings: Settings) -> None:
    with holding(settings.data) as process, record("Goes on", settings) as run:
        chat("One.")
        process.send_signal(signal.SIGKILL)
        process.wait()
        chat("Two.", "Three.")
    (found,) = runs(settings)
    assert (found.state, found.calls) == ("finished", 3)
    assert [one.seq for one in run.events()] == list(range(1, len(run.events()) + 1))


def begin_reply(settings: Settings, run_id: str) -> None:
    """A model says a word of its reply, which is stored."""
    bus.emit(ModelCalled("second", "clerk", "api.openai.com", "gpt-4o"))
    bus.emit(TokenDelta("Half", "clerk", "second"))
    workspace, stored = Workspace(settings, FakeEmbedder()), threading.Event()
    for _ in range(POLLS):
        if workspace.ledger.begun(run_id):
            break
        stored.wait(PAUSE_S)
    workspace.close()


@pytest.mark.parametrize("by", ["the script", "another"])
def test_the_folder_changes_hands_while_a_reply_streams(settings: Settings, by: str) -> None:
    with (
        ExitStack() as others,
        holding(settings.data) as before,
        record("Goes on", settings) as run,
    ):
        chat("One.")
        begin_reply(settings, run.id)
        before.communicate()
        if by == "another":
            others.enter_context(holding(settings.data))
        bus.emit(TokenDelta(" of it", "clerk", "second"))
        whole = ModelReplied("second", "clerk", "api.openai.com", "gpt-4o", text="Half of it.")
        bus.emit(whole)
        chat("Three.")
    (found,) = runs(settings)
    assert (found.state, found.calls) == ("finished", 3)
    workspace = Workspace(settings, FakeEmbedder())
    kept = [one.event for one in workspace.figures.events(ME, run.id)]
    assert [one for one in kept if isinstance(one, ModelReplied)][1] == whole
    workspace.close()
    assert list((settings.data / "recording").iterdir()) == []


def test_what_the_ledger_refuses_does_not_stop_the_script(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    twice = ModelReplied("the same", "clerk", "api.openai.com", "gpt-4o")
    done = []
    with caplog.at_level(logging.WARNING), record("Twice", settings):
        bus.emit(twice)
        bus.emit(twice)
        done.append("the rest")
    assert done == ["the rest"]
    (told,) = [one.getMessage() for one in caplog.records if one.name.startswith("agentkit.api")]
    assert told.startswith("What this program does is not recorded from here on: ")


KILLED = """
import sys
from agentkit import record
with record("Killed"):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("changes_hands", [False, True])
def test_a_script_that_is_killed_is_marked(settings: Settings, changes_hands: bool) -> None:
    held = Held(settings, FakeEmbedder())
    with started("-c", KILLED, AGENTKIT_DATA=str(settings.data)) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        if changes_hands:
            held.close()
            held = Held(settings, FakeEmbedder())
        assert held.figures.runs(ME)[0].state == "running"
        process.send_signal(signal.SIGKILL)
        process.wait()
    noticed = threading.Event()
    for _ in range(POLLS):
        if (found := held.figures.runs(ME)[0]).state != "running":
            break
        noticed.wait(PAUSE_S)
    assert (found.state, found.reason) == ("interrupted", "the process ended")
    held.close()


def test_a_script_that_died_while_nobody_had_the_folder_is_marked(settings: Settings) -> None:
    with started("-c", KILLED, AGENTKIT_DATA=str(settings.data)) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    (found,) = runs(settings)
    assert (found.state, found.reason) == ("interrupted", "the process ended")
    assert list((settings.data / "recording").iterdir()) == []


def test_what_cannot_be_stored_is_told_once(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        holding(settings.data) as process,
        record("Lost", settings) as run,
    ):
        process.send_signal(signal.SIGKILL)
        process.wait()
        (settings.data / "agentkit.duckdb").write_bytes(b"no database")
        chat("One.", "Two.")
    (told,) = [one.getMessage() for one in caplog.records if one.name.startswith("agentkit.api")]
    assert told.startswith("What this program does is not recorded from here on: ")
    assert "cannot be opened as a database" in told
    assert [type(one.event).__name__ for one in run.events()].count("ModelReplied") == 2
