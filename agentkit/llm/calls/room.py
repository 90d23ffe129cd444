"""The guard before every request: what is sent stays below the model's window.

Long results of tools and of code are shortened to their first and last lines; where that does not
do, the oldest messages in the middle are left out, calls together with their results. The system
message, the last question and what came last stay. What is stored anywhere is not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, count, repeat, takewhile
from types import NoneType
from typing import Any, cast

from agentkit.core import bus
from agentkit.core.given import list_missing, list_new_objects
from agentkit.core.lenient import count_or_zero
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
_SYSTEM_ROLES = ("system", "developer")
_TEXT = {str, NoneType}
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
    free = window
    if not _counts_exactly(model):
        free -= window // MARGIN
    allowed = find_reply_limit(params)
    if allowed:
        most = free - min(allowed, window // 2)
        return Room(most, most)
    needed, reply = min(NEEDED, window // NEEDED_SHARE), min(REPLY, window // REPLY_SHARE)
    return Room(free - needed, free - reply)


def _counts_exactly(model: Model) -> bool:
    """Whether the client counts tokens itself, or the model's tokenizer is known."""
    own = getattr(model.client, "count_tokens", None)
    return callable(own) or family_of(model.name).text_is_known


def find_reply_limit(params: Mapping[str, object]) -> int:
    """The tokens that the parameters of a call allow its reply; 0 when they set no limit."""
    return count_or_zero(params.get("max_completion_tokens") or params.get("max_tokens"))


def fit_messages(
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
    given, room = list(messages), room_in(model, params)
    if room is None or _surely_fits(given, tools, room.most):
        return given
    counter = counter_of(model)
    tokens, estimated = counter.prompt(given, tools)
    if tokens <= room.most:
        return given
    made, after = _Fitting(given, counter, tools, tokens).fit(room.goal)
    if after > room.most:
        who = model.name_for(agent)
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
            len(given),
            len(made),
            tokens,
            after,
            estimated=estimated,
            results_shortened=_count_shortened(given, made),
        )
    )
    return made


def shorten(text: str, characters: int) -> str:
    """The first and last lines of a text, about so many characters, with what was cut said."""
    half = characters // 2
    line_end = text.rfind("\n", half // 2, half) + 1
    head, tail = text[: line_end or half], text[len(text) - half :]
    tail = tail[tail.find("\n", 0, half // 2) + 1 :]
    cut = text[len(head) : len(text) - len(tail)]
    lines = cut.count("\n")
    said = f"{len(cut):,} characters"
    if lines:
        said = f"{lines:,} lines, {said}"
    if head:
        head = head.removesuffix("\n") + "\n"
    return f"{head}[... {said} were left out here ...]\n{tail}"


@dataclass(frozen=True, slots=True)
class _Counted:
    """A message and its tokens."""

    message: Message
    tokens: int
    is_result: bool
    """Whether it may be shortened."""

    def size(self, most: int) -> int:
        """Its tokens when no result has more than `most`."""
        if self.is_result:
            return min(self.tokens, most)
        return self.tokens

    def shorten(self, most: int, counter: TokenCounter) -> Message:
        """The message, as a result with about `most` tokens."""
        if self.size(most) == self.tokens:
            return self.message
        characters = len(str(self.message["content"])) * most // self.tokens
        for _ in range(_TRIES):
            shorter = self._cut(characters)
            if counter.message(shorter)[0] <= most:
                return shorter
            characters = characters * 3 // 4
        bare = self._cut(0)
        if counter.message(bare)[0] < self.tokens:
            return bare
        return self.message

    def _cut(self, characters: int) -> Message:
        content = shorten(str(self.message["content"]), characters)
        return cast(Message, {**self.message, "content": content})


_Unit = list[_Counted]
"""Messages that only make sense together: a call with its results, or one message."""


class _Fitting:
    """One prompt on its way into a room."""

    def __init__(
        self,
        messages: list[Message],
        counter: TokenCounter,
        tools: Sequence[Mapping[str, Any]],
        tokens: int,
    ) -> None:
        self._counter, self._tools = counter, tools
        sizes = [counter.message(message)[0] for message in messages]
        self._whole = list(map(_Counted, messages, sizes, map(_is_result, messages)))
        self._fixed = tokens - sum(sizes)
        """Of the tools and the opening of the reply."""

    def fit(self, room: int) -> tuple[list[Message], int]:
        """The longest form that was found, with its tokens: more than the room when none fits."""
        goal = room
        for _ in range(_TRIES):
            made = self._shape(goal)
            tokens = self._counter.prompt(made, self._tools)[0]
            if tokens <= room:
                break
            goal -= tokens - room  # a few more than were reckoned with
        return made, tokens

    def _shape(self, goal: int) -> list[Message]:
        """The messages with shorter results; without some of them where that does not do."""
        most = goal // 2
        while most >= _LEAST:
            if self._estimate(self._whole, most) <= goal:
                return self._shorten(self._whole, most)
            most //= 2
        kept = self._choose(goal, _LEAST)
        if self._estimate(kept, _LEAST) <= goal:
            return self._shorten(kept, _LEAST)
        return self._shorten(self._choose(goal, _BARE), _BARE)

    def _estimate(self, kept: Sequence[_Counted], most: int) -> int:
        """Tokens of these messages when no result has more than `most`."""
        tokens = self._fixed + _sum_sizes(kept, most)
        if len(kept) < len(self._whole):
            tokens += _PER_MESSAGE
        return tokens

    def _choose(self, goal: int, most: int) -> list[_Counted]:
        """What is kept: the oldest units in the middle go first."""
        units = _split_into_units(self._whole)
        tokens = self._fixed + _PER_MESSAGE + _sum_sizes(self._whole, most)
        for number in _order_removals(units):
            if tokens <= goal:
                break
            tokens -= _sum_sizes(units[number], most)
            units[number] = []
        return list(chain.from_iterable(units))

    def _shorten(self, kept: Sequence[_Counted], most: int) -> list[Message]:
        made = list(map(_Counted.shorten, kept, repeat(most), repeat(self._counter)))
        gone = len(self._whole) - len(made)
        if not gone:
            return made
        return _add_note(made, gone)


def _sum_sizes(counted: Iterable[_Counted], most: int) -> int:
    return sum(map(_Counted.size, counted, repeat(most)))


def _surely_fits(
    messages: Sequence[Message], tools: Sequence[Mapping[str, object]], room: int
) -> bool:
    """Whether even a token for each byte would do: then nothing has to be counted."""
    if not {type(message.get("content")) for message in messages} <= _TEXT:
        return False
    values = chain.from_iterable(message.values() for message in messages)
    total = sum(map(_bound_tokens, (*values, tools))) + _PER_MESSAGE * (len(messages) + 1)
    return total <= room


def _bound_tokens(value: object) -> int:
    """More tokens than the value can have as text."""
    text = value if isinstance(value, str) else repr(value)
    if text.isascii():
        return len(text)
    return len(text) * _MOST_PER_CHARACTER


def _is_result(message: Message) -> bool:
    """Whether a message is what a tool or a program gave, as text."""
    content = message.get("content")
    if not isinstance(content, str):
        return False
    return is_result(message) or content.startswith(_CODE_OUTPUT)


def _split_into_units(counted: Sequence[_Counted]) -> list[_Unit]:
    units: list[_Unit] = []
    follows_call = False
    for each in counted:
        if follows_call and is_result(each.message):
            units[-1].append(each)
            continue
        units.append([each])
        follows_call = has_calls(each.message)
    return units


def _order_removals(units: Sequence[_Unit]) -> list[int]:
    """The numbers of the units that may go, in the order in which they go.

    System messages at the start, the last question and the last unit stay; the first question goes
    last.
    """
    opening = len(list(takewhile(_is_system, units)))
    questions = list(compress(count(), map(_is_question, units)))
    stay = {*range(opening), *questions[-1:], len(units) - 1}
    removable = list_missing(range(len(units)), stay)
    return sorted(removable, key=lambda place: place in questions[:1])


def _is_system(unit: _Unit) -> bool:
    return unit[0].message.get("role") in _SYSTEM_ROLES


def _is_question(unit: _Unit) -> bool:
    return unit[0].message.get("role") == "user" and not unit[0].is_result


def _add_note(messages: list[Message], gone: int) -> list[Message]:
    """With what was left out said to the model: in the system message where there is one."""
    said = f"[{gone:,} earlier messages of this conversation were left out to fit your window.]"
    first, *others = messages
    content = first.get("content")
    if first.get("role") in _SYSTEM_ROLES and isinstance(content, str):
        return [cast(Message, {**first, "content": f"{content}\n\n{said}"}), *others]
    return [{"role": "user", "content": said}, *messages]


def _count_shortened(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many results of tools and code were shortened."""
    return sum(map(_is_result, list_new_objects(before, after)))
