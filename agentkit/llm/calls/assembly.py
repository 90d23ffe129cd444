"""A streamed reply of OpenAI's chat API, put together; the text is passed on while it comes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentkit.errors import BadModelReply, ModelUnreachable
from agentkit.events import ReplyEnd
from agentkit.llm.calls.checked import (
    LONGEST_REPLY,
    MOST_CALLS,
    MOST_CHOICES,
    Room,
    calls_in,
    choices_of,
    finish_of,
    named,
    parted,
    single_in,
    take_arguments,
    text_in,
    usage_of,
)
from agentkit.llm.calls.stream import delta, thought
from agentkit.llm.calls.thinking import thought_in
from agentkit.llm.calls.wire import Sender, decoded
from agentkit.messages import FunctionCall, ToolCall, as_calls

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


def assembled(events: Iterable[tuple[bytes, bool]], sender: Sender) -> ChatCompletion:
    """Read a stream to its end, or as far as there is room; the first choice's text is passed on.

    `events` are those of `wire.events`. The reply has a `reply_end` where its `finish_reason`
    cannot say how it ended. Raises ModelError when nothing comes, what comes is no reply, or the
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
            made.add(decoded(data, sender))
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

    def add(self, piece: Any) -> None:
        """Take the next piece in; raises ModelError for what is none."""
        if isinstance(piece, Mapping) and piece.get("error"):
            raise self._sender.problem(piece["error"])
        if not isinstance(piece, Mapping):
            raise self._sender.refuse(piece, "a piece")
        self.whole |= {
            key: value
            for key, value in named(piece, self._sender).items()
            if value or key not in self.whole
        }
        self.whole |= usage_of(piece)
        for choice in choices_of(piece, self._sender):
            index = self._index(choice.get("index"))
            self.choices.setdefault(index, _Choice()).add(
                choice, self.room, self._sender, shown=index == 0
            )

    def completion(self) -> ChatCompletion:
        """The reply; raises ModelError when nothing came, or nothing that can be used."""
        from openai.types.chat import ChatCompletion

        sender = self._sender
        if not self.whole:
            raise BadModelReply(
                f"{sender.server} ended its reply without a word from {sender.model}; "
                "check the address, which usually ends in /v1."
            )
        choices = [self.choices[index].whole(index, sender) for index in sorted(self.choices)]
        end = self._end()
        values: dict[str, Any] = {**self.whole, "choices": choices}
        if end:
            values["reply_end"] = end
        return ChatCompletion.construct(**values)

    def _index(self, given: object) -> int:
        """Which choice a piece is of; without a number, the first."""
        if given is not None and (
            isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < MOST_CHOICES
        ):
            raise self._sender.refuse(given, "the number of a choice")
        return given or 0

    def _end(self) -> ReplyEnd | None:
        """How it ended, where it has no finish reason; raises ModelError for a part of no use."""
        first = self.choices.get(0)
        if not self.room.is_full and (self.is_done or (first and first.finish_reason)):
            return None
        if first and first.texts and not first.calls and not first.single:
            return "too_long" if self.room.is_full else "broken_off"
        # The arguments of a call may be cut, or not have begun: it must not be made.
        if self.room.is_full:
            raise self._sender.too_large(
                f"more than {LONGEST_REPLY:,} characters beside calls of functions"
            )
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
    single: _Call | None = None
    """The only call, in the form that OpenAI had before tools."""
    finish_reason: str | None = None

    def add(self, choice: Mapping[str, Any], room: Room, sender: Sender, *, shown: bool) -> None:
        self.finish_reason = finish_of(choice) or self.finish_reason
        piece = choice.get("delta")
        if piece is None:
            return
        if not isinstance(piece, Mapping):
            raise sender.refuse(piece, "a piece")
        thinking = room.take(thought_in(piece))
        if thinking:
            self.thoughts.append(thinking)
        text = room.take(
            text_in(piece.get("content"), sender) or text_in(piece.get("refusal"), sender)
        )
        if text:
            self.texts.append(text)
        if shown:
            thought(thinking)
            delta(text)
        for part in calls_in(piece, sender):
            self._add_call(part, room, sender)
        if single := single_in(piece, sender):
            self.single = self.single or _Call()
            self.single.add(single, room, sender)

    def whole(self, index: int, sender: Sender) -> dict[str, Any]:
        made = [self.calls[number] for number in sorted(self.calls)]
        calls = [
            ToolCall(id=call.id, type="function", function=call.function(sender)) for call in made
        ]
        single = self.single.function(sender) if self.single else None
        said = parted(self.texts, self.thoughts)
        message = {"role": "assistant", **said, **as_calls(calls, single)}
        return {"index": index, "finish_reason": self.finish_reason, "message": message}

    def _add_call(self, part: Mapping[str, Any], room: Room, sender: Sender) -> None:
        number = part.get("index")
        if number is None:  # some servers send each call in one piece, without a number
            number = (
                max(self.calls, default=-1) + 1 if part["id"] or not self.calls else max(self.calls)
            )
        if isinstance(number, bool) or not isinstance(number, int):
            raise sender.refuse(number, "the number of a tool call")
        made = self.calls.setdefault(number, _Call())
        if len(self.calls) > MOST_CALLS:
            raise sender.too_large(f"more than {MOST_CALLS} calls of functions")
        made.id = part["id"] or made.id
        if part["function"]:
            made.add(part["function"], room, sender)


@dataclass(slots=True)
class _Call:
    """What has come of a call of a function."""

    id: str = ""
    names: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)

    def add(self, part: FunctionCall, room: Room, sender: Sender) -> None:
        take_arguments(part, room, sender)
        self.names.append(part["name"])
        self.arguments.append(part["arguments"])

    def function(self, sender: Sender) -> FunctionCall:
        name, arguments = "".join(self.names), "".join(self.arguments)
        if not name:
            raise sender.refuse(arguments, "the call of a function without a name")
        return {"name": name, "arguments": arguments}
