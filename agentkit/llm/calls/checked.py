"""A reply of OpenAI's chat API, checked where it comes in: what is used has its type, or is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agentkit.errors import BadModelReply
from agentkit.events import ReplyEnd
from agentkit.llm.calls.thinking import split, thought_in
from agentkit.llm.calls.usage import credible
from agentkit.llm.calls.wire import Sender
from agentkit.messages import (
    CALLS,
    THINKING,
    FunctionCall,
    ToolCall,
    as_calls,
    call_fields,
    field_of,
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
_TYPED = {"annotations": list, "audio": dict}  # further parts of a message that the SDK knows


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


def chat_completion(value: object, sender: Sender) -> ChatCompletion:
    """A reply that came in one piece; raises ModelError."""
    from openai.types.chat import ChatCompletion

    reply = _reply(value, sender)
    room = Room()
    try:
        made = [_choice(choice, room, sender) for choice in choices_of(reply, sender)]
    except BadModelReply as error:
        error.taken = credible(reply.get("usage"))
        raise
    end: dict[str, ReplyEnd] = {"reply_end": "too_long"} if room.is_full else {}
    kept = {key: each for key, each in reply.items() if key not in ("usage", "choices")}
    return ChatCompletion.construct(
        **{**kept, **named(reply, sender), **usage_of(reply), **end, "choices": made}
    )


def completion(value: object, sender: Sender) -> Completion:
    """What a prompt was continued with, in the older API; raises ModelError."""
    from openai.types import Completion

    reply = _reply(value, sender)
    room = Room()
    made = [
        {**choice, "text": room.take(text_in(choice.get("text"), sender))}
        for choice in choices_of(reply, sender)
    ]
    kept = {key: each for key, each in reply.items() if key not in ("usage", "choices")}
    return Completion.construct(
        **{**kept, **named(reply, sender), **usage_of(reply), "choices": made}
    )


def choices_of(reply: Mapping[str, object], sender: Sender) -> list[Mapping[str, Any]]:
    """The choices of a reply or of a piece of one; none where it names none."""
    given = [] if reply.get("choices") is None else reply["choices"]
    if not isinstance(given, list) or not all(isinstance(choice, Mapping) for choice in given):
        raise sender.refuse(given, "the choices")
    if len(given) > MOST_CHOICES:
        raise sender.too_large(f"{len(given):,} choices")
    return given


def named(reply: Mapping[str, Any], sender: Sender) -> dict[str, Any]:
    """The id of a reply, when it was made and by which model, as far as they can be."""
    kept = {
        key: reply[key][:200]
        for key in ("id", "model")
        if isinstance(reply.get(key), str) and reply[key]
    }
    created = reply.get("created")
    made = created if isinstance(created, int) and not isinstance(created, bool) else 0
    return {"id": "", "object": "chat.completion", "model": sender.model, **kept, "created": made}


def usage_of(reply: Mapping[str, object]) -> dict[str, Any]:
    """The server's figures as part of a reply, if they can be."""
    figures = credible(reply.get("usage"))
    return {"usage": figures} if figures else {}


def finish_of(choice: Mapping[str, object]) -> str | None:
    """Why the server says that a choice is over."""
    given = choice.get("finish_reason")
    return given if isinstance(given, str) and given else None


def text_in(content: object, sender: Sender) -> str:
    """The text of a content that may come in parts; thoughts and pictures are left out."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    texts = [
        part if isinstance(part, str) else part.get("text")
        for part in parts
        if isinstance(part, str | Mapping)
    ]
    if not isinstance(content, list) or len(texts) < len(parts):
        raise sender.refuse(content, "the text")
    return "".join(text for text in texts if isinstance(text, str))


def parted(texts: Iterable[str], thoughts: Iterable[str]) -> dict[str, str | None]:
    """Text and thinking of a message; without thinking beside the text, its tags tell."""
    text, thinking = "".join(texts), "".join(thoughts)
    if not thinking:
        thinking, text = split(text)
    return {"content": text or None, **({THINKING: thinking} if thinking else {})}


def calls_in(message: Mapping[str, object], sender: Sender) -> list[ToolCall]:
    """The calls of functions in a message or a piece of one; the `function` of each may be None."""
    given = [] if message.get("tool_calls") is None else message["tool_calls"]
    if not isinstance(given, list) or not all(isinstance(call, Mapping) for call in given):
        raise sender.refuse(given, "the tool calls")
    if len(given) > MOST_CALLS:
        raise sender.too_large(
            f"{len(given):,} calls of functions, of which {MOST_CALLS} are taken,"
        )
    return [cast(ToolCall, {**call, **_known(call, sender)}) for call in given]


def single_in(message: Mapping[str, object], sender: Sender) -> FunctionCall | None:
    """The only call in a message or a piece of one, in the form that OpenAI had before tools."""
    return _function(field_of(message, "function_call"), sender)


def _function(given: Any, sender: Sender) -> FunctionCall | None:
    """Name and arguments of a function that is called, or a piece of them; None for nothing."""
    if given is None:
        return None
    name, arguments = (
        (given.get("name"), given.get("arguments")) if isinstance(given, Mapping) else (given, None)
    )
    if isinstance(arguments, Mapping):  # some servers send the object itself
        arguments = json.dumps(arguments)
    fits = (
        isinstance(given, Mapping)
        and isinstance(name, str | None)
        and isinstance(arguments, str | None)
    )
    if not fits:
        raise sender.refuse(given, "the call of a function")
    return {"name": name or "", "arguments": arguments or ""}


def take_arguments(function: FunctionCall, room: Room, sender: Sender) -> None:
    """Count a call; raises BadModelReply when there is no room: half its arguments are others."""
    room.left -= len(function["name"]) + len(function["arguments"])
    if room.left < 0:
        raise sender.too_large(
            f"calls of functions in a reply of more than {LONGEST_REPLY:,} characters"
        )


def _known(call: Mapping[str, object], sender: Sender) -> dict[str, Any]:
    if not isinstance(call.get("id"), str | None):
        raise sender.refuse(call, "a tool call")
    return {
        "id": call.get("id"),
        "type": "function",
        "function": _function(call.get("function"), sender),
    }


def _reply(value: object, sender: Sender) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and value.get("error"):
        raise sender.problem(value["error"])
    if not isinstance(value, Mapping) or not value.get("choices"):
        raise BadModelReply(
            f"{sender.server} answers, but not as OpenAI's chat API does; "
            "check the address, which usually ends in /v1."
        )
    return value


def _choice(choice: Mapping[str, object], room: Room, sender: Sender) -> dict[str, Any]:
    given = {} if choice.get("message") is None else choice["message"]
    if not isinstance(given, Mapping):
        raise sender.refuse(given, "the message")
    thinking = room.take(thought_in(given))
    content = room.take(text_in(given.get("content"), sender))
    refusal = room.take(text_in(given.get("refusal"), sender))
    calls, single = calls_in(given, sender), single_in(given, sender)
    for function in [call["function"] for call in calls] + ([single] if single else []):
        if not function or not function["name"]:
            raise sender.refuse(
                next(iter(call_fields(given).values()), {}), "the call of a function"
            )
        take_arguments(function, room, sender)
    message = {
        **_extras(given),
        "role": "assistant",
        **parted([content], [thinking]),
        "refusal": refusal or None,
    }
    message |= as_calls(calls, single)
    return {**choice, "message": message, "finish_reason": finish_of(choice)}


def _extras(message: Mapping[str, object]) -> dict[str, Any]:
    """What a server adds to a message, but for what has a known name and not its type."""
    wrong = {key for key, kind in _TYPED.items() if not isinstance(message.get(key), kind)}
    wrong.add(THINKING)  # as it was understood it is put in anew
    wrong.update(CALLS)
    return {key: each for key, each in message.items() if key not in wrong}
