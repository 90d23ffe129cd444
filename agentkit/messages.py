"""A message is an OpenAI chat dict everywhere; this is the only module that knows its rules."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

Role = Literal["system", "user", "assistant", "tool", "function"]


class Message(TypedDict, total=False):
    """One chat message as the OpenAI chat API defines it; `content` may be a list of parts."""

    role: Role
    content: str | list[dict[str, Any]] | None
    name: str
    tool_calls: list[dict[str, Any]]
    tool_call_id: str
    function_call: dict[str, Any]


def new_id() -> str:
    """A fresh identifier: 32 hexadecimal digits that sort roughly by time of creation."""
    import time

    return f"{time.time_ns() // 1_000_000:012x}{uuid.uuid4().hex[:20]}"


def message(role: Role, content: str, name: str = "") -> Message:
    """A plain text message."""
    made: Message = {"role": role, "content": content}
    if name:
        made["name"] = name
    return made


def text_of(content: str | Iterable[Mapping[str, Any]] | None) -> str:
    """The text of a message's content: text parts joined by line breaks, other parts as `<type>`."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return str(content)
    return "\n".join(
        str(part.get("text", "")) if part.get("type") == "text" else f"<{part.get('type', '?')}>" for part in content
    )
