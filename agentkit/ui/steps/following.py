"""What is known of a run that goes on: each look takes in what happened since the one before."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    ThinkingDelta,
    TokenDelta,
    ToolReturned,
)
from agentkit.runs import Run
from agentkit.teams.citing import Citation
from agentkit.teams.drafts import Draft
from agentkit.teams.ending import without_ending
from agentkit.ui.steps import wording
from agentkit.ui.steps.flow import Flow
from agentkit.ui.steps.registry import kind_of
from agentkit.ui.steps.step import Steps
from agentkit.ui.steps.turns import Turn, place

_CITED = {field.name for field in fields(Citation)} - {"marker"}
QUIET_S = 10.0
"""Seconds without a word of a model after which that is told."""


class Waiting:
    """Follows what the calls of models wait for."""

    def __init__(self) -> None:
        self._latest: dict[str, float] = {}
        self._retry: tuple[str, str, float] | None = None

    def hear(self, recorded: Recorded) -> None:
        """Take the next event in."""
        match recorded.event:
            case ModelCalled(call_id=call):
                self._latest[call] = recorded.at
                if self._retry and self._retry[0] == call:
                    self._retry = None
            case TokenDelta(call_id=call) | ThinkingDelta(call_id=call) if call in self._latest:
                self._latest[call] = recorded.at
            case ModelReplied(call_id=call, retry_in_s=seconds) as replied:
                self._latest.pop(call, None)
                if seconds is not None:
                    self._retry = call, replied.error_type, recorded.at + seconds

    def describe(self, now: float) -> str:
        """What is waited for at `now`, in words: a next attempt, or a word; empty where there is
        none.

        While any of the calls gets words, none is missed. Calls for vectors count, too.
        """
        if self._retry and self._retry[2] > now:
            return wording.of_retry(self._retry[1], self._retry[2] - now)
        quiet = now - max(self._latest.values(), default=now)
        if quiet >= QUIET_S:
            return wording.of_silence(quiet)
        return ""


class Following:
    """The turn that a run works on; each event is taken in once, however often one looks.

    `agent` writes the answer. `aloud`: whether what others write is meant for one another.
    """

    def __init__(self, agent: str, *, aloud: bool = True) -> None:
        self.flow = Flow()
        self.waiting = Waiting()
        self._turn = Turn("")
        self._draft = Draft(agent)
        self._steps = Steps(writer=agent, live=True, aloud=aloud)
        self._material: list[Event] = []
        self._seen = 0
        self._lock = threading.Lock()

    def catch_up(self, run: Run[Any]) -> Turn:
        """The turn as it is now."""
        with self._lock:
            for recorded in run.events(self._seen):
                self.hear(recorded)
                self._seen = recorded.seq
            return self.make_turn(run.id)

    def hear(self, recorded: Recorded) -> None:
        """Take the next event in."""
        event, made = recorded.event, self._steps
        if isinstance(event, MessageSent):
            place(self._turn, event)
        elif isinstance(event, Retrieved | ToolReturned):
            self._material.append(event)
        self._draft.hear(event)
        self.flow.hear(event)
        self.waiting.hear(recorded)
        made.let_go()
        made.at = recorded.at
        kind_of(event).enter(event, recorded.seq, made)

    def make_turn(self, run_id: str) -> Turn:
        """The turn after what was heard."""
        turn, held = self._turn, self._steps.held
        if turn.answer and turn.answer.content:
            text = without_ending(turn.answer.content)
        else:
            text = without_ending(held.content) if held else self._draft.read()
        return replace(
            turn,
            run_id=run_id,
            inner=list(turn.inner),
            text=text,
            thinking="".join(self._draft.thinking),
            sources=_sources(self._material),
            steps=list(self._steps.shown.values()),
        )


_followed: WeakKeyDictionary[Run[Any], Following] = WeakKeyDictionary()
_lock = threading.Lock()


def follow(run: Run[Any], agent: str, *, aloud: bool = True) -> Following:
    """What is known of the run, for all pages that look at it."""
    with _lock:
        known = _followed.get(run)
        if known is None:
            known = _followed[run] = Following(agent, aloud=aloud)
        return known


def _sources(events: Iterable[Event]) -> dict[int, dict[str, Any]]:
    """The passages by the numbers that the model knows them by, as far as the events tell these.

    Tools number what they give; else there is one search, whose passages are numbered in order.
    """
    searches: list[list[dict[str, Any]]] = []
    numbered: dict[int, tuple[object, ...]] = {}
    for event in events:
        if isinstance(event, Retrieved):
            citable = [hit for hit in event.hits if hit.keys() >= _CITED]
            searches.append(citable)
        elif isinstance(event, ToolReturned):
            for gave in event.passages:
                numbered[int(gave["marker"])] = _span(gave)
    if numbered:
        found = _find_numbered(searches, numbered)
    elif len(searches) == 1:
        found = dict(enumerate(searches[0], start=1))
    else:
        found = {}
    return {n: {**hit, "marker": n} for n, hit in found.items()}


def _find_numbered(
    searches: Sequence[Sequence[dict[str, Any]]], numbered: Mapping[int, tuple[object, ...]]
) -> dict[int, dict[str, Any]]:
    """The hits that tools gave a number, by it."""
    known: dict[tuple[object, ...], dict[str, Any]] = {}
    for hit in chain.from_iterable(searches):
        known[_span(hit)] = hit
    return {n: known[span] for n, span in numbered.items() if span in known}


def _span(passage: Mapping[str, Any]) -> tuple[object, ...]:
    return passage["document_id"], passage["start"], passage["end"]
