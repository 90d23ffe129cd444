"""A request as it is told: its parameters as JSON without secrets, and the tools in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

from agentkit.messages import mappings_in, without_keys


def find_tools(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The definitions of tools, and of functions in the older form, that go along with a call."""
    return [*mappings_in(params.get("tools")), *mappings_in(params.get("functions"))]


_NOT_SENT = {"extra_headers", "extra_query", "default_headers", "timeout"}
"""Parameters that are for the client, and no part of what the model is asked."""
_SECRET = re.compile(
    r"(.*[_-])?(api[_-]?key|secret|password|authorization|(access|auth|bearer)[_-]?token)", re.I
)
_HIDDEN = "(not kept)"


def describe_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """All of a request but its messages, in its order, as JSON values; None stands for them.

    Texts by names such as `api_key` are not told, nor is what only the client reads.
    """
    sent = without_keys(request, _NOT_SENT)
    if "messages" in sent:
        sent["messages"] = None
    return {name: _describe_value(name, value) for name, value in sent.items()}


def _describe_value(name: str, value: Any) -> Any:
    try:
        plain = json.loads(json.dumps(value, default=_name_kind, skipkeys=True))
    except (ValueError, RecursionError):  # it holds itself, or nests without an end
        return _name_kind(value)
    return _without_secrets(name, plain)


def _without_secrets(name: str, value: Any) -> Any:
    """A JSON value; a schema may well describe a field `password`: only texts are taken for
    secrets.
    """
    return _HIDING.get(type(value), _leave)(name, value)


def _hide_text(name: str, text: str) -> str:
    if _SECRET.fullmatch(name):
        return _HIDDEN
    return text


def _hide_in_list(name: str, values: list[Any]) -> list[Any]:
    return list(map(_without_secrets, repeat(name), values))


def _hide_in_object(name: str, values: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(values, map(_without_secrets, values, values.values()), strict=True))


def _leave(name: str, value: object) -> object:
    return value


_HIDING: Mapping[type, Callable[[str, Any], object]] = {
    str: _hide_text,
    list: _hide_in_list,
    dict: _hide_in_object,
}


def _name_kind(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"
