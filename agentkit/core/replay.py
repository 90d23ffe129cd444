"""What a run had completed, for the run that goes on with it where it broke off, or begins from it.

The agents work again from the beginning. What was completed is served from the recording: a model's
reply by agent and hash of the request, a tool's result, code, a look-up and a person's answer each
by what it was asked for, in their order. So nothing is done, or paid for, twice.
"""

from __future__ import annotations

import json
import random
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, takewhile
from operator import eq, itemgetter
from random import Random
from typing import Any, Generic, TypeVar, cast

from agentkit.core import bus
from agentkit.core.given import coalesce, find_first
from agentkit.errors import ReplayDiffers
from agentkit.events import (
    CodeRan,
    Event,
    HumanAnswered,
    HumanInputRequested,
    ModelCalled,
    ModelReplied,
    Retrieved,
    ToolCalled,
    ToolReturned,
)

T = TypeVar("T")
M = TypeVar("M", bound=Mapping[str, Any])
B = TypeVar("B")
E = TypeVar("E")
Messages = Sequence[Mapping[str, Any]]
ReadRequest = Callable[[str], Messages]
"""Gives the messages that were sent for a model call, by its id."""
Key = tuple[str, ...]
Span = tuple[object, object, object]
_SHOWN = 60  # characters of what differs, before and after


@dataclass(slots=True)
class _Step(Generic[B, E]):
    """Something that began, and how it ended, if it did."""

    begun: B
    end: E | None = None

    @property
    def whole(self) -> tuple[B, E] | None:
        """Both; None while it has not ended."""
        if self.end is None:
            return None
        return (self.begun, self.end)


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in a run that begins from a finished one."""

    run_id: str = ""
    """That run."""
    from_step: int = 0
    """Its model call from which on things are done anew, counted from 1; 0 for another place."""
    is_strict: bool = True
    """Whether all that is recorded comes before all that is done anew."""
    agent: str = ""
    """Whose instructions are other ones."""
    instructions: str | None = None
    """What that agent is told in place of its system message, or, where it has none, of the last
    message of its first call.
    """
    model_name: str = ""
    """The name of the model that was asked before, which stands for `instead_of_it`."""
    instead_of_it: str = ""


class _Shelf(Generic[T]):
    """Things by what they were asked for, each to be taken once, in their order."""

    def __init__(self) -> None:
        self._things: dict[Key, deque[T]] = defaultdict(deque)

    def put(self, key: Key, thing: T) -> None:
        self._things[key].append(thing)

    def first(self, key: Key) -> T | None:
        return next(iter(self._things.get(key, ())), None)

    def take(self, key: Key) -> T | None:
        things = self._things.get(key)
        if not things:
            return None
        return things.popleft()

    def is_empty(self) -> bool:
        return not any(self._things.values())

    def keys(self) -> list[Key]:
        return [key for key, things in list(self._things.items()) if things]


class Recording:
    """What is to be served; each thing once, by several threads if need be."""

    def __init__(
        self,
        events: Iterable[Event] = (),
        root: str = "",
        on_live: Callable[[], object] = lambda: None,
        read_request: ReadRequest = lambda call_id: (),
        change: Change | None = None,
    ) -> None:
        """`events` of the run, in order; `root` is the id of the first of the runs that went on
        with one another. `on_live` is called once, when something is done that was not recorded.
        `change` is what is different, where the run begins from a finished one.
        """
        self.root = root
        self.repeats = change is not None
        """Whether the run begins from a finished one, so that what it does anew was done before."""
        self._change, self._is_told = coalesce(change, _NO_CHANGE), False
        self._on_live, self._read_request = on_live, read_request
        self._replies: dict[str, list[ModelReplied]] = defaultdict(list)
        self._places: dict[str, int] = {}
        """Which of the model calls each is, from 1, by its id."""
        self._unfinished: set[Key] = set()
        self._open: set[str] = set()
        self._within_tools: set[str] = set()
        """Replies that were asked for while a tool ran, which may have asked; its result is
        served.
        """
        self._tools = _Shelf[_Step[ToolCalled, ToolReturned]]()
        self._questions = _Shelf[_Step[HumanInputRequested, HumanAnswered]]()
        self._code, self._found = _Shelf[CodeRan](), _Shelf[Retrieved]()
        self._said = _Shelf[str]()
        self._spans: dict[Span, dict[str, Any]] = {}
        self._numbers: dict[int, Span] = {}
        self._lock = threading.Lock()
        self._is_live = False
        self._begun: dict[str, Any] = {}
        for event in events:
            add = _ADD.get(type(event), Recording._pass_over)
            add(self, event)

    def _pass_over(self, event: Event) -> None:
        """Of other events nothing is served."""

    def _add_call(self, event: ModelCalled) -> None:
        if event.purpose == "chat":
            self._places.setdefault(event.call_id, len(self._places) + 1)
            self._unfinished.add((event.agent, event.asked))

    def _add_reply(self, event: ModelReplied) -> None:
        if event.purpose == "chat" and event.status == "ok":
            self._replies[event.agent].append(event)
            self._unfinished.discard((event.agent, event.asked))
            if self._open:
                self._within_tools.add(event.call_id)

    def _add_tool(self, event: ToolCalled) -> None:
        self._open.add(event.call_id)
        step = self._begun[event.call_id] = _Step[ToolCalled, ToolReturned](event)
        self._tools.put((event.agent, event.name, event.arguments), step)

    def _add_result(self, event: ToolReturned) -> None:
        self._open.discard(event.call_id)
        self._end(event.call_id, event)
        for passage in event.passages:
            self._numbers.setdefault(int(passage["marker"]), span_of(passage))

    def _add_question(self, event: HumanInputRequested) -> None:
        step = self._begun[event.request_id] = _Step[HumanInputRequested, HumanAnswered](event)
        self._questions.put((event.agent, event.prompt, event.draft), step)

    def _add_answer(self, event: HumanAnswered) -> None:
        if event.place is not None:
            self._said.put((str(event.place),), event.text)
            return
        self._end(event.request_id, event)

    def _end(self, begun_id: str, event: Event) -> None:
        """The end of a step whose begin is recorded."""
        step = self._begun.get(begun_id)
        if step is not None:
            step.end = event

    def _add_code(self, event: CodeRan) -> None:
        if not event.stopped:
            self._code.put((event.agent, event.language, event.code), event)

    def _add_hits(self, event: Retrieved) -> None:
        self._found.put((event.query, _way(event.mode == "exact")), event)
        self._spans |= {span_of(hit): hit for hit in event.hits}

    def take_reply(self, agent: str, asked: str, messages: Messages) -> ModelReplied | None:
        """The reply to a request; None where there is none, and it is to be sent.

        Raises ReplayDiffers when it is not the one that was sent at this point.
        """
        with self._lock:
            waiting = self._replies[agent]
            found = find_first(waiting, lambda one: one.asked == asked)
            if found is not None:
                waiting.remove(found)
                return found
            expected = waiting[0] if waiting else self._find_first()
            had_begun = (agent, asked) in self._unfinished
        may_differ = had_begun or _side_by_side.get()
        if expected is not None and not may_differ:
            self._refuse(expected, messages)
        self.go_live()
        return None

    def _find_first(self) -> ModelReplied | None:
        """What comes before anything that is done anew, where that is so."""
        if not self._change.is_strict:
            return None
        replies = chain.from_iterable(self._replies.values())
        return find_first(replies, lambda reply: reply.call_id not in self._within_tools)

    @property
    def origin(self) -> tuple[str, int]:
        """The finished run that the run begins from, and its model call from which on it does
        things anew; empty and 0 for none.
        """
        return self._change.run_id, self._change.from_step

    def name_of(self, model: str) -> str:
        """The name under which the model is asked, as far as requests are compared."""
        if model == self._change.instead_of_it:
            return self._change.model_name or model
        return model

    def revise(self, agent: str, messages: list[M]) -> list[M]:
        """The messages of a call that is made anew, with the instructions that are to be tried."""
        change = self._change
        if change.instructions is None or agent != change.agent or not messages:
            return messages
        place = 0
        if messages[0].get("role") != "system":
            if self._is_told:
                return messages
            self._is_told = True
            place = len(messages) - 1
        revised = list(messages)
        revised[place] = cast(M, {**messages[place], "content": change.instructions})
        return revised

    def has_result(self, agent: str, name: str, arguments: str) -> bool:
        """Whether such a call of a tool is recorded, however its arguments are laid out."""
        wanted = _read(arguments)
        with self._lock:
            keys = self._tools.keys()
        return any(key[:2] == (agent, name) and _read(key[2]) == wanted for key in keys)

    def has_code(self, agent: str, language: str, code: str) -> bool:
        """Whether such a block of code is recorded."""
        with self._lock:
            return self._code.first((agent, language, code)) is not None

    def take_result(
        self, agent: str, name: str, arguments: str
    ) -> tuple[ToolCalled, ToolReturned] | None:
        """A call of a tool with its result; None when it is to be run."""
        return self._take_whole(self._tools, (agent, name, arguments))

    def has_begun(self, agent: str, name: str, arguments: str) -> bool:
        """Whether the next such call had begun, and nobody knows how it ended."""
        with self._lock:
            step = self._tools.first((agent, name, arguments))
        return step is not None and step.end is None

    def has_asked(self, agent: str, prompt: str, draft: str) -> bool:
        """Whether the person was asked this next, answered or not."""
        with self._lock:
            return self._questions.first((agent, prompt, draft)) is not None

    def take_said(self, place: int) -> list[str]:
        """What a person had said unasked, after so many messages."""
        said: list[str] = []
        with self._lock:
            while text := self._said.take((str(place),)):
                said.append(text)
        return said

    def has_said(self) -> bool:
        """Whether there is something that a person says unasked later on."""
        with self._lock:
            return not self._said.is_empty()

    def take_answer(
        self, agent: str, prompt: str, draft: str
    ) -> tuple[HumanInputRequested, HumanAnswered] | None:
        """What a person was asked and answered; None when they are to be asked."""
        return self._take_whole(self._questions, (agent, prompt, draft))

    def take_code(self, agent: str, language: str, code: str) -> CodeRan | None:
        """What came of a block of code; None when it is to be run."""
        return self._take(self._code, (agent, language, code))

    def take_hits(self, query: str, *, exact: bool = False) -> Retrieved | None:
        """What a look-up found; None when it is to be made."""
        return self._take(self._found, (query, _way(exact)))

    def list_numbered(self) -> list[dict[str, Any]]:
        """The hits that tools had given numbers to, from 1 on, as in the events of their search."""
        in_order = map(itemgetter(1), sorted(self._numbers.items()))
        return [self._spans[span] for span in in_order if span in self._spans]

    def go_live(self) -> None:
        """Something is done from here on that was not recorded."""
        with self._lock:
            was_live, self._is_live = self._is_live, True
        if not was_live:
            self._on_live()

    def _take(self, shelf: _Shelf[T], key: Key) -> T | None:
        with self._lock:
            found = shelf.take(key)
        if found is None:
            self.go_live()
        return found

    def _take_whole(self, shelf: _Shelf[_Step[B, E]], key: Key) -> tuple[B, E] | None:
        """The next step of this key, if it is known how it ended."""
        step = self._take(shelf, key)
        return None if step is None else step.whole

    def _refuse(self, expected: ModelReplied, messages: Messages) -> None:
        then = self._read_request(expected.call_id)
        hashes = [list(map(hash_of, then)), list(map(hash_of, messages))]
        at = _count_alike(*hashes)
        difference = ReplayDiffers(
            f"{expected.agent or 'The model'} would be asked something else now than"
            f" {self._describe_then(expected.call_id)}:"
            f" {_describe_difference(then[at:], messages[at:], at)}. Nothing was asked."
            f" {self._advice}; what there was is kept."
        )
        difference.call_id = expected.call_id
        raise difference

    def _describe_then(self, call_id: str) -> str:
        if not self.repeats:
            return "before the app was closed"
        return f"in the answer before, at its model call {self._places.get(call_id, 1)}"

    @property
    def _advice(self) -> str:
        if self.repeats:
            return "Begin at an earlier step"
        return "Try again from the beginning"


_ADD: dict[type[Event], Callable[[Recording, Any], None]] = {
    ModelCalled: Recording._add_call,
    ModelReplied: Recording._add_reply,
    ToolCalled: Recording._add_tool,
    ToolReturned: Recording._add_result,
    HumanInputRequested: Recording._add_question,
    HumanAnswered: Recording._add_answer,
    CodeRan: Recording._add_code,
    Retrieved: Recording._add_hits,
}


def span_of(passage: Mapping[str, Any]) -> Span:
    """What a passage is known by: its document, and where in it it begins and ends."""
    return passage.get("document_id"), passage.get("start"), passage.get("end")


def _read(arguments: str) -> object:
    """What a tool is given, as a value where it is JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments.strip()


def _way(exact: bool) -> str:
    return "exact" if exact else ""


def _describe_difference(then: Messages, now: Messages, at: int) -> str:
    if not then and not now:
        return "its messages are the same, but not the tools or the parameters"
    if not then:
        return f"there are more messages than {at}"
    if not now:
        return f"there are fewer messages than {at}"
    old = json.dumps(then[0], ensure_ascii=False, default=str)
    new = json.dumps(now[0], ensure_ascii=False, default=str)
    start = _count_alike(old, new)
    cut = slice(max(0, start - _SHOWN // 2), start + _SHOWN)
    return f"message {at + 1} was «…{old[cut]}…» and is «…{new[cut]}…»"


def _count_alike(one: Sequence[object], other: Sequence[object]) -> int:
    """How many of both agree, from their beginning on."""
    agreeing = map(eq, one, other)
    return len(list(takewhile(bool, agreeing)))


def hash_of(value: object) -> str:
    """What two equal JSON values share."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=_name_kind)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _name_kind(value: object) -> str:
    """What stands for a value that JSON has nothing for; the same in every process."""
    return f"<{type(value).__qualname__}>"


F = TypeVar("F", bound=Callable[..., Any])


def run_again(tool: F) -> F:
    """Mark a tool as one that is run again, as agents keep what it gives beside its result; what it
    looks up is served.
    """
    vars(tool)["runs_again"] = True
    return tool


def is_run_again(tool: object) -> bool:
    """Whether a tool is marked so."""
    return bool(getattr(tool, "runs_again", False))


_NO_CHANGE = Change(is_strict=False)
_NOTHING = Recording()
"""Where nothing is gone on with."""
_current: ContextVar[Recording | None] = ContextVar("agentkit_replay", default=None)
_chance: ContextVar[Random | None] = ContextVar("agentkit_chance", default=None)
_side_by_side: ContextVar[bool] = ContextVar("agentkit_side_by_side", default=False)


def current() -> Recording | None:
    """What the enclosing run goes on with, if it does."""
    return _current.get()


def find_recording() -> Recording:
    """The same; an empty recording where the run goes on with nothing."""
    return coalesce(_current.get(), _NOTHING)


def name_of(model: str) -> str:
    """The name under which a model is asked, as far as requests are compared."""
    return find_recording().name_of(model)


def revise(agent: str, messages: list[M]) -> list[M]:
    """The messages of a call that is made anew; others than these where instructions are tried."""
    return find_recording().revise(agent, messages)


@contextmanager
def replaying(recording: Recording | None, root: str = "") -> Iterator[None]:
    """Serve from this in the block; what is left to chance there, `root` decides."""
    token, other = _current.set(recording), _chance.set(Random(root))
    try:
        yield
    finally:
        _current.reset(token)
        _chance.reset(other)


def chance() -> Random:
    """What decides by chance: in a run the same when it is gone on with."""
    return _chance.get() or Random(random.getrandbits(64))


def tell_result(agent: str, name: str, arguments: str) -> ToolReturned | None:
    """What a call of a tool gave before the run broke off with which this one goes on; it is told
    again. None when the tool is to be run.
    """
    found = find_recording().take_result(agent, name, arguments)
    if found is None:
        return None
    called, returned = found
    bus.emit(called)
    bus.emit(returned)
    return returned


def work_side_by_side() -> None:
    """Say that this context's requests come in no certain order, as those of steps at one time."""
    _side_by_side.set(True)
