"""How a model's reply ended, as a fact: whole, or cut in one of several ways."""

from __future__ import annotations

import json
from typing import get_args

from agentkit.events import ReplyEnd
from agentkit.messages import AnyMessage, functions_of

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
    end = getattr(response, "reply_end", None)
    if isinstance(end, str) and end in _ENDS:
        return _ENDS[end]
    choices = getattr(response, "choices", None)
    first = choices[0] if isinstance(choices, list | tuple) and choices else None
    reason = getattr(first, "finish_reason", None)
    return _REASONS.get(reason, "whole") if isinstance(reason, str) else "whole"


def cut_by(end: ReplyEnd | None) -> ReplyEnd | None:
    """What cut a reply that ended so; None when there was to be no more of it."""
    return None if end == "whole" else end


def half_a_call(message: AnyMessage) -> str:
    """The name of the function whose call at the end of a cut message is not whole; else empty."""
    last = functions_of(message)[-1:]
    return next((str(call["name"]) for call in last if not _is_whole(call.get("arguments"))), "")


def _is_whole(arguments: object) -> bool:
    try:
        return not isinstance(arguments, str) or isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False
