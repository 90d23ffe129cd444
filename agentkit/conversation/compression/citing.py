"""Citations: which passages of a shortened history are still cited, and how they are kept in its
summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.rendering import STILL_CITED
from agentkit.conversation.compression.shape import Messages, is_summary, summary_message
from agentkit.llm.offline.passages import Passage, format_passages, parse_passages, without_passages
from agentkit.messages import AnyMessage, Stored, text_of, tool_responses_of

_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")


def texts(message: AnyMessage) -> list[str]:
    """The texts that a message holds; of results of tools theirs."""
    if responses := tool_responses_of(message):
        return [text_of(each.get("content")) for each in responses]
    content = message.get("content")
    return [] if callable(content) else [text_of(content)]


def cited(messages: Iterable[AnyMessage]) -> set[int]:
    """The numbers that are cited outside the passages themselves."""
    found: set[int] = set()
    for message in messages:
        for text in texts(message):
            for numbers in _CITED.findall(without_passages(text) if "<passage" in text else text):
                found.update(int(each) for each in numbers.split(","))
    return found


def passages(messages: Iterable[AnyMessage]) -> dict[int, Passage]:
    """The passages in the messages by their number; of two with the same number the newer one."""
    return {
        found.marker: found
        for message in messages
        for text in texts(message)
        if "<passage" in text
        for found in parse_passages(text)
    }


def room_needed(middle: Sequence[Stored], kept: Sequence[Stored], room: int, meter: Meter) -> int:
    """Tokens, half of `room` at most, that the cited passages of the middle will take in the
    summary.
    """
    wanted = _wanted(middle, [*kept, *middle], kept)
    return min(room // 2, meter.count([summary_message(_block(wanted))])) if wanted else 0


def with_passages(
    made: Messages, middle: Sequence[Stored], kept: Sequence[Stored], room: int, meter: Meter
) -> Messages:
    """The messages made of the middle, with its passages that are still cited in the summary; texts
    are cut to fit `room`.
    """
    wanted = _wanted(middle, [*kept, *made], [*kept, *made])
    if not wanted:
        return made
    each = max(8, room // len(wanted) - 24)
    block = _block([Passage(one.marker, one.source, _cut(one.text, each, meter)) for one in wanted])
    place = next((place for place, message in enumerate(made) if is_summary(message)), None)
    if place is None:
        return [summary_message(block), *made]
    return [
        *made[:place],
        {**made[place], "content": f"{made[place]['content']}\n\n{block}"},
        *made[place + 1 :],
    ]


def _wanted(
    middle: Sequence[Stored], citing: Sequence[Stored], there: Sequence[Stored]
) -> list[Passage]:
    found = passages(middle)
    if not found:
        return []
    return [found[number] for number in sorted(cited(citing) & set(found) - set(passages(there)))]


def _block(found: Sequence[Passage]) -> str:
    return f"{STILL_CITED}\n{format_passages(found)}"


def _cut(text: str, tokens: int, meter: Meter) -> str:
    cut = meter.cut(text, tokens)
    return cut if cut == text else f"{cut} …"
