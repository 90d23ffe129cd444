"""Msg: a message as AgentScope's scripts use it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from agentkit.core.given import to_list
from agentkit.core.io import IOStream
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import new_id, text_of


class Msg(dict[str, Any]):
    """The chat dict of a message with its keys as attributes, and what only the program sees.

    `metadata` is for the program and no model reads it. `content` is a text, or a list of parts;
    None is an empty text and anything else becomes JSON text. A `url` (or several) is added as a
    picture.
    """

    memory: str | None = None
    """What its author remembers of it, where that is not just `content`; it goes nowhere with the
    message.
    """
    told: bool = False
    """Whether whoever watches was told of it."""

    def __init__(
        self,
        name: str,
        content: Any,
        role: Literal["system", "user", "assistant"],
        metadata: Any = None,
        echo: bool = False,
        url: str | Sequence[str] | None = None,
    ) -> None:
        """Raises WrongArgument for an unknown role, WrongType (a TypeError) for metadata that
        cannot be written as JSON.
        """
        if role not in ("system", "user", "assistant"):
            raise WrongArgument(
                f"{name}: the role of a message is system, user or assistant, not {role!r}."
            )
        if metadata is not None and not _is_json(metadata):
            raise WrongType(
                f"{name}: the metadata of a message must be a JSON value, not {metadata!r:.200}."
            )
        super().__init__(
            name=name,
            role=role,
            content=_add_pictures(as_text(content), url),
            metadata=metadata,
            id=new_id(),
            timestamp=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        )
        if echo:
            IOStream.get_default().print(f"{name}: {text_of(self.content)}", flush=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (dict(self), self.memory)

    @property
    def id(self) -> str:
        """Its own identifier."""
        return str(self["id"])

    @property
    def name(self) -> str:
        """Who says it."""
        return str(self["name"])

    @name.setter
    def name(self, name: str) -> None:
        """Let somebody else say it."""
        self["name"] = name

    @property
    def role(self) -> str:
        """`system`, `user` or `assistant`."""
        return str(self["role"])

    @role.setter
    def role(self, role: Literal["system", "user", "assistant"]) -> None:
        """Say it in another role."""
        self["role"] = role

    @property
    def timestamp(self) -> str:
        """When it was made, in local time: `2025-12-31 23:59:59`."""
        return str(self["timestamp"])

    @property
    def content(self) -> Any:
        """The text, or the list of parts."""
        return self["content"]

    @content.setter
    def content(self, content: Any) -> None:
        """Say something else."""
        self["content"] = as_text(content)

    @property
    def metadata(self) -> Any:
        """What it tells the program; None when that is nothing."""
        return self["metadata"]

    @metadata.setter
    def metadata(self, metadata: Any) -> None:
        """Tell the program something else."""
        self["metadata"] = metadata

    def get_text_content(self) -> str | None:
        """The text of the content; None when there are only other parts."""
        texts = self.get_content_blocks("text")
        if not texts:
            return None
        return "".join(str(part.get("text", "")) for part in texts)

    def get_content_blocks(self, block_type: str | None = None) -> list[dict[str, Any]]:
        """The content as parts, a text as one; with `block_type` only those of that type."""
        parts = _to_parts(self.content)
        if block_type is None:
            return parts
        return [part for part in parts if part.get("type") == block_type]

    def to_dict(self) -> dict[str, Any]:
        """A plain dict of everything but `memory`."""
        return dict(self)

    @classmethod
    def from_dict(cls, serialized_dict: Mapping[str, Any]) -> Msg:
        """The message that `to_dict` gave; raises WrongArgument when a key is missing."""
        try:
            made = cls(
                serialized_dict["name"],
                serialized_dict["content"],
                serialized_dict["role"],
                serialized_dict.get("metadata"),
            )
        except KeyError as missing:
            raise WrongArgument(
                f"A message needs name, content and role; {missing} is missing in"
                f" {serialized_dict!r:.200}."
            ) from None
        own = {"id": made.id, "timestamp": made["timestamp"]} | dict(serialized_dict)
        made.update(id=own["id"], timestamp=own["timestamp"])
        return made


def as_text(content: Any) -> Any:
    """What a model can read: a text or a list of parts as it is, nothing as an empty text, other
    values as JSON text.
    """
    if content in (None, []):
        return ""
    is_readable = isinstance(content, str) or _are_parts(content)
    if is_readable:
        return content
    return json.dumps(content, ensure_ascii=False, default=str)


def _restore(values: dict[str, Any], memory: str | None) -> Msg:
    made = Msg.from_dict(values)
    made.memory = memory
    return made


def _are_parts(content: Any) -> bool:
    if not isinstance(content, list):
        return False
    return all(map(_is_part, content))


def _is_part(value: object) -> bool:
    return isinstance(value, Mapping) and "type" in value


def _to_parts(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _add_pictures(content: Any, url: str | Sequence[str] | None) -> Any:
    if not url:
        return content
    parts = _to_parts(content)
    for each in to_list(url, str):
        picture = {"type": "image_url", "image_url": {"url": each}}
        parts = [*parts, picture]
    return parts
