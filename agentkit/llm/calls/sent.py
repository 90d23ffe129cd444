"""A request as it can be told and kept: what was sent, without what may be secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_NOT_SENT = {"extra_headers", "extra_query", "default_headers", "timeout"}
"""Parameters that are for the client, and no part of what the model is asked."""
_SECRET = re.compile(
    r"(.*[_-])?(api[_-]?key|secret|password|authorization|(access|auth|bearer)[_-]?token)", re.I
)
_HIDDEN = "(not kept)"


def around_messages(request: Mapping[str, Any]) -> dict[str, Any]:
    """All of a request but its messages, in its order, as JSON values; None stands for them.

    Texts by names such as `api_key` are not told, nor is what only the client reads.
    """
    return {
        name: None if name == "messages" else _told(name, value)
        for name, value in request.items()
        if name not in _NOT_SENT
    }


def _told(name: str, value: Any) -> Any:
    try:
        plain = json.loads(json.dumps(value, default=_by_kind, skipkeys=True))
    except (ValueError, RecursionError):  # it holds itself, or nests without an end
        return _by_kind(value)
    return _without_secrets(name, plain)


def _without_secrets(name: str, value: Any) -> Any:
    """A schema may well describe a field `password`: only texts are taken for secrets."""
    match value:
        case str():
            return _HIDDEN if _SECRET.fullmatch(name) else value
        case list():
            return [_without_secrets(name, each) for each in value]
        case dict():
            return {key: _without_secrets(key, each) for key, each in value.items()}
        case _:
            return value


def _by_kind(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"
