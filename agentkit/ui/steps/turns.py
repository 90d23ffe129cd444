"""A chat as it is read: turns of a question, what was done for it, and the answer. Stored and live
ones look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeGuard

from agentkit.events import (
    Event,
    Fallback,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    ReplyEnd,
    Retrieved,
    Thinking,
    ThinkingDelta,
    TokenDelta,
    ToolReturned,
)
from agentkit.ledger import StoredMessage
from agentkit.runs import Run
from agentkit.teams.drafts import read_draft, read_thinking
from agentkit.teams.ending import without_ending
from agentkit.teams.question import Question
from agentkit.teams.task import Citation
from agentkit.ui.steps import wording
from agentkit.ui.steps.registry import kind_of
from agentkit.ui.steps.step import Said, Step, Steps

_CITED = {field.name for field in fields(Citation)} - {"marker"}
LIVE = 20_000
"""Characters of an answer that are drawn while it is being written; at its end all of it is."""
_STEP = 5_000
QUIET_S = 10.0
"""Seconds without a word of a model after which that is told."""


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
        return self.answer.status if self.answer else "interrupted"

    @property
    def extra(self) -> Mapping[str, Any]:
        """What is kept with the answer; nothing when there is none."""
        return self.answer.extra if self.answer else {}

    @property
    def asked(self) -> Question:
        """What was asked, and of whom; an empty question where none is known."""
        return Question.asked_by(self.question) if self.question else Question("")

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
        return self.answer.thinking if self.answer else None

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


def stored_turns(thread: Iterable[StoredMessage]) -> list[Turn]:
    """The turns of a stored branch, oldest first."""
    turns: list[Turn] = []
    for said in thread:
        if _is_question(said) or not turns:
            turns.append(Turn(said.run_id or said.id))
        _place(turns[-1], said)
    return turns


def live_turn(run: Run[Any], agent: str) -> Turn:
    """The turn that a run is working on; `agent` is the one that writes the answer."""
    turn, heard = Turn(run.id), run.events()
    for recorded in heard:
        if isinstance(recorded.event, MessageSent):
            _place(turn, recorded.event)
    events = [recorded.event for recorded in heard]
    if turn.answer and turn.answer.content:
        turn.text = without_ending(turn.answer.content)
    else:
        turn.text = read_draft(events, agent)
    turn.thinking = read_thinking(events, agent)
    turn.sources = _sources(events)
    turn.steps = steps(heard)
    return turn


def _sources(events: Iterable[Event]) -> dict[int, dict[str, Any]]:
    """The passages by the numbers that the model knows them by, as far as the events tell these.

    Tools number what they give; else there is one search, whose passages are numbered in order.
    """
    searches: list[list[dict[str, Any]]] = []
    numbered: dict[int, tuple[object, ...]] = {}
    for event in events:
        if isinstance(event, Retrieved):
            searches.append([hit for hit in event.hits if hit.keys() >= _CITED])
        elif isinstance(event, ToolReturned):
            numbered |= {int(gave["marker"]): _span(gave) for gave in event.passages}
    if numbered:
        known = {_span(hit): hit for hits in searches for hit in hits}
        found = [(n, known[span]) for n, span in numbered.items() if span in known]
    else:
        found = list(enumerate(searches[0], start=1)) if len(searches) == 1 else []
    return {n: {**hit, "marker": n} for n, hit in found}


def _span(passage: Mapping[str, Any]) -> tuple[object, ...]:
    return passage["document_id"], passage["start"], passage["end"]


def waits(heard: Iterable[Recorded], now: float) -> str:
    """What the run's model calls wait for at `now`, in words: a next attempt, or a word; empty
    where there is none.

    While any of them gets words, none is missed. Calls for vectors count, too.
    """
    latest: dict[str, float] = {}
    retry: tuple[str, str, float] | None = None
    for recorded in heard:
        match recorded.event:
            case ModelCalled(call_id=call):
                latest[call] = recorded.at
                if retry and retry[0] == call:
                    retry = None
            case TokenDelta(call_id=call) | ThinkingDelta(call_id=call) if call in latest:
                latest[call] = recorded.at
            case ModelReplied(call_id=call, retry_in_s=seconds) as replied:
                latest.pop(call, None)
                if seconds is not None:
                    retry = call, replied.error_type, recorded.at + seconds
    if retry and retry[2] > now:
        return wording.of_retry(retry[1], retry[2] - now)
    quiet = now - max(latest.values(), default=now)
    return wording.of_silence(quiet) if quiet >= QUIET_S else ""


def lately(text: str) -> tuple[int, str]:
    """The end of a text that is still being written, and how many characters are left out before
    it.

    It begins with a line where one begins nearby, and at the same place for a while as the text
    grows: a browser draws it anew several times a second.
    """
    if len(text) <= LIVE:
        return 0, text
    start = (len(text) - LIVE) // _STEP * _STEP + _STEP
    line = text.find("\n", start, start + _STEP)
    start = line + 1 if line >= 0 else start
    return start, text[start:]


def steps(events: Iterable[Recorded]) -> list[Step]:
    """The events worth showing above an answer: each thing once, in its latest state, calls with
    what they returned.

    Left out is what only repeats: the question and the answer among the agents, and messages that
    hand on a result.
    """
    heard = list(events)
    outer = filter(_is_outer, (recorded.event for recorded in heard))
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


def _place(turn: Turn, said: Said) -> None:
    if _is_question(said):
        turn.question = said
    elif said.extra.get("inner"):
        turn.inner.append(said)
    else:
        turn.answer = said


def _is_outer(event: Event) -> TypeGuard[MessageSent]:
    return isinstance(event, MessageSent) and not event.extra.get("inner")
