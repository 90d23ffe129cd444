"""A long talk of a team, as events of a run: stored, or while it goes on."""

from __future__ import annotations

import threading

from agentkit import runs
from agentkit.core import bus
from agentkit.events import (
    MessageSent,
    ModelCalled,
    ModelReplied,
    SpeakerSelected,
    TokenDelta,
    ToolCalled,
    ToolReturned,
    Usage,
)
from agentkit.messages import new_id
from agentkit.runs import Run
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER

AGENTS = ("Researcher", "Critic", "Writer")
QUESTION = "How hot for green tea?"
ANSWER = "At 80 degrees, says everybody."
_USAGE = Usage(input=100, output=20)


class Talk:
    """What agents say in turn; the number of each message stands in it."""

    def __init__(self, messages: int, text: str = "Green tea is steeped at 80 degrees.") -> None:
        self.messages, self.text = messages, text
        self.parent: str | None = None
        self.halted, self.go_on = threading.Event(), threading.Event()

    def hold(self) -> None:
        """Stand still before the end, until it may go on."""
        self.halted.set()
        assert self.go_on.wait(120)

    def play(self, *, halts: bool = False) -> None:
        """All of it, from the question to the answer."""
        self._say("user", "team", QUESTION, inner=False, role="user")
        for number in range(1, self.messages + 1):
            self._speak(number, AGENTS[number % 2])
        if halts:
            self.hold()
        self._say("Writer", "user", ANSWER, inner=False)

    def _speak(self, number: int, agent: str) -> None:
        bus.emit(SpeakerSelected("Group", agent, "auto", number, list(AGENTS)))
        call = new_id()
        bus.emit(ModelCalled(call, agent, "scripted", "m"))
        if number % 5 == 0:
            bus.emit(ToolCalled(f"tool-{call}", agent, "brew", "{}"))
            bus.emit(ToolReturned(f"tool-{call}", agent, "brew", True, "There is tea.", 0.2))
            self._say(agent, "Group", "There is tea.", inner=True, role="tool")
        for word in self.text.split(" "):
            bus.emit(TokenDelta(f"{word} ", agent, call))
        bus.emit(ModelReplied(call, agent, "scripted", "m", usage=_USAGE, cost=0.001))
        self._say(agent, "Group", f"Message {number}. {self.text}", inner=True)

    def _say(
        self, sender: str, recipient: str, text: str, *, inner: bool, role: str = "assistant"
    ) -> None:
        run = runs.current()
        assert run is not None
        is_answer = role == "assistant" and not inner
        key = run.message_id if is_answer else new_id()
        extra = {"inner": inner, "team_id": "group:auto"}
        bus.emit(MessageSent(key, self.parent, sender, recipient, role, text, extra=extra))
        self.parent = key


def begin(workspace: ScriptableWorkspace, talk: Talk, *, halts: bool = False) -> Run[None]:
    """The talk as a run of a new chat."""
    chat = workspace.ledger.create_chat(OWNER, QUESTION, "group:auto", "offline", "Kitchen")
    return runs.start(
        lambda: talk.play(halts=halts),
        kind="chat",
        title=QUESTION,
        owner=OWNER,
        chat_id=chat.id,
        ledger=workspace.ledger,
    )
