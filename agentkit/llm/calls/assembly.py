"""A streamed reply of OpenAI's chat API, put together; the text is passed on while it comes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from agentkit.core.given import coalesce
from agentkit.errors import BadModelReply, ModelUnreachable
from agentkit.events import ReplyEnd
from agentkit.llm.calls.replies import (
    LONGEST_REPLY,
    MOST_CALLS,
    MOST_CHOICES,
    Room,
    join_content,
    read_calls,
    read_choices,
    read_finish_reason,
    read_identity,
    read_single_call,
    read_text,
    read_usage,
    take_arguments,
)
from agentkit.llm.calls.stream import delta, thought
from agentkit.llm.calls.thinking import find_thinking
from agentkit.llm.calls.wire import Sender, parse_json
from agentkit.messages import EXTRA, FunctionCall, ToolCall, as_calls

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


def assemble_stream(events: Iterable[tuple[bytes, bool]], sender: Sender) -> ChatCompletion:
    """Read a stream to its end, or as far as there is room; the first choice's text is passed on.

    `events` are those of `wire.read_events`. The reply has a `reply_end` where its `finish_reason`
    cannot say how it ended. Raises ModelError when nothing comes, what comes is not a reply, or the
    stream ends before there is anything to use.
    """
    made = _Assembly(sender)
    try:
        for data, is_over in events:
            if data.startswith(b"[DONE]"):
                made.is_done = True
                break
            if not is_over and not _is_json(data):
                break  # the connection ended in the middle of it
            made.add(parse_json(data, sender))
            if made.room.is_full:
                break
        return made.completion()
    except BadModelReply as error:
        if made.choices:
            error.taken = made.whole.get("usage", {})
        raise


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


class _Assembly:
    """What has come of a reply."""

    def __init__(self, sender: Sender) -> None:
        self.room = Room()
        self.whole: dict[str, Any] = {}
        self.choices: dict[int, _Choice] = {}
        self.is_done = False
        """Whether the server said that this was all."""
        self._sender = sender

    def add(self, value: object) -> None:
        """Take the next piece in; raises ModelError where it cannot be one."""
        self._sender.check_error(value)
        piece = self._sender.read_object(value, "a piece")
        identity = read_identity(piece, self._sender)
        told = dict(filter(itemgetter(1), identity.items()))
        self.whole = identity | self.whole | told | read_usage(piece)
        for choice in read_choices(piece, self._sender):
            index = self._read_index(choice.get("index"))
            made = self.choices.setdefault(index, _Choice())
            made.add(choice, self.room, self._sender, shown=index == 0)

    def completion(self) -> ChatCompletion:
        """The reply; raises ModelError when nothing came, or nothing that can be used."""
        from openai.types.chat import ChatCompletion

        sender = self._sender
        if not self.whole:
            raise BadModelReply(
                f"{sender.server} ended its reply without a word from {sender.model}; "
                "check the address, which usually ends in /v1."
            )
        values: dict[str, Any] = {**self.whole, "choices": []}
        for index, choice in sorted(self.choices.items()):
            values["choices"].append(choice.whole(index, sender))
        if end := self._find_end():
            values["reply_end"] = end
        return ChatCompletion.construct(**values)

    def _read_index(self, given: object) -> int:
        """Which choice a piece is of; without a number, the first."""
        index = coalesce(given, 0)
        if type(index) is not int or index not in range(MOST_CHOICES):
            raise self._sender.refuse(given, "the number of a choice")
        return index

    def _find_end(self) -> ReplyEnd | None:
        """How it ended, where it has no finish reason; raises ModelError for a part of no use."""
        first = self.choices.get(0, _Choice())
        # The arguments of a call may be cut, or not have begun: it must not be made.
        can_be_used = any(first.texts) and not first.has_calls()
        if self.room.is_full:
            if can_be_used:
                return "too_long"
            raise self._sender.too_large(
                f"more than {LONGEST_REPLY:,} characters beside calls of functions"
            )
        if self.is_done or first.finish_reason:
            return None
        if can_be_used:
            return "broken_off"
        error = ModelUnreachable(
            f"{self._sender.server} ended its answer before it was whole; try again."
        )
        error.retry_after_s = 0.0
        raise error


@dataclass(slots=True)
class _Choice:
    """What has come of one of the replies."""

    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    """What came beside the text."""
    calls: dict[int, _Call] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)
    """The number of a call by the one that the server gave it last, where that was taken."""
    single: _Call = field(default_factory=lambda: _Call())
    """The only call, in the form that OpenAI had before tools."""
    finish_reason: str | None = None

    def add(self, choice: Mapping[str, Any], room: Room, sender: Sender, *, shown: bool) -> None:
        self.finish_reason = read_finish_reason(choice) or self.finish_reason
        piece = sender.read_part(choice, "delta", "a piece")
        thinking = room.take(find_thinking(piece))
        said = read_text(piece.get("content"), sender) or read_text(piece.get("refusal"), sender)
        text = room.take(said)
        self.thoughts.append(thinking)
        self.texts.append(text)
        if shown:
            thought(thinking)
            delta(text)
        for part in read_calls(piece, sender):
            self._add_call(part, room, sender)
        if single := read_single_call(piece, sender):
            self.single.add(single, room, sender)

    def has_calls(self) -> bool:
        return bool(self.calls or self.single.names)

    def whole(self, index: int, sender: Sender) -> dict[str, Any]:
        in_order = map(itemgetter(1), sorted(self.calls.items()))
        calls = list(map(_Call.whole, in_order, repeat(sender)))
        single = None
        if self.single.names:
            single = self.single.function(sender)
        said = join_content(self.texts, self.thoughts)
        message = {"role": "assistant", **said, **as_calls(calls, single)}
        return {"index": index, "finish_reason": self.finish_reason, "message": message}

    def _add_call(self, part: Mapping[str, Any], room: Room, sender: Sender) -> None:
        given = coalesce(part.get("index"), self._guess_number(part))
        if type(given) is not int:
            raise sender.refuse(given, "the number of a tool call")
        number = self.numbers.get(given, given)
        if self._is_of_another(part, number):
            number = self.numbers[given] = max(self.calls) + 1
        made = self.calls.setdefault(number, _Call())
        if len(self.calls) > MOST_CALLS:
            raise sender.too_large(f"more than {MOST_CALLS} calls of functions")
        if part["id"]:
            made.id = part["id"]
        made.take_extra(part.get(EXTRA), room, sender)
        if part["function"]:
            made.add(part["function"], room, sender)

    def _is_of_another(self, part: Mapping[str, Any], number: int) -> bool:
        """Whether a piece begins another call than the one of that number: some servers number all
        calls alike. A new id alone says nothing, as others give each piece one.
        """
        if number not in self.calls or not part["function"]:
            return False
        known = self.calls[number]
        begins = part["id"] and part["function"]["name"] and any(known.names)
        return bool(begins and part["id"] != known.id)

    def _guess_number(self, part: Mapping[str, Any]) -> int:
        """Of which call a piece is that has no number: some servers send each call in one piece."""
        if part["id"] or not self.calls:
            return max(self.calls, default=-1) + 1
        return max(self.calls)


@dataclass(slots=True)
class _Call:
    """What has come of a call of a function."""

    id: str = ""
    names: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def take_extra(self, given: object, room: Room, sender: Sender) -> None:
        """What stands beside a piece; what comes without end is refused."""
        if not isinstance(given, Mapping):
            return
        room.take(json.dumps(given))
        if room.is_full:
            raise sender.too_large(f"calls of functions of more than {LONGEST_REPLY:,} characters")
        self.extra.update(given)

    def add(self, part: FunctionCall, room: Room, sender: Sender) -> None:
        take_arguments(part, room, sender)
        self.names.append(part["name"])
        self.arguments.append(part["arguments"])

    def whole(self, sender: Sender) -> ToolCall:
        made = ToolCall(id=self.id, type="function", function=self.function(sender))
        if self.extra:
            made["extra_content"] = self.extra
        return made

    def function(self, sender: Sender) -> FunctionCall:
        name, arguments = "".join(self.names), "".join(self.arguments)
        if not name:
            raise sender.refuse(arguments, "the call of a function without a name")
        return {"name": name, "arguments": arguments}
