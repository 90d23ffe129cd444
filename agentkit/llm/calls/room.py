"""The guard before every request: what is sent stays below the model's window.

Long results of tools and of code are shortened to their first and last lines; where that does not
do, the oldest messages in the middle are left out, calls together with their results. The system
message, the last question and what came last stay. What is stored anywhere is not touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentkit.core import bus
from agentkit.errors import ContextTooLong
from agentkit.events import Compressed
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import TokenCounter, counter_of
from agentkit.llm.tokens.families import family_of
from agentkit.llm.tokens.windows import window_of
from agentkit.messages import Message, has_calls, is_result

STRATEGY = "window"
"""How the events name this guard."""
REPLY, REPLY_SHARE = 4_096, 4
"""Tokens that a shortened prompt leaves free for the reply: at most one part in so many."""
NEEDED, NEEDED_SHARE = 256, 16
"""The same of a prompt that is sent as it is."""
MARGIN = 10
"""One part in so many of the window is kept free where the model's tokenizer is not known."""
_LEAST, _BARE = 256, 32
"""Tokens that are left of a result before messages are left out, and when nothing else helps."""
_MOST_PER_CHARACTER, _PER_MESSAGE = 4, 64
"""Tokens that a character and the frame of a message may take at most."""
_CODE_OUTPUT = "exitcode: "
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that a prompt for a model may have."""

    most: int
    """More is never sent."""
    goal: int
    """To which a prompt is shortened that has more than that."""


def room_in(model: Model, params: Mapping[str, object]) -> Room | None:
    """The room below the model's window, beside the reply; None where nobody knows the window."""
    window = window_of(model)
    if window is None or not model.is_language_model:
        return None
    own = getattr(model.client, "count_tokens", None)
    free = window - (
        0 if callable(own) or family_of(model.name).text_is_known else window // MARGIN
    )
    allowed = params.get("max_completion_tokens") or params.get("max_tokens")
    if isinstance(allowed, int) and not isinstance(allowed, bool) and allowed > 0:
        most = free - min(allowed, window // 2)
        return Room(most, most)
    needed, reply = min(NEEDED, window // NEEDED_SHARE), min(REPLY, window // REPLY_SHARE)
    return Room(free - needed, free - reply)


def fitted(
    model: Model,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, object]],
    params: Mapping[str, object],
    agent: str,
) -> list[Message]:
    """The messages as they can be sent; those given where they fit, or the window is not known.

    Emits Compressed when they did not fit. Raises ContextTooLong when even the shortest form does
    not: nothing was sent then.
    """
    asked, room = list(messages), room_in(model, params)
    if room is None or _surely_fits(asked, tools, room.most):
        return asked
    counter = counter_of(model)
    tokens, estimated = counter.prompt(asked, tools)
    if tokens <= room.most:
        return asked
    made, after = _Fitting(asked, counter, tools, tokens).into(room.goal)
    if after > room.most:
        who = f"{agent}: the model {model.name}" if agent else f"The model {model.name}"
        raise ContextTooLong(
            f"{who} takes {window_of(model):,} tokens with its reply, and this request has"
            f" {after:,} even in its shortest form, so it was not sent; ask for less, give fewer"
            " or shorter passages, or choose a model with a larger window."
        )
    bus.emit(
        Compressed(
            agent,
            STRATEGY,
            True,
            len(asked),
            len(made),
            tokens,
            after,
            estimated=estimated,
            results_shortened=_shorter(asked, made),
        )
    )
    return made


def shortened(text: str, characters: int) -> str:
    """The first and last lines of a text, about so many characters, with what was cut said."""
    half = characters // 2
    head, tail = text[:half], text[len(text) - half :]
    if "\n" in head[half // 2 :]:
        head = head[: head.rindex("\n") + 1]
    if "\n" in tail[: half // 2]:
        tail = tail[tail.index("\n") + 1 :]
    cut = text[len(head) : len(text) - len(tail)]
    lines = cut.count("\n")
    said = f"{lines:,} lines, {len(cut):,} characters" if lines else f"{len(cut):,} characters"
    start = head if head.endswith("\n") or not head else f"{head}\n"
    return f"{start}[... {said} were left out here ...]\n{tail}"


@dataclass(frozen=True, slots=True)
class _Unit:
    """Messages that only make sense together: a call with its results, or one message."""

    places: tuple[int, ...]
    tokens: int


class _Fitting:
    """One prompt on its way into a room."""

    def __init__(
        self,
        messages: list[Message],
        counter: TokenCounter,
        tools: Sequence[Mapping[str, Any]],
        tokens: int,
    ) -> None:
        self._messages, self._counter, self._tools = messages, counter, tools
        self._sizes = [counter.message(each)[0] for each in messages]
        self._fixed = tokens - sum(self._sizes)
        """Of the tools and the opening of the reply."""

    def into(self, room: int) -> tuple[list[Message], int]:
        """The longest form that was found, with its tokens: more than the room when none fits."""
        goal = room
        for _ in range(_TRIES):
            made = self._shaped(goal)
            tokens = self._counter.prompt(made, self._tools)[0]
            if tokens <= room:
                break
            goal -= tokens - room  # a few more than were reckoned with
        return made, tokens

    def _shaped(self, goal: int) -> list[Message]:
        whole = range(len(self._messages))
        most = goal // 2
        while most >= _LEAST:
            if self._reckoned(whole, most) <= goal:
                return self._cut(whole, most)
            most //= 2
        kept = self._chosen(goal, _LEAST)
        if self._reckoned(kept, _LEAST) > goal:
            kept = self._chosen(goal, _BARE)
            return self._cut(kept, _BARE)
        return self._cut(kept, _LEAST)

    def _reckoned(self, places: Sequence[int], most: int) -> int:
        """Tokens of these messages when no result has more than `most`."""
        frame = _PER_MESSAGE if len(places) < len(self._messages) else 0
        return self._fixed + frame + sum(self._size(place, most) for place in places)

    def _size(self, place: int, most: int) -> int:
        size = self._sizes[place]
        return min(size, most) if _is_result(self._messages[place]) else size

    def _chosen(self, goal: int, most: int) -> list[int]:
        """The places of what is kept: the oldest units in the middle go first."""
        units = [
            _Unit(places, sum(self._size(place, most) for place in places))
            for places in _units(self._messages)
        ]
        order = self._order(units)
        tokens = self._fixed + _PER_MESSAGE + sum(unit.tokens for unit in units)
        gone: set[int] = set()
        for number in order:
            if tokens <= goal:
                break
            gone.add(number)
            tokens -= units[number].tokens
        kept = [unit.places for number, unit in enumerate(units) if number not in gone]
        return [place for places in kept for place in places]

    def _order(self, units: Sequence[_Unit]) -> list[int]:
        """The numbers of what may go, in the order in which it goes: the first question last."""
        fixed = _fixed(self._messages, units)
        free = [number for number in range(len(units)) if number not in fixed]
        first = next((n for n, unit in enumerate(units) if self._is_question(unit)), None)
        return sorted(free, key=lambda number: number == first)

    def _is_question(self, unit: _Unit) -> bool:
        return _is_question(self._messages[unit.places[0]])

    def _cut(self, places: Sequence[int], most: int) -> list[Message]:
        made = [self._short(place, most) for place in places]
        gone = len(self._messages) - len(made)
        return _with_note(made, gone) if gone else made

    def _short(self, place: int, most: int) -> Message:
        message, size = self._messages[place], self._sizes[place]
        content = message.get("content")
        if size <= most or not isinstance(content, str) or not _is_result(message):
            return message
        characters = len(content) * most // size
        for _ in range(_TRIES):
            shorter = cast(Message, {**message, "content": shortened(content, characters)})
            if self._counter.message(shorter)[0] <= most:
                return shorter
            characters = characters * 3 // 4
        bare = cast(Message, {**message, "content": shortened(content, 0)})
        return bare if self._counter.message(bare)[0] < size else message


def _surely_fits(
    messages: Sequence[Message], tools: Sequence[Mapping[str, object]], room: int
) -> bool:
    """Whether even a token for each byte would do: then nothing has to be counted."""
    total = _at_most(repr(tools)) if tools else 0
    for message in messages:
        if not isinstance(message.get("content"), str | None):
            return False
        texts = (each if isinstance(each, str) else repr(each) for each in message.values())
        total += _PER_MESSAGE + sum(map(_at_most, texts))
    return total + _PER_MESSAGE <= room


def _at_most(text: str) -> int:
    return len(text) if text.isascii() else len(text) * _MOST_PER_CHARACTER


def _is_result(message: Message) -> bool:
    """Whether a message is what a tool or a program gave."""
    content = message.get("content")
    if is_result(message):
        return isinstance(content, str)
    return isinstance(content, str) and content.startswith(_CODE_OUTPUT)


def _is_question(message: Message) -> bool:
    return message.get("role") == "user" and not _is_result(message)


def _units(messages: Sequence[Message]) -> list[tuple[int, ...]]:
    units: list[list[int]] = []
    calls = False
    for place, message in enumerate(messages):
        if calls and is_result(message):
            units[-1].append(place)
            continue
        units.append([place])
        calls = has_calls(message)
    return [tuple(unit) for unit in units]


def _fixed(messages: Sequence[Message], units: Sequence[_Unit]) -> set[int]:
    """The units that stay: system messages at the start, the last question, and the last unit."""
    kept = {len(units) - 1}
    for number, unit in enumerate(units):
        if messages[unit.places[0]].get("role") not in ("system", "developer"):
            break
        kept.add(number)
    questions = (
        n for n in range(len(units) - 1, -1, -1) if _is_question(messages[units[n].places[0]])
    )
    return kept | {last for last in [next(questions, None)] if last is not None}


def _with_note(messages: list[Message], gone: int) -> list[Message]:
    """With what was left out said to the model: in the system message where there is one."""
    said = f"[{gone:,} earlier messages of this conversation were left out to fit your window.]"
    first = messages[0] if messages else None
    content = first.get("content") if first else None
    if first and first.get("role") in ("system", "developer") and isinstance(content, str):
        return [cast(Message, {**first, "content": f"{content}\n\n{said}"}), *messages[1:]]
    return [{"role": "user", "content": said}, *messages]


def _shorter(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many results of tools and code were shortened."""
    whole = {id(message) for message in before}
    return sum(id(message) not in whole and _is_result(message) for message in after)
