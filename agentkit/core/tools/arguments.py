"""The arguments of a tool call as models write them: JSON, and what models take for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentkit.core.fences import read_fenced
from agentkit.errors import WrongArgument

_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u(?=[0-9a-fA-F]))|\\')
_AROUND = 20


def parse_arguments(text: str | Mapping[str, object] | None) -> dict[str, Any]:
    """The arguments as a dict; an empty text, None and `null` give an empty dict, a dict is taken
    as it is.

    Forgives what has only one meaning: a code fence around, line breaks and control characters
    inside texts, a backslash that begins no escape (as in `C:\\data` and `C:\\users`). Raises
    WrongArgument with a text that tells the model what is wrong and where.
    """
    if isinstance(text, Mapping | None):
        return dict(text or {})
    if not isinstance(text, str):
        raise WrongArgument(f"The arguments must be a JSON object, but they are {text!r}.")
    _, content = read_fenced(text) or ("", text)
    value = _decode(content)
    if isinstance(value, dict | None):
        return value or {}
    raise WrongArgument(
        'The arguments must be a JSON object like {"name": value}, but they are'
        f" {_KINDS[type(value)]}."
    )


_KINDS = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


def _decode(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        repaired = text
        if error.msg.startswith(("Invalid \\escape", "Invalid \\u")):
            repaired = _ESCAPE.sub(_repair_escape, text)
        if repaired != text:
            return _decode(repaired)
        raise WrongArgument(_describe_error(error)) from error
    except (ValueError, RecursionError) as error:
        raise WrongArgument(
            f"The arguments cannot be read as JSON: {error}. Write a smaller JSON object."
        ) from error


def _repair_escape(found: re.Match[str]) -> str:
    """An escape as it is; two backslashes for one that begins none."""
    whole = found[0]
    if len(whole) > 1:
        return whole
    return "\\\\"


def _describe_error(error: json.JSONDecodeError) -> str:
    text, at = error.doc, error.pos
    if error.msg.startswith("Unterminated string") or not text[at:].strip():  # cut off
        return (
            "The arguments are not valid JSON: they end too early, at line"
            f" {text.count(chr(10)) + 1} after {text[-_AROUND:]!r}. Write the whole JSON object,"
            " shorter if it was cut off."
        )
    return (
        f"The arguments are not valid JSON: {error.msg.lower()} at line {error.lineno}, column"
        f" {error.colno}, near {text[max(0, at - _AROUND) : at + _AROUND]!r}. Write one JSON"
        " object, with keys and texts in double quotes."
    )
