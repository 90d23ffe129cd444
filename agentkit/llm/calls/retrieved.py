"""Messages as clients retrieve them: texts, dicts, or objects of an SDK or of a script's own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import filterfalse
from typing import Any, cast

from agentkit.core.lenient import find_below
from agentkit.errors import BadModelReply
from agentkit.llm.calls.thinking import find_thinking, split_thinking
from agentkit.messages import Message, call_fields, check_reply, field_of, has_calls

_LIST = (list, tuple)


def to_message(retrieved: object, who: str) -> Message:
    """A retrieved message as one for a history; its content is the refusal where there is one.

    Raises BadModelReply, in which `who` names the model, for anything else than a message.
    """
    message: dict[str, Any] = {"role": "assistant", "content": read_content(retrieved)}
    if isinstance(retrieved, str | None):
        return cast(Message, message)
    if not _is_message(retrieved):
        raise BadModelReply(
            f"{who} sent {retrieved!r:.200} as its message; ask again, or choose another model."
        )
    if not message["content"]:
        message["content"] = field_of(retrieved, "refusal")
    for key, calls in call_fields(retrieved).items():
        message[key] = _to_plain(calls)
    check_reply(who, message)
    return cast(Message, message)


def _is_message(retrieved: object) -> bool:
    """Whether it has what a message has, as a dict or as an object."""
    if isinstance(retrieved, Mapping) or hasattr(retrieved, "content"):
        return True
    return has_calls(retrieved)


def read_content(retrieved: object) -> Any:
    """The content of a retrieved message, text or parts, without what the model thought."""
    return _separate(retrieved)[1]


def read_thinking(retrieved: object) -> str:
    """What was thought before a retrieved message, by its own field or by tags in its text."""
    return _separate(retrieved)[0]


def _separate(retrieved: object) -> tuple[str, Any]:
    """What was thought before a message, and its content without that."""
    if isinstance(retrieved, str):
        return split_thinking(retrieved)
    content = field_of(retrieved, "content")
    thinking = find_thinking(retrieved).strip()
    if isinstance(content, str) and not thinking:
        return split_thinking(content)
    if isinstance(content, _LIST):
        content = list(filterfalse(_is_thought, content))
    return thinking, content


def _is_thought(part: object) -> bool:
    return bool(find_below(part, "type") == "thinking")


def _to_plain(calls: object) -> Any:
    """Calls as dicts, be they of the SDK or any objects with attributes; others as they are."""
    if isinstance(calls, _LIST):
        return list(map(_to_plain, calls))
    if isinstance(calls, Mapping):
        return dict(calls)
    if hasattr(calls, "model_dump"):
        return calls.model_dump(exclude_none=True)
    if hasattr(calls, "__dict__"):
        fields = vars(calls)
        return dict(zip(fields, map(_to_plain, fields.values()), strict=True))
    return calls
