"""Tokens of one message in a prompt, by what OpenAI's servers report for recorded calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import repeat

from agentkit.core.lenient import text_under
from agentkit.llm.tokens.families import Family
from agentkit.llm.tokens.images import count_image
from agentkit.messages import (
    AnyMessage,
    FunctionCall,
    function_call_of,
    tool_calls_of,
    tool_responses_of,
)

Counted = tuple[int, bool]
"""Tokens, and whether that is an estimate."""

# Measured on top of a message: the address of one call, the frame of several and each of them, the
# sender of a tool's result.
_CALL, _CALLS, _EACH_CALL, _RESULT = 3, 6, 10, 2
_FRAMES = {0: 0, 1: _CALL}
_IMAGES = ("image_url", "input_image")
_TEXTS = {"refusal": "refusal", **dict.fromkeys(("text", "input_text", "output_text"), "text")}
"""Kinds of parts that have a text, and under which key."""


def count_message(message: AnyMessage, family: Family, model: str) -> Counted:
    """Tokens of a message with all that goes along; the opening of the reply and the definitions of
    tools are not in it.

    A call of a tool counts the tool's name twice: the second time stands before the result, which
    does not know it.
    """
    if responses := tool_responses_of(message):
        # AutoGen's one message for the results of several calls
        results = ({"role": "tool", "content": one.get("content")} for one in responses)
        return add_up(map(count_message, results, repeat(family), repeat(model)))
    return add_up(
        (
            _count_content(message.get("content"), family, model),
            _count_calls(message, family),
            (_count_frame(message, family), False),
        )
    )


def add_up(counted: Iterable[Counted]) -> Counted:
    """All tokens together; an estimate where one of them is."""
    tokens, guesses = zip((0, False), *counted, strict=True)
    return sum(tokens), any(guesses)


def _count_frame(message: AnyMessage, family: Family) -> int:
    """Tokens of who says it."""
    role, name = message.get("role"), text_under(message, "name")
    if role == "tool":
        return family.per_message + family.role + _RESULT
    if role == "function":  # the name stands in the place of the role
        return family.per_message + family.count(name)
    if name:
        return family.per_message + family.role + family.per_name + family.count(name)
    return family.per_message + family.role


def _count_content(content: object, family: Family, model: str) -> Counted:
    if isinstance(content, str):
        return family.count(content), False
    if content is None:
        return family.count(""), False
    if isinstance(content, list | tuple):
        return add_up(map(_count_part, content, repeat(family), repeat(model)))
    return family.count(str(content)), True


def _count_part(part: object, family: Family, model: str) -> Counted:
    if not isinstance(part, Mapping):
        return family.count(str(part)), True
    kind = part.get("type")
    if key := _TEXTS.get(str(kind)):
        return family.count(text_under(part, key)), False
    if kind in _IMAGES:
        return count_image(part, model)
    # Sounds and files: their tokens are not published by size.
    return family.count(f"<{kind}>"), True


def _count_calls(message: AnyMessage, family: Family) -> Counted:
    """Tokens of the calls of a message; how several are framed is an estimate."""
    calls = tool_calls_of(message)
    tokens = _FRAMES.get(len(calls), _CALLS + _EACH_CALL * len(calls))
    for call in calls:
        function: FunctionCall = call.get("function") or {}
        tokens += 2 * _count_name(function, family) + _count_arguments(function, family)
    if old := function_call_of(message):
        tokens += _CALL + _count_name(old, family) + _count_arguments(old, family)
    return tokens, len(calls) > 1


def _count_name(call: FunctionCall, family: Family) -> int:
    return family.count(_write(call.get("name")))


def _count_arguments(call: FunctionCall, family: Family) -> int:
    """The arguments as the model gets them: the newer models as JSON without blanks, the older ones
    as they are.
    """
    text = _write(call.get("arguments"))
    if family.is_newer:
        with suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    return family.count(text)


def _write(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, default=str)
