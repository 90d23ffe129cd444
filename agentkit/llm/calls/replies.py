"""A reply of OpenAI's chat API, checked where it comes in: what is used has its type, or is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

from agentkit.core.given import coalesce, is_list_of
from agentkit.errors import BadModelReply
from agentkit.events import ReplyEnd
from agentkit.llm.calls.thinking import find_thinking, split_thinking
from agentkit.llm.calls.usage import check_usage
from agentkit.llm.calls.wire import Sender
from agentkit.messages import (
    CALLS,
    THINKING,
    FunctionCall,
    ToolCall,
    as_calls,
    call_fields,
    field_of,
    functions_of,
    text_or_empty,
    without_keys,
)

if TYPE_CHECKING:
    from openai.types import Completion
    from openai.types.chat import ChatCompletion

LONGEST_REPLY = 2_000_000
"""Characters that are taken of a reply: text is cut there, arguments of calls are refused."""
MOST_CALLS = 64
"""Functions that one reply may call."""
MOST_CHOICES = 128
"""Replies that may come at once, as for a request with `n`."""
_LONGEST_NAME = 200
_TYPED = {"annotations": list, "audio": dict}  # further parts of a message that the SDK knows
_READ_ELSEWHERE = (THINKING, *CALLS)
_PART = (str, Mapping)
_A_CALL = "the call of a function"


@dataclass(slots=True)
class Room:
    """How much may still come of a reply."""

    left: int = LONGEST_REPLY
    is_full: bool = False

    def take(self, text: str) -> str:
        """As much of the text as there is room for."""
        if len(text) > self.left:
            text, self.is_full = text[: max(0, self.left)], True
        self.left -= len(text)
        return text


def read_chat_completion(value: object, sender: Sender) -> ChatCompletion:
    """A reply that came in one piece; raises ModelError."""
    from openai.types.chat import ChatCompletion

    reply = _check_reply(value, sender)
    room = Room()
    try:
        given = read_choices(reply, sender)
        choices = list(map(_read_choice, given, repeat(room), repeat(sender)))
    except BadModelReply as error:
        error.taken = check_usage(reply.get("usage"))
        raise
    fields = _read_fields(reply, choices, sender)
    if room.is_full:
        end: ReplyEnd = "too_long"
        fields["reply_end"] = end
    return ChatCompletion.construct(**fields)


def read_completion(value: object, sender: Sender) -> Completion:
    """What a prompt was continued with, in the older API; raises ModelError."""
    from openai.types import Completion

    reply = _check_reply(value, sender)
    room = Room()
    choices = [
        {**choice, "text": room.take(read_text(choice.get("text"), sender))}
        for choice in read_choices(reply, sender)
    ]
    return Completion.construct(**_read_fields(reply, choices, sender))


def _read_fields(
    reply: Mapping[str, Any], choices: list[dict[str, Any]], sender: Sender
) -> dict[str, Any]:
    """All of a reply, with its choices as they were read."""
    beside = without_keys(reply, ("usage", "choices"))
    return {
        **beside,
        **read_identity(reply, sender),
        **read_usage(reply),
        "choices": choices,
    }


def read_choices(reply: Mapping[str, object], sender: Sender) -> list[Mapping[str, Any]]:
    """The choices of a reply or of a piece of one; none where it names none."""
    choices = sender.read_list(reply, "choices", "the choices")
    if len(choices) > MOST_CHOICES:
        raise sender.too_large(f"{len(choices):,} choices")
    return choices


def read_identity(reply: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
    """The id of a reply, when it was made and by which model, as far as they can be."""
    created = reply.get("created")
    return {
        "object": "chat.completion",
        "id": text_or_empty(reply.get("id"))[:_LONGEST_NAME],
        "model": text_or_empty(reply.get("model"))[:_LONGEST_NAME] or sender.model,
        "created": created if type(created) is int else 0,
    }


def read_usage(reply: Mapping[str, object]) -> dict[str, Any]:
    """The server's figures as part of a reply, if they can be."""
    figures = check_usage(reply.get("usage"))
    if figures:
        return {"usage": figures}
    return {}


def read_finish_reason(choice: Mapping[str, object]) -> str | None:
    """Why the server says that a choice is over."""
    return text_or_empty(choice.get("finish_reason")) or None


def read_text(content: object, sender: Sender) -> str:
    """The text of a content that may come in parts; thoughts and pictures are left out."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not is_list_of(content, _PART):
        raise sender.refuse(content, "the text")
    return "".join(map(_read_text_of_part, content))


def _read_text_of_part(part: str | Mapping[str, object]) -> str:
    if isinstance(part, str):
        return part
    return text_or_empty(part.get("text"))


def join_content(texts: Iterable[str], thoughts: Iterable[str]) -> dict[str, str | None]:
    """Text and thinking of a message; without thinking beside the text, its tags tell."""
    text, thinking = "".join(texts), "".join(thoughts)
    if not thinking:
        thinking, text = split_thinking(text)
    message: dict[str, str | None] = {"content": text or None}
    if thinking:
        message[THINKING] = thinking
    return message


def read_calls(message: Mapping[str, object], sender: Sender) -> list[ToolCall]:
    """The calls of functions in a message or a piece of one; the `function` of each may be None."""
    calls = sender.read_list(message, "tool_calls", "the tool calls")
    if len(calls) > MOST_CALLS:
        raise sender.too_large(
            f"{len(calls):,} calls of functions, of which {MOST_CALLS} are taken,"
        )
    return list(map(_read_call, calls, repeat(sender)))


def _read_call(call: Mapping[str, object], sender: Sender) -> ToolCall:
    if not isinstance(call.get("id"), str | None):
        raise sender.refuse(call, "a tool call")
    known = {
        "id": call.get("id"),
        "type": "function",
        "function": _read_function(call.get("function"), sender),
    }
    return cast(ToolCall, {**call, **known})


def read_single_call(message: Mapping[str, object], sender: Sender) -> FunctionCall | None:
    """The only call in a message or a piece of one, in the form that OpenAI had before tools."""
    return _read_function(field_of(message, "function_call"), sender)


def _read_function(value: object, sender: Sender) -> FunctionCall | None:
    """Name and arguments of a function that is called, or a piece of them; None for nothing."""
    if value is None:
        return None
    function = sender.read_object(value, _A_CALL)
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(arguments, Mapping):  # some servers send the object itself
        arguments = json.dumps(arguments)
    if not is_list_of([name, arguments], (str, NoneType)):
        raise sender.refuse(value, _A_CALL)
    return {"name": coalesce(name, ""), "arguments": coalesce(arguments, "")}


def take_arguments(function: FunctionCall, room: Room, sender: Sender) -> None:
    """Count a call; raises BadModelReply when there is no room: half its arguments are others."""
    room.left -= len(function["name"]) + len(function["arguments"])
    if room.left < 0:
        raise sender.too_large(
            f"calls of functions in a reply of more than {LONGEST_REPLY:,} characters"
        )


def _check_reply(value: object, sender: Sender) -> Mapping[str, Any]:
    """The reply, which must have choices."""
    sender.check_error(value)
    if not isinstance(value, Mapping) or not value.get("choices"):
        raise BadModelReply(
            f"{sender.server} answers, but not as OpenAI's chat API does; "
            "check the address, which usually ends in /v1."
        )
    return value


def _read_choice(choice: Mapping[str, object], room: Room, sender: Sender) -> dict[str, Any]:
    given = sender.read_part(choice, "message", "the message")
    thinking = room.take(find_thinking(given))
    content = room.take(read_text(given.get("content"), sender))
    refusal = room.take(read_text(given.get("refusal"), sender))
    calls = as_calls(read_calls(given, sender), read_single_call(given, sender))
    for function in functions_of(calls):
        if not function.get("name"):
            raise sender.refuse(next(iter(call_fields(given).values()), {}), _A_CALL)
        take_arguments(function, room, sender)
    message = {
        **_find_extras(given),
        "role": "assistant",
        **join_content([content], [thinking]),
        "refusal": refusal or None,
        **calls,
    }
    return {**choice, "message": message, "finish_reason": read_finish_reason(choice)}


def _find_extras(message: Mapping[str, object]) -> dict[str, Any]:
    """What a server adds to a message, but for what has a known name and not its type."""
    wrong = {key for key, kind in _TYPED.items() if not isinstance(message.get(key), kind)}
    return without_keys(message, {*wrong, *_READ_ELSEWHERE})
