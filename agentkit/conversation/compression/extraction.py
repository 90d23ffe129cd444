"""A summary without a model: the sentences of the messages that say most, in their order and with
who said them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from operator import attrgetter

from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.rendering import said
from agentkit.conversation.compression.shape import Messages, summary_message
from agentkit.conversation.compression.strategy import Scope
from agentkit.core.text import sentences
from agentkit.errors import AgentkitError
from agentkit.llm.offline.words import stems

_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"(?<=[^.!?:\s] )[A-Z][\w-]+")
_CITATION = re.compile(r"\[\d{1,6}\]")
_EARLIER = re.compile(r"(?:- (?:(?P<label>[^:\n]{1,80}): )?)?(?P<text>.+)")
_LONGEST = 600
_ALIKE = 0.7


@dataclass(frozen=True, slots=True)
class _Line:
    """Something that may stand in the summary."""

    label: str
    text: str
    stems: frozenset[str]
    weight: float
    """Of what kind it is: names, numbers and citations weigh more, questions less."""

    @property
    def shown(self) -> str:
        if self.label:
            return f"- {self.label}: {self.text}"
        return f"- {self.text}"

    @property
    def length(self) -> float:
        """What it takes to read, in a measure that spares long lines."""
        return math.sqrt(8 + len(self.text) / 4)


class Extraction:
    """Keeps the sentences that say most, with names, numbers and citations favoured; deterministic,
    and asks nobody.
    """

    name = "extraction"

    def shorten(self, messages: Messages, scope: Scope) -> Messages:
        """One message with the best sentences; raises AgentkitError when there is room for none."""
        heading = scope.meter.count([summary_message("")])
        text = extract(messages, scope.room - heading, scope.meter)
        if not text:
            raise AgentkitError(
                f"no sentence of the {len(messages)} messages fits into {scope.room} tokens"
            )
        return [summary_message(text)]


def extract(messages: Messages, room: int, meter: Meter) -> str:
    """The best lines that fit into so many tokens together, in the order of the messages."""
    lines = list(_read_lines(messages))
    chosen: dict[int, str] = {}
    seen: dict[str, list[frozenset[str]]] = {}
    for place in _rank(lines):
        line = lines[place]
        cost = meter.text(line.shown) + 1
        if cost > room or _repeats(line, seen):
            continue
        room -= cost
        chosen[place] = line.shown
        for one in line.stems:
            seen.setdefault(one, []).append(line.stems)
        if room < 8:
            break
    in_order = sorted(chosen)
    return "\n".join(chosen[each] for each in in_order)


def _read_lines(messages: Messages) -> Iterator[_Line]:
    # Passages that are cited are kept beside the summary.
    parts = map(partial(said, passages=False), messages)
    for label, text in chain.from_iterable(parts):
        if label == "SUMMARY":
            yield from _read_summary(text)
        else:
            yield from _read_sentences(label.split(" ", 1)[-1], text)


def _read_summary(text: str) -> Iterator[_Line]:
    """The lines of an earlier summary, with the labels that they have there."""
    lines = map(str.strip, text.splitlines())
    earlier = chain.from_iterable(map(_EARLIER.findall, lines))
    return starmap(_weigh, earlier)


def _read_sentences(label: str, text: str) -> Iterator[_Line]:
    for start, end in sentences(text):
        words = text[start:end].split()
        yield _weigh(label, " ".join(words)[:_LONGEST])


def _weigh(label: str, text: str) -> _Line:
    has_number = _NUMBER.search(text) is not None
    has_citation = _CITATION.search(text) is not None
    names = min(2, len(_NAME.findall(text)))
    weight = 1 + 0.5 * has_number + 0.25 * names + 0.5 * has_citation
    if text.endswith("?"):
        weight *= 0.5
    return _Line(label, text, frozenset(stems(text)), weight)


def _rank(lines: Sequence[_Line]) -> list[int]:
    """Places of the lines, those first that say most for their length; words that all say weigh
    little.
    """
    counts = Counter(chain.from_iterable(map(attrgetter("stems"), lines)))
    rarity = {one: math.log(1 + len(lines) / count) for one, count in counts.items()}
    worths: dict[int, float] = {}
    for place, line in enumerate(lines):
        if line.stems:
            said_in_all = sum(rarity[each] for each in line.stems)
            worths[place] = line.weight * said_in_all / line.length
    return sorted(worths, key=worths.__getitem__, reverse=True)


def _repeats(line: _Line, seen: dict[str, list[frozenset[str]]]) -> bool:
    """Whether a chosen line says nearly the same; only those are compared that share its rarest
    word so far.
    """
    rarest = min((seen.get(one, []) for one in line.stems), key=len)
    for other in rarest:
        shared, all_words = line.stems & other, line.stems | other
        if len(shared) >= _ALIKE * len(all_words):
            return True
    return False
