"""What a model accepts as a history, and which messages of it belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentkit.messages import AnyMessage, Stored, function_call_of, tool_calls_of, tool_responses_of

Messages = list[Stored]
HEADING = "Summary of the earlier conversation:"
"""The first line of a message that stands for others, for the model that reads it."""
_MARK = "stands_for_others"


def summary_message(text: str) -> Stored:
    """The message that stands for others; its role is the user's, since many models take one system
    message only.
    """
    return marked(f"{HEADING}\n{text}")


def marked(content: str) -> Stored:
    """The message that stands for others, with the content that `summary_message` made before; no
    model is sent the mark.
    """
    return {"role": "user", "content": content, "metadata": {_MARK: True}}


def is_summary(message: AnyMessage) -> bool:
    """Whether the message stands for others, by its mark: what somebody pastes is none."""
    metadata = message.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get(_MARK) is True


def called(message: AnyMessage) -> list[tuple[str, str]]:
    """The calls in a message, each as its kind and its id (tools) or name (functions of the older
    form).
    """
    calls = [("tool", str(call.get("id"))) for call in tool_calls_of(message)]
    older = function_call_of(message)
    return [*calls, ("function", str(older.get("name")))] if older else calls


def answered(message: AnyMessage) -> list[tuple[str, str]]:
    """The calls that a message holds the results of."""
    if responses := tool_responses_of(message):
        return [("tool", str(each.get("tool_call_id"))) for each in responses]
    if message.get("role") == "tool":
        return [("tool", str(message.get("tool_call_id")))]
    return [("function", str(message.get("name")))] if message.get("role") == "function" else []


def blocks(messages: Sequence[Stored]) -> list[Messages]:
    """The messages in order; a call is in one block with its results and whatever stands between
    them.
    """
    made: list[Messages] = []
    ends = _ends(messages)
    start = 0
    while start < len(messages):
        place, end = start, ends[start]
        while place <= end:
            end = max(end, ends[place])
            place += 1
        made.append(list(messages[start : end + 1]))
        start = end + 1
    return made


def _ends(messages: Sequence[Stored]) -> list[int]:
    """For each message the place of the last one that must stay with it."""
    ends = list(range(len(messages)))
    waiting: dict[tuple[str, str], int] = {}
    for place, message in enumerate(messages):
        results = answered(message)
        for key in results:
            if key in waiting:
                ends[waiting[key]] = place
        if results and place and (called(messages[place - 1]) or answered(messages[place - 1])):
            ends[place - 1] = place
        waiting.update(dict.fromkeys(called(message), place))
    return ends


def divide(messages: Sequence[Stored], keep_last: int) -> tuple[Messages, Messages, Messages]:
    """The head that stays (system message and first message), what may be shortened, and at least
    `keep_last` newest messages.

    Calls are never parted from their results. Of a short history everything is head or tail.
    """
    system = 1 if messages and messages[0].get("role") == "system" else 0
    parts = blocks(messages[system:])
    head = [*messages[:system], *(parts.pop(0) if parts else [])]
    tail: Messages = []
    while parts and len(tail) < keep_last:
        tail = parts.pop() + tail
    return head, [message for part in parts for message in part], tail


def broken(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> str:
    """What is wrong with a history that is to stand for another one; empty when a model can go on
    with it.
    """
    if not after:
        return "nothing would be left of the conversation"
    if sum(each.get("role") == "system" for each in after) > sum(
        each.get("role") == "system" for each in before
    ):
        return "there would be one more system message"
    if lost := sorted(set(_unpaired(after)) - set(_unpaired(before))):
        return f"the {lost[0][0]} call {lost[0][1]!r} would be parted from its result"
    return ""


def _unpaired(messages: Sequence[AnyMessage]) -> Iterator[tuple[str, str]]:
    """Calls without a result behind them, and results without a call before them; a call in the
    last message waits for its.
    """
    open_calls: set[tuple[str, str]] = set()
    known: set[tuple[str, str]] = set()
    for message in messages:
        results = answered(message)
        yield from (key for key in results if key not in known)
        open_calls.difference_update(results)
        made = called(message)
        known.update(made)
        open_calls.update(made)
    yield from open_calls
