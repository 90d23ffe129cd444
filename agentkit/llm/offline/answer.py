"""From ranked units to an answer: how many, in which order, with what makes them understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from itertools import groupby, takewhile
from operator import attrgetter

from agentkit.llm.offline.question import Question
from agentkit.llm.offline.rank import Scored
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import stems

LONGEST_LIST = 12
_ANNOUNCES = re.compile(
    r"\b(two|three|four|several|various|following|as follows)\b[^,;]*[.:]\Z", re.IGNORECASE
)
_COUNTS = {"two": 2, "three": 3, "four": 4}
_NUMBERED = re.compile(r"\d+[.)](?: |\Z)")
_LONGEST_ANNOUNCEMENT = 160
_AFTER_QUESTION = 3
_MOST_CHARACTERS = 900
_NEXT_BEST = 8
"""Units that are looked at for a question that wants several."""
_LEAST_NEW = 3
"""Words that a further unit has to add."""
_WANTS_ITEMS = ("way", "list")
_WANTS_LIST = (*_WANTS_ITEMS, "broad")
_WANTS_SEVERAL = ("list", "way", "compare", "broad", "definition")
_SEVERAL = {"reason": 2, "way": 3, "list": 2, "compare": 3, "broad": 3}
_HEADS = ("heading", "columns")


def choose_units(question: Question, ranked: Sequence[Scored], units: Sequence[Unit]) -> list[Unit]:
    """The units that answer, in the order in which they are to be read; empty when none does."""
    answering = [one.unit for one in ranked if one.score > 0]
    if not answering:
        return []

    best = _find_best(question, answering)
    picked = complete_unit(question, best, units)
    if picked == [best]:
        picked = _add_more(question, best, answering[1:_NEXT_BEST])
    return _sort_for_reading(_add_context(picked))


def complete_unit(question: Question, best: Unit, units: Sequence[Unit]) -> list[Unit]:
    """The unit with its list or the sentences it introduces; for a question, what stands below."""
    if best.asks:
        return _find_answer_below(best, units)
    return _add_list(question, best, units) or _add_announced(question, best, units)


def _find_best(question: Question, answering: Sequence[Unit]) -> Unit:
    """The best unit; for questions about steps or lists an item of a list about what is asked."""
    best = answering[0]
    if question.kind not in _WANTS_ITEMS:
        return best
    headed = filter(partial(_is_headed, question), answering[:LONGEST_LIST])
    return next(headed, best)


def _is_headed(question: Question, unit: Unit) -> bool:
    """Whether it is a list item whose heading or introduction has most words of the question."""
    if unit.shape != "item":
        return False
    above = unit.stems_before.union(stems(unit.heading))
    shared = above.intersection(question.stems)
    return len(shared) * 2 > len(question.stems)


def _find_answer_below(asking: Unit, units: Sequence[Unit]) -> list[Unit]:
    """The units below a question that the document itself asks, up to the next question."""
    following = units[asking.index + 1 : asking.index + 1 + _AFTER_QUESTION]
    return list(takewhile(partial(_continues, asking), following))


def _continues(asking: Unit, unit: Unit) -> bool:
    """Whether a unit can be part of the answer below a question in the same passage."""
    if unit.asks or unit.shape in _HEADS:
        return False
    return unit.rank == asking.rank


def _add_list(question: Question, best: Unit, units: Sequence[Unit]) -> list[Unit]:
    """The whole list if the unit introduces it, or is one of its items and a list is asked for."""
    is_wanted = best.shape != "item" or question.kind in _WANTS_LIST
    if not best.is_listed or not is_wanted:
        return []

    listed = [unit for unit in units if unit.group == best.group and not unit.asks]
    shapes = Counter(map(attrgetter("shape"), listed))
    if shapes["item"] < 2:
        return []
    return listed[: LONGEST_LIST + 1]


def _add_announced(question: Question, best: Unit, units: Sequence[Unit]) -> list[Unit]:
    """The unit, followed by the sentences it announces, as in `There are two ways.`"""
    if question.kind not in _WANTS_SEVERAL:
        return [best]
    begin = best.index + 1
    following = units[begin : begin + _count_announced(best)]
    return [best, *filter(partial(_goes_on, best), following)]


def _goes_on(best: Unit, unit: Unit) -> bool:
    """Whether a unit stands behind another one in the same paragraph of the passage."""
    return unit.rank == best.rank and unit.previous is not None


def _count_announced(unit: Unit) -> int:
    """How many further sentences a short sentence announces; 0 for most."""
    if unit.shape != "sentence" or len(unit.text) >= _LONGEST_ANNOUNCEMENT:
        return 0
    announced = _ANNOUNCES.search(unit.text)
    if announced is None:
        return 0
    return _COUNTS.get(announced[1].lower(), 2)


def _add_more(question: Question, best: Unit, others: Sequence[Unit]) -> list[Unit]:
    """The best unit, and for some kinds of questions the next ones that add something new."""
    picked, known, length = [best], set(best.stems), len(best.text)
    most = _SEVERAL.get(question.kind, 1)
    for unit in others:
        adds = not unit.asks and len(unit.stems - known) >= _LEAST_NEW
        if adds and length <= _MOST_CHARACTERS:
            picked.append(unit)
            known |= unit.stems
            length += len(unit.text)
    return picked[:most]


def _add_context(picked: Sequence[Unit]) -> list[Unit]:
    """The units, each preceded by the one that it refers back to."""
    made: list[Unit] = []
    for unit in picked:
        before = unit.leans_on
        if before is not None and before not in [*picked, *made]:
            made.append(before)
        made.append(unit)
    return made


def _sort_for_reading(picked: Sequence[Unit]) -> list[Unit]:
    """The passage of the best unit first; within a passage, in the order of the document."""
    markers = list(map(attrgetter("marker"), picked))
    return sorted(picked, key=lambda unit: (markers.index(unit.marker), unit.index))


def quote_units(picked: Sequence[Unit], cites: bool = True, wanted: Collection[str] = ()) -> str:
    """The units word for word, each with its citation; items of a list stand on lines of their
    own.
    """
    quote = partial(_show, wanted=wanted)
    if cites:
        quote = partial(_cite, wanted=wanted)
    if len(picked) == 1:
        return quote(picked[0])

    blocks: list[str] = []
    for are_items, block in groupby(picked, _is_item):
        texts = map(quote, block)
        if are_items:
            blocks.append("\n".join(map(_to_item, texts)))
        else:
            blocks.append(" ".join(texts))
    return "\n\n".join(blocks)


def _show(unit: Unit, wanted: Collection[str]) -> str:
    return unit.focus(wanted)


def _cite(unit: Unit, wanted: Collection[str]) -> str:
    return f"{unit.focus(wanted)} [{unit.marker}]"


def _is_item(unit: Unit) -> bool:
    return unit.shape in ("item", "row")


def _to_item(text: str) -> str:
    if _NUMBERED.match(text):
        return text
    return f"- {text}"
