"""Citations: which passages of a shortened history are still cited, and how they are kept in its
summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress, count

from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.rendering import STILL_CITED
from agentkit.conversation.compression.shape import Messages, is_summary, summary_message
from agentkit.llm.offline.passages import Passage, format_passages, parse_passages, without_passages
from agentkit.messages import AnyMessage, Stored, responses_of, text_of

_CITED = re.compile(r"\[(\d{1,6}(?:\s*,\s*\d{1,6})*)\]")
_NUMBER = re.compile(r"\d+")


def read_texts(messages: Iterable[AnyMessage]) -> Iterator[str]:
    """The texts that the messages hold; of results of tools theirs."""
    for message in messages:
        parts: Sequence[AnyMessage] = responses_of(message) or [message]
        for part in parts:
            content = part.get("content")
            if not callable(content):
                yield text_of(content)


def find_cited(messages: Iterable[AnyMessage]) -> set[int]:
    """The numbers that are cited outside the passages themselves."""
    texts = map(without_passages, read_texts(messages))
    citations = chain.from_iterable(map(_CITED.findall, texts))
    numbers = chain.from_iterable(map(_NUMBER.findall, citations))
    return set(map(int, numbers))


def find_passages(messages: Iterable[AnyMessage]) -> dict[int, Passage]:
    """The passages in the messages by their number; of two with the same number the newer one."""
    found = chain.from_iterable(map(parse_passages, read_texts(messages)))
    return {passage.marker: passage for passage in found}


def estimate_room(middle: Sequence[Stored], kept: Sequence[Stored], room: int, meter: Meter) -> int:
    """Tokens, half of `room` at most, that the cited passages of the middle will take in the
    summary.
    """
    wanted = _find_wanted(middle, [*kept, *middle], kept)
    if not wanted:
        return 0
    return min(room // 2, meter.count([summary_message(_format(wanted))]))


def add_passages(
    made: Messages, middle: Sequence[Stored], kept: Sequence[Stored], room: int, meter: Meter
) -> Messages:
    """The messages made of the middle, with its passages that are still cited in the summary; texts
    are cut to fit `room`.
    """
    left = [*kept, *made]
    wanted = _find_wanted(middle, left, left)
    if not wanted:
        return made
    each = max(8, room // len(wanted) - 24)
    shorter = [replace(one, text=_cut(one.text, each, meter)) for one in wanted]
    block = _format(shorter)
    places = list(compress(count(), map(is_summary, made)))
    if not places:
        return [summary_message(block), *made]
    changed = list(made)
    summary = made[places[0]]
    changed[places[0]] = {**summary, "content": f"{summary['content']}\n\n{block}"}
    return changed


def _find_wanted(
    middle: Sequence[Stored], citing: Sequence[Stored], there: Sequence[Stored]
) -> list[Passage]:
    """The passages of the middle that `citing` cites and that are not in `there`, by number."""
    found = find_passages(middle)
    numbers = find_cited(citing) & (found.keys() - find_passages(there).keys())
    return [found[number] for number in sorted(numbers)]


def _format(found: Sequence[Passage]) -> str:
    return f"{STILL_CITED}\n{format_passages(found)}"


def _cut(text: str, tokens: int, meter: Meter) -> str:
    cut = meter.cut(text, tokens)
    if cut == text:
        return text
    return f"{cut} …"
