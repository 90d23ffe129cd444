"""The assistant's memory of a long chat comes back from the ledger: after a restart, on its own
branch, and only there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.shape import HEADING
from agentkit.errors import AgentkitError, ModelAuthFailed
from agentkit.events import Compressed, ModelCalled
from agentkit.ledger import queries
from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.retrieval import FakeEmbedder
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams.memory.long_memory import NOTES
from agentkit.workspace import Workspace
from agentkit.workspace.answering import find_shortenings, to_history

OWNER, WINDOW = "me", 3_000
TREES = ("oak", "elm", "yew")


class Scripted(Workspace):
    """A workspace with one model."""

    def __init__(self, folder: Path, model: Model) -> None:
        self._chosen = model
        super().__init__(Settings(data=folder), FakeEmbedder())

    def model(self, model_id: str = "") -> Model:
        """That one."""
        return self._chosen


@dataclass
class Forester:
    """A model that notes down which trees it read about, and answers at length; `fails` is raised
    by what it is told for.
    """

    fails: dict[str, Exception] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What it was asked to summarise."""
    asked: list[str] = field(default_factory=list)
    """All that it was sent for an answer."""

    def __call__(self, params: Mapping[str, Any]) -> str | Exception:
        """A reply."""
        text = "\n".join(str(each["content"]) for each in params["messages"])
        if text.startswith("You shorten conversations."):
            self.notes.append(text)
            read = ", ".join(
                tree for tree in TREES if f"{tree} number" in text or f"note on {tree}" in text
            )
            return (
                self.fails.get("notes")
                or f"##USER## made a note on {read}, and it was number {len(self.notes)}."
            )
        self.asked.append(text)
        return (
            self.fails.get("answer")
            or "It stands at the edge of the wood, and was planted a long time ago by somebody. "
            * 3
        )

    def model(self) -> Model:
        """With a small window."""
        return replace(scripted_model(self), context_window=WINDOW)


@contextmanager
def opened(folder: Path, forester: Forester) -> Iterator[Workspace]:
    """A workspace over the folder, as a start of the app opens it."""
    workspace = Scripted(folder, forester.model())
    if not workspace.library.collections(OWNER):
        workspace.library.create_collection(OWNER, "Documents")
    try:
        yield workspace
    finally:
        workspace.close()


def ask(
    workspace: Workspace, chat: str | None, question: str, parent: str | None = None
) -> Run[Any]:
    run = workspace.ask(
        OWNER, question, collection="Documents", team_id="assistant", chat_id=chat, parent_id=parent
    )
    assert run.wait(120)
    return run


def talk(
    workspace: Workspace, tree: str, chat: str | None = None, parent: str | None = None
) -> str:
    """Ask about a tree until the chat was shortened (or that failed); gives the chat's id."""
    for number in range(40):
        run = ask(workspace, chat, f"Where is the {tree} number {number}?", parent)
        chat, parent = run.chat_id, None
        if told(run):
            assert chat is not None
            return chat
    raise AssertionError("it was never shortened")


def told(run: Run[Any]) -> list[Compressed]:
    return [one.event for one in run.events() if isinstance(one.event, Compressed)]


def noted(run: Run[Any]) -> int:
    """How often it asked for a summary."""
    return sum(
        isinstance(one.event, ModelCalled) and one.event.agent == NOTES for one in run.events()
    )


def test_after_a_restart_the_summary_is_gone_on_with_until_the_limit_is_passed_again(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, Forester()) as workspace:
        chat = talk(workspace, "oak")
    after = Forester()
    with opened(tmp_path, after) as workspace:
        run = ask(workspace, chat, "And the first one?")
        assert (noted(run), told(run)) == (0, [])
        (request,) = after.asked
        assert f"{HEADING}\n##USER## made a note on oak, and it was number 1." in request
        assert "Where is the oak number 0?" in request, "the first message"
        assert "Where is the oak number 1?" not in request
        talk(workspace, "elm", chat)
    (request,) = after.notes
    assert "##SUMMARY## ##USER## made a note on oak, and it was number 1." in request
    assert "Where is the oak number 1?" not in request, "what was summarised is not paid for again"
    assert "Where is the elm number 0?" in request
    assert f"{HEADING}\n##USER## made a note on oak, elm" in after.asked[-1]
    client = workspace.model().client
    assert isinstance(client, ScriptedClient)
    meter = Meter("scripted")
    assert max(meter.count(each["messages"]) for each in client.requests) <= WINDOW


def test_a_branch_knows_only_the_summaries_of_its_own_messages(tmp_path: Path) -> None:
    forester = Forester()
    with opened(tmp_path, forester) as workspace:
        chat = talk(workspace, "oak")
        oaks = workspace.ledger.thread(OWNER, chat)
        early = next(
            oaks[place - 1].id
            for place, turn in enumerate(oaks)
            if turn.content == "Where is the oak number 3?"
        )
        run = ask(workspace, chat, "Where is the elm number 0?", early)
        assert noted(run) == 0
        assert HEADING not in forester.asked[-1]
        assert "oak number 2" in forester.asked[-1]
        assert "oak number 3" not in forester.asked[-1], "it was asked on the other branch"
        talk(workspace, "elm", chat)
        assert "oak number 3" not in forester.notes[-1]
        assert HEADING in forester.asked[-1]
    with opened(tmp_path, forester) as workspace:
        run = ask(workspace, chat, "And on that side?", oaks[-1].id)
        assert noted(run) == 0
        assert "made a note on oak, and it was number 1." in forester.asked[-1]
        assert "elm" not in forester.asked[-1]
        anew = ask(workspace, chat, "Where is the yew number 0?", "")
        assert noted(anew) == 0
        assert "oak" not in forester.asked[-1], "a branch from the beginning knows nothing"


def test_a_summary_outlives_an_answer_that_failed(tmp_path: Path) -> None:
    forester = Forester()
    with opened(tmp_path, forester) as workspace:
        chat = None
        for number in range(40):
            run = ask(workspace, chat, f"Where is the oak number {number}?")
            chat = run.chat_id
            if len(forester.asked[-1]) > 3_500:
                break
        forester.fails["answer"] = ModelAuthFailed("no key")
        while not told(run):
            run = ask(workspace, chat, "Where is it? " * 8)
            with pytest.raises(AgentkitError):
                run.result()
    again = Forester()
    with opened(tmp_path, again) as workspace:
        run = ask(workspace, chat, "And now?")
        assert noted(run) == 0
        assert "made a note on oak, and it was number 1." in again.asked[-1]


def test_a_model_that_failed_rests_across_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path, Forester({"notes": ModelAuthFailed("no key for notes")})) as workspace:
        chat = talk(workspace, "oak")
        (first, *_) = workspace.ledger.thread(OWNER, chat)
        made, failed = (
            event
            for _, event in find_shortenings(
                workspace.ledger, OWNER, workspace.ledger.thread(OWNER, chat), set()
            )
        )
        assert (failed.error, made.strategy) == ("no key for notes", "sliding window, extraction")
    after = Forester()
    with opened(tmp_path, after) as workspace:
        run = ask(workspace, chat, "And the first one?")
        assert (noted(run), told(run)) == (0, [])
        assert f"{HEADING}\n- " in after.asked[-1], "the sentences that were extracted"
        assert first.content in after.asked[-1]


def test_of_others_and_of_deleted_chats_nothing_is_known(tmp_path: Path) -> None:
    with opened(tmp_path, Forester()) as workspace:
        chat = talk(workspace, "oak")
        thread = workspace.ledger.thread(OWNER, chat)
        ((turns, event),) = find_shortenings(workspace.ledger, OWNER, thread, set())
        before = [turn for turn in thread if turn.run_id != thread[-1].run_id]
        assert turns == len(to_history(before)) > 10, "all before the last question"
        assert event.summary.startswith(HEADING)
        for owner, branch in (("somebody else", thread), (OWNER, before), (OWNER, [])):
            assert list(find_shortenings(workspace.ledger, owner, branch, set())) == []
        ids = [turn.run_id or "" for turn in thread]
        assert [one for _, one in queries.told(workspace.ledger, OWNER, ids, Compressed)] == [event]
        workspace.delete_chat(OWNER, chat)
        assert list(queries.told(workspace.ledger, OWNER, ids, Compressed)) == []
