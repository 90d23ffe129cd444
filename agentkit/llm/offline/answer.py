"""From ranked units to an answer: how many, in which order, with what makes them understood."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agentkit.llm.offline.question import Question
from agentkit.llm.offline.rank import Scored
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import stems

LONGEST_LIST = 12
_ANNOUNCES = re.compile(
    r"\b(two|three|four|several|various|following|as follows)\b[^,;]*[.:]\Z", re.IGNORECASE
)
_COUNTS = {"two": 2, "three": 3, "four": 4}
_AFTER_QUESTION = 3
_MOST_CHARACTERS = 900
_WANTS_SEVERAL = ("list", "way", "compare", "broad", "definition")
_SEVERAL = {"reason": 2, "way": 3, "list": 2, "compare": 3, "broad": 3}


def chosen(question: Question, ranked: Sequence[Scored], units: Sequence[Unit]) -> list[Unit]:
    """The units that answer, in the order in which they are to be read; empty when none does."""
    if not ranked or ranked[0].score <= 0:
        return []
    best = (_listed_under(question, ranked) or ranked[0]).unit
    picked = whole(question, best, units)
    if picked == [best]:
        picked = _with_more(question, ranked, picked)
    return _in_order(_completed(picked))


def whole(question: Question, best: Unit, units: Sequence[Unit]) -> list[Unit]:
    """The unit with its list, with what it announces, or what it leads to; else the unit alone."""
    if best.asks:
        return _led_to(best, units)
    return _with_list(question, best, units) or _announced(question, best, units) or [best]


def _listed_under(question: Question, ranked: Sequence[Scored]) -> Scored | None:
    """Where steps or several things are asked for: a list whose heading says what is asked."""
    if question.kind not in ("way", "list"):
        return None
    for found in ranked[:LONGEST_LIST]:
        unit = found.unit
        headed = set(stems(unit.heading)) | (unit.previous.stems if unit.previous else set())
        most = len(headed & set(question.stems)) * 2 > len(question.stems)
        if unit.shape == "item" and found.score > 0 and most:
            return found
    return None


def _led_to(asking: Unit, units: Sequence[Unit]) -> list[Unit]:
    """What follows a question that the document itself asks, up to the next one."""
    led: list[Unit] = []
    for unit in units[asking.index + 1 : asking.index + 1 + _AFTER_QUESTION]:
        if unit.asks or unit.shape in ("heading", "columns") or unit.rank != asking.rank:
            break
        led.append(unit)
    return led


def _with_list(question: Question, best: Unit, units: Sequence[Unit]) -> list[Unit]:
    """The whole list, when the best unit introduces it, or is in it and a list is asked for."""
    if best.group < 0 or (best.shape == "item" and question.kind not in ("list", "way", "broad")):
        return []
    listed = [unit for unit in units if unit.group == best.group and not unit.asks]
    return listed[: LONGEST_LIST + 1] if sum(unit.shape == "item" for unit in listed) > 1 else []


def _announced(question: Question, best: Unit, units: Sequence[Unit]) -> list[Unit]:
    """A sentence that announces several things, with the sentences after it that tell them."""
    announced = _ANNOUNCES.search(best.text)
    if announced is None or question.kind not in _WANTS_SEVERAL or best.shape != "sentence":
        return []
    count = _COUNTS.get(announced[1].lower(), 2)
    following = [
        unit
        for unit in units[best.index + 1 : best.index + 1 + count]
        if unit.previous is not None and unit.rank == best.rank
    ]
    return [best, *following] if following and len(best.text) < 160 else []


def _with_more(question: Question, ranked: Sequence[Scored], picked: list[Unit]) -> list[Unit]:
    """For a question that wants several: the next that answer, too, and say something new."""
    most = _SEVERAL.get(question.kind, 1)
    for other in ranked[1:8]:
        if len(picked) >= most or sum(len(unit.text) for unit in picked) > _MOST_CHARACTERS:
            break
        new = other.unit.stems - frozenset().union(*(unit.stems for unit in picked))
        if other.score > 0 and not other.unit.asks and len(new) >= 3:
            picked = [*picked, other.unit]
    return picked


def _completed(picked: Sequence[Unit]) -> list[Unit]:
    """What leans on the unit before gets it."""
    made: list[Unit] = []
    for unit in picked:
        before = unit.previous
        if (
            unit.leans
            and before is not None
            and before.marker == unit.marker
            and before not in picked
            and before not in made
        ):
            made.append(before)
        made.append(unit)
    return made


def _in_order(picked: Sequence[Unit]) -> list[Unit]:
    """Best passage first, inside a passage as it is written."""
    places = {
        marker: place for place, marker in reversed(list(enumerate(unit.marker for unit in picked)))
    }
    return sorted(picked, key=lambda unit: (places[unit.marker], unit.index))


def written(picked: Sequence[Unit], cites: bool = True, wanted: Collection[str] = ()) -> str:
    """The units word for word, each with its citation; items of a list stand on lines of their
    own.
    """
    lines: list[str] = []
    for unit in picked:
        quoted = unit.focused(wanted)
        text = f"{quoted} [{unit.marker}]" if cites else quoted
        if unit.shape in ("item", "row") and len(picked) > 1:
            lines.append(f"- {text}" if not _numbered(unit.text) else text)
        elif lines and not lines[-1].startswith("- ") and not _numbered(lines[-1]):
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    joined = ""
    for place, line in enumerate(lines):
        if place:
            joined += "\n" if _listed(line) and _listed(lines[place - 1]) else "\n\n"
        joined += line
    return joined


def _listed(line: str) -> bool:
    return line.startswith("- ") or _numbered(line)


def _numbered(text: str) -> bool:
    sign = text.split(" ", 1)[0]
    return len(sign) > 1 and sign[-1] in ".)" and sign[:-1].isdigit()
