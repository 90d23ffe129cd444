"""A chat as it is read: turns of a question, what was done for it, and the answer. Stored and live ones look the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    TokenDelta,
)
from agentkit.ledger import StoredMessage
from agentkit.runs import Run

Said = StoredMessage | MessageSent


@dataclass(slots=True)
class Turn:
    """One question with its answer, as far as there is one."""

    run_id: str
    question: Said | None = None
    inner: list[Said] = field(default_factory=list)
    """What the agents said among themselves."""
    answer: Said | None = None
    text: str = ""
    """The answer so far, while it is being written."""
    steps: list[Event] = field(default_factory=list)
    """What was done, in order; of stored turns it is looked up when somebody wants to see it."""

    @property
    def status(self) -> str:
        """`complete`, `stopped`, `failed`, or `interrupted` when the process ended before the answer."""
        return self.answer.status if self.answer else "interrupted"

    @property
    def citations(self) -> list[dict[str, Any]]:
        """The sources of the answer, each as `Citation.to_json` made it."""
        return list(self.answer.extra.get("citations", [])) if self.answer else []


def stored_turns(thread: Iterable[StoredMessage]) -> list[Turn]:
    """The turns of a stored branch, oldest first."""
    turns: list[Turn] = []
    for said in thread:
        if said.role == "user" or not turns:
            turns.append(Turn(said.run_id or said.id))
        _place(turns[-1], said)
    return turns


def live_turn(run: Run[Any], agent: str) -> Turn:
    """The turn that a run is working on; `agent` is the one that writes the answer."""
    turn, writing = Turn(run.id), ""
    for recorded in run.events():
        match recorded.event:
            case MessageSent() as said:
                _place(turn, said)
            case ModelCalled(purpose="chat") as called if called.agent == agent:
                writing, turn.text = called.call_id, ""
            case ModelReplied(status="failed") as replied if replied.call_id == writing:
                turn.text = ""
            case TokenDelta() as delta if delta.call_id == writing:
                turn.text += delta.text
            case _:
                pass
    if turn.answer and turn.answer.content:
        turn.text = turn.answer.content
    turn.steps = steps(run.events())
    return turn


def steps(events: Iterable[Recorded]) -> list[Event]:
    """The events worth showing above an answer: each thing once, in its latest state."""
    shown: dict[str, Event] = {}
    for recorded in events:
        if key := _step_key(recorded.event, recorded.seq):
            shown[key] = recorded.event
    return list(shown.values())


def last_turns(turns: Sequence[Turn], messages: int) -> list[Turn]:
    """The last turns that together have about so many messages, at least one."""
    count = 0
    for index in range(len(turns) - 1, -1, -1):
        count += 1 + len(turns[index].inner) + (turns[index].answer is not None)
        if count >= messages:
            return list(turns[index:])
    return list(turns)


def _place(turn: Turn, said: Said) -> None:
    if said.role == "user":
        turn.question = said
    elif said.extra.get("inner"):
        turn.inner.append(said)
    else:
        turn.answer = said


def _step_key(event: Event, seq: int) -> str:
    """Events with the same key are states of one step; an empty key means no step."""
    match event:
        case ModelCalled(purpose="chat") | ModelReplied(purpose="chat"):
            return event.call_id
        case DocumentProgress() | DocumentDone():
            return event.document_id
        case HumanInputRequested() | HumanAnswered() | Retrieved():
            return f"step {seq}"
        case MessageSent() if event.extra.get("inner"):
            return event.id
        case _:
            return ""
