"""How a model's reply ended, as a fact: whole, or cut in one of several ways."""

from __future__ import annotations

import json
from typing import get_args

from agentkit.events import ReplyEnd
from agentkit.messages import AnyMessage, functions_of, text_or_empty

_ENDS: dict[str, ReplyEnd] = {end: end for end in get_args(ReplyEnd)}
# What servers call it: OpenAI, Anthropic, Mistral and OpenRouter.
_REASONS: dict[str, ReplyEnd] = {
    "length": "token_limit",
    "max_tokens": "token_limit",
    "model_length": "token_limit",
    "content_filter": "filtered",
    "error": "broken_off",
}


def end_of(response: object) -> ReplyEnd:
    """How the first reply in a response ended: by its `reply_end`, else by its `finish_reason`."""
    told = text_or_empty(getattr(response, "reply_end", None))
    if told in _ENDS:
        return _ENDS[told]
    choices = getattr(response, "choices", None)
    if not isinstance(choices, list | tuple):
        return "whole"
    first = next(iter(choices), None)
    reason = text_or_empty(getattr(first, "finish_reason", None))
    return _REASONS.get(reason, "whole")


def cut_by(end: ReplyEnd | None) -> ReplyEnd | None:
    """What cut a reply that ended so; None when it is whole."""
    if end == "whole":
        return None
    return end


def find_half_call(message: AnyMessage) -> str:
    """The name of the function whose call at the end of a cut message is not whole; else empty."""
    functions = functions_of(message)
    if not functions or _is_object(functions[-1].get("arguments")):
        return ""
    return str(functions[-1]["name"])


def _is_object(arguments: object) -> bool:
    """Whether the arguments of a call are all there: as a JSON object, or not as text."""
    if not isinstance(arguments, str):
        return True
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
