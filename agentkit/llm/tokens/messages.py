"""Tokens of one message in a prompt, by what OpenAI's servers report for recorded calls."""

from __future__ import annotations

import json
from collections.abc import Mapping

from agentkit.llm.tokens.families import Family
from agentkit.llm.tokens.images import image_tokens
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
_TEXTS = ("text", "input_text", "output_text", "refusal")


def message_tokens(message: AnyMessage, family: Family, model: str) -> Counted:
    """Tokens of a message with all that goes along; the opening of the reply and the definitions of
    tools are not in it.

    A call of a tool counts the tool's name twice: the second time stands before the result, which
    does not know it.
    """
    if responses := tool_responses_of(
        message
    ):  # AutoGen's one message for the results of several calls
        counted = [
            message_tokens({"role": "tool", "content": one.get("content")}, family, model)
            for one in responses
        ]
        return sum(tokens for tokens, _ in counted), any(guessed for _, guessed in counted)
    tokens, is_estimate = _content(message.get("content"), family, model)
    calls, call_is_estimate = _calls(message, family)
    return tokens + calls + _frame(message, family), is_estimate or call_is_estimate


def _frame(message: AnyMessage, family: Family) -> int:
    role, name = message.get("role"), str(message.get("name") or "")
    if role == "tool":
        return family.per_message + family.role + _RESULT
    if role == "function":  # the name stands in the place of the role
        return family.per_message + family.count(name)
    named = family.count(name) + family.per_name if name else 0
    return family.per_message + family.role + named


def _content(content: object, family: Family, model: str) -> Counted:
    if content is None or isinstance(content, str):
        return family.count(content or ""), False
    if not isinstance(content, list | tuple):
        return family.count(str(content)), True
    counted = [_part(part, family, model) for part in content]
    return sum(tokens for tokens, _ in counted), any(guessed for _, guessed in counted)


def _part(part: object, family: Family, model: str) -> Counted:
    if not isinstance(part, Mapping):
        return family.count(str(part)), True
    kind = part.get("type")
    if kind in _TEXTS:
        return family.count(str(part.get("refusal" if kind == "refusal" else "text") or "")), False
    if kind in ("image_url", "input_image"):
        return image_tokens(part, model)
    return family.count(
        f"<{kind}>"
    ), True  # sounds and files: their tokens are not published by size


def _calls(message: AnyMessage, family: Family) -> Counted:
    made = [call.get("function") or {} for call in tool_calls_of(message)]
    each = sum(
        2 * family.count(_text(call.get("name"))) + family.count(_arguments(call, family))
        for call in made
    )
    tokens = {0: 0, 1: _CALL}.get(len(made), _CALLS + _EACH_CALL * len(made)) + each
    if old := function_call_of(message):
        tokens += (
            _CALL + family.count(_text(old.get("name"))) + family.count(_arguments(old, family))
        )
    return tokens, len(made) > 1


def _arguments(call: FunctionCall, family: Family) -> str:
    """The arguments as the model gets them: the newer models as JSON without blanks, the older ones
    as they are.
    """
    text = _text(call.get("arguments"))
    if family.encoding != "o200k_base":
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text


def _text(value: object) -> str:
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None
        else json.dumps(value, ensure_ascii=False, default=str)
    )
