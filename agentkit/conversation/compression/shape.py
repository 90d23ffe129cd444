"""What a model accepts as a history, and which messages of it belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from agentkit.messages import AnyMessage, Stored, function_call_of, responses_of, tool_calls_of

Messages = list[Stored]
CallKey = tuple[str, str]
"""What a call and its result have in common: `tool` and the id, or (the older form) `function` and
the name.
"""
HEADING = "Summary of the earlier conversation:"
"""The first line of a message that stands for others, for the model that reads it."""
_MARK = "stands_for_others"


def summary_message(text: str) -> Stored:
    """The message that stands for others; its role is the user's, since many models take one system
    message only.
    """
    return mark_summary(f"{HEADING}\n{text}")


def mark_summary(content: str) -> Stored:
    """The message that stands for others, with the content that `summary_message` made before; no
    model is sent the mark.
    """
    return {"role": "user", "content": content, "metadata": {_MARK: True}}


def is_summary(message: AnyMessage) -> bool:
    """Whether the message stands for others, by its mark: a text that somebody pastes lacks it."""
    metadata = message.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get(_MARK) is True


def find_calls(message: AnyMessage) -> list[CallKey]:
    """The calls in a message."""
    calls = [("tool", str(call.get("id"))) for call in tool_calls_of(message)]
    older = function_call_of(message)
    if older:
        calls.append(("function", str(older.get("name"))))
    return calls


def find_results(message: AnyMessage) -> list[CallKey]:
    """The calls that a message holds the results of."""
    return list(map(_key_of_result, responses_of(message)))


def _key_of_result(result: AnyMessage) -> CallKey:
    if result.get("role") == "function":
        return "function", str(result.get("name"))
    return "tool", str(result.get("tool_call_id"))


def split_into_blocks(messages: Sequence[Stored]) -> list[Messages]:
    """The messages in order; a call is in one block with its results and whatever stands between
    them.
    """
    blocks: list[Messages] = []
    end = -1
    for place, (message, last) in enumerate(zip(messages, _find_ends(messages), strict=True)):
        if place > end:
            blocks.append([])
        blocks[-1].append(message)
        end = max(end, last)
    return blocks


def _find_ends(messages: Sequence[Stored]) -> list[int]:
    """For each message the place of the last one that must stay with it."""
    ends = list(range(len(messages)))
    waiting: dict[CallKey, int] = {}
    follows_call = False
    for place, message in enumerate(messages):
        calls, results = find_calls(message), find_results(message)
        for key in waiting.keys() & results:
            ends[waiting[key]] = place
        if results and follows_call:
            ends[place - 1] = place
        follows_call = bool(calls or results)
        waiting.update(dict.fromkeys(calls, place))
    return ends


def divide(messages: Sequence[Stored], keep_last: int) -> tuple[Messages, Messages, Messages]:
    """The head that stays (system message and first message), what may be shortened, and at least
    `keep_last` newest messages.

    Calls are never parted from their results. Of a short history everything is head or tail.
    """
    has_system = _count_system(messages[:1])
    head, rest = list(messages[:has_system]), messages[has_system:]
    middle = split_into_blocks(rest)
    if middle:
        head += middle.pop(0)
    tail: Messages = []
    while middle and len(tail) < keep_last:
        tail = middle.pop() + tail
    return head, list(chain.from_iterable(middle)), tail


def find_damage(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> str:
    """What is wrong with a history that is to stand for another one; empty when a model can go on
    with it.
    """
    if not after:
        return "nothing would be left of the conversation"
    if _count_system(after) > _count_system(before):
        return "there would be one more system message"
    lost = _find_unpaired(after) - _find_unpaired(before)
    if lost:
        kind, name = min(lost)
        return f"the {kind} call {name!r} would be parted from its result"
    return ""


def _count_system(messages: Iterable[AnyMessage]) -> int:
    return sum(message.get("role") == "system" for message in messages)


def _find_unpaired(messages: Iterable[AnyMessage]) -> set[CallKey]:
    """Calls without a result behind them, and results without a call before them."""
    called: set[CallKey] = set()
    waiting: set[CallKey] = set()
    unpaired: set[CallKey] = set()
    for message in messages:
        calls, results = set(find_calls(message)), set(find_results(message))
        unpaired |= results - called
        waiting = (waiting - results) | calls
        called |= calls
    return unpaired | waiting
