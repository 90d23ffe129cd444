"""A chat as it is read: turns of a question, what was done for it, and the answer. Stored and live
ones look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from agentkit.events import Event, Fallback, MessageSent, Recorded, ReplyEnd, Thinking, events_of
from agentkit.ledger import StoredMessage
from agentkit.teams.ending import without_ending
from agentkit.teams.question import Question
from agentkit.ui.steps.registry import kind_of
from agentkit.ui.steps.step import Said, Step, Steps


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
    thinking: str = ""
    """What the model thinks before it answers, while it does."""
    sources: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By marker, what an answer that is being written may cite, like `citations`."""
    steps: list[Step] = field(default_factory=list)
    """What was done, in order; of stored turns it is looked up when somebody wants to see it."""

    @property
    def status(self) -> str:
        """`complete`, `stopped`, `failed`, or `interrupted` when the process ended before the
        answer.
        """
        if self.answer:
            return self.answer.status
        return "interrupted"

    @property
    def extra(self) -> Mapping[str, Any]:
        """What is kept with the answer; nothing when there is none."""
        return self.answer.extra if self.answer else {}

    @property
    def asked(self) -> Question:
        """What was asked, and of whom; an empty question where none is known."""
        if self.question:
            return Question.from_message(self.question)
        return Question("")

    @property
    def cut(self) -> ReplyEnd | None:
        """What cut the answer; None when it is whole."""
        return self.extra.get("cut")

    @property
    def fallback(self) -> Fallback | None:
        """Why passages were looked up by words alone; None when none were."""
        told = self.extra.get("fallback")
        if not told:
            return None
        return Fallback(told["wanted"], told["embedder"], told["error"], told["error_type"])

    @property
    def thought(self) -> Thinking | None:
        """What the model thought before the answer."""
        if self.answer:
            return self.answer.thinking
        return None

    @property
    def citations(self) -> list[dict[str, Any]]:
        """The sources of the answer, each as `Citation.to_json` made it."""
        return list(self.extra.get("citations", ()))

    @property
    def checks(self) -> list[dict[str, Any]]:
        """What came of checking its markers, each as `Checked.to_json` made it; empty for what
        older versions stored.
        """
        return list(self.extra.get("checks", ()))


def read_turns(thread: Iterable[StoredMessage]) -> list[Turn]:
    """The turns of a stored branch, oldest first."""
    turns: list[Turn] = []
    for said in thread:
        if _is_question(said) or not turns:
            turns.append(Turn(said.run_id or said.id))
        place(turns[-1], said)
    return turns


def steps(events: Iterable[Recorded]) -> list[Step]:
    """The events worth showing above an answer: each thing once, in its latest state, calls with
    what they returned.

    Left out is what only repeats: the question and the answer among the agents, and messages that
    hand on a result.
    """
    heard = list(events)
    outer = filter(_is_outer, events_of(heard))
    made = Steps({without_ending(said.content) for said in outer})
    for recorded in heard:
        kind_of(recorded.event).enter(recorded.event, recorded.seq, made)
    return list(made.shown.values())


def last_turns(turns: Sequence[Turn], messages: int) -> list[Turn]:
    """The last turns that together have about so many messages, at least one."""
    count = 0
    for index in range(len(turns) - 1, -1, -1):
        count += 1 + len(turns[index].inner) + (turns[index].answer is not None)
        if count >= messages:
            return list(turns[index:])
    return list(turns)


def _is_question(said: Said) -> bool:
    """Whether the person asked it; agents may speak in the role of a user among themselves."""
    return said.role == "user" and not said.extra.get("inner")


def place(turn: Turn, said: Said) -> None:
    """Put a message where it belongs in its turn."""
    if _is_question(said):
        turn.question = said
    elif said.extra.get("inner"):
        turn.inner.append(said)
    else:
        turn.answer = said


def _is_outer(event: Event) -> TypeGuard[MessageSent]:
    return isinstance(event, MessageSent) and not event.extra.get("inner")
