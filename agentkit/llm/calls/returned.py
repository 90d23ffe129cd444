"""What some models want back of what they sent with a call of a function, and others refuse.

Thinking models of DeepSeek and Moonshot want what they thought before the call, Gemini the
signature in its `extra_content`. Who wants it is learned from a refusal; of Gemini it is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Literal, cast

from agentkit.core.given import coalesce
from agentkit.errors import ModelError
from agentkit.llm.model import Model
from agentkit.messages import (
    EXTRA,
    THINKING,
    Message,
    ToolCall,
    as_calls,
    has_calls,
    tool_calls_of,
    without_keys,
    without_thinking,
)

Wish = Literal["thinking", "extra"]
_REFUSALS: tuple[tuple[Wish, re.Pattern[str]], ...] = (
    ("thinking", re.compile(rf"missing.*{THINKING}|{THINKING}.*(missing|must|required)", re.I)),
    ("extra", re.compile(r"thought_?signature", re.I)),
)
_SIGNING = re.compile(r"gemini", re.I)
"""Models that sign their calls, by name."""
_learned: set[tuple[str, str, Wish]] = set()
"""By server and model, for as long as the process lives."""


def learn_refusal(error: ModelError, model: Model) -> bool:
    """Whether the model refused a request as something was not sent back, which is from now on."""
    if type(error) is not ModelError:
        return False
    for wish, words in _REFUSALS:
        if words.search(str(error)) and not _wants(model, wish):
            _learned.add((model.provider, model.name, wish))
            return True
    return False


def to_wanted(messages: Iterable[Message], model: Model) -> list[Message]:
    """The messages with what this model wants back, and with nothing of it that it does not."""
    thinking: Callable[[Message], Message] = without_thinking
    if _wants(model, "thinking"):
        thinking = _with_thinking
    wanted = map(thinking, messages)
    if _wants(model, "extra"):
        return list(wanted)
    return list(map(_without_extra, wanted))


def _wants(model: Model, wish: Wish) -> bool:
    if wish == "extra" and _SIGNING.search(model.name):
        return True
    return (model.provider, model.name, wish) in _learned


def _with_thinking(message: Message) -> Message:
    """Of all that was thought only what has the usual name, which may have been empty; and only
    before calls.
    """
    plain = without_thinking(message)
    if not has_calls(message):
        return plain
    return cast(Message, {**plain, THINKING: coalesce(message.get(THINKING), "")})


def _without_extra(message: Message) -> Message:
    calls = tool_calls_of(message)
    if not calls:
        return message
    plain = list(map(without_keys, calls, repeat([EXTRA])))
    return cast(Message, {**message, **as_calls(cast("list[ToolCall]", plain), None)})
