"""Passages cut into what can be quoted: sentences, list items, table rows, each with what it hangs
on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Literal

from agentkit.core.text import sentences
from agentkit.llm.offline.passages import Passage
from agentkit.llm.offline.words import alike, stems

Shape = Literal["sentence", "item", "row", "heading", "columns"]

_ITEM = re.compile(r"\s*(?:[-*+•▪–●]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_UNDERLINE = re.compile(r"\s*+(?:[=~^\"*+#-]{3,}+|[-|:+= ]{3,}+)\s*+\Z")
_NARROW = 4
_LONGEST_NAME = 100
"""Characters of a heading or the head of a column that go along with what stands below."""
_KEYED = re.compile(r"^[ \t]*\w[\w ()/&.-]{0,40}: \S", re.MULTILINE)
_PLACE = re.compile(
    r"(?:p\. |page|line|row|slide|sheet|cell|chapter|record|paragraph|part|entr)[^,\d]*+\d[^,]*+\Z",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_PRONOUN_LED = re.compile(
    r"(?:it|its|they|them|their|he|she|his|her|this|these|those|that|such|both|there|then"
    r"|thus|therefore|however|instead|otherwise|also|moreover|in addition|in this case|if so"
    r"|the (?:former|latter|same))\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Unit:
    """Something that can be quoted, and where it stands."""

    text: str
    """As it is shown: white space narrowed, list signs and heading signs off, table cells with
    their column.
    """
    marker: int
    rank: int
    """Place of its passage in the prompt, from 0."""
    index: int
    """Place among all units."""
    shape: Shape
    heading: str = ""
    previous: Unit | None = field(default=None, repr=False)
    """The unit before it in the same paragraph or list."""
    group: int = -1
    """Units of one list share a number, the line that introduces them included; -1 is no list."""
    stems: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    """Stems of heading, source and what it leans on."""
    cells: tuple[tuple[str, str], ...] = ()
    """Column and cell of a table row."""

    @property
    def leans(self) -> bool:
        """Whether it cannot be understood without the unit before."""
        return self.previous is not None and _PRONOUN_LED.match(self.text) is not None

    @property
    def said(self) -> frozenset[str]:
        """Its stems; what leans has those of the unit before, what is listed those of its
        heading.
        """
        if self.shape == "item":
            return self.stems | self.around
        if self.leans and self.previous is not None:
            return self.stems | self.previous.stems
        return self.stems

    @property
    def asks(self) -> bool:
        """Whether it is itself a question, as in a list of frequent ones: it may lead to an answer
        but is none.
        """
        return self.text.endswith("?")

    def in_context(self, wanted: Collection[str]) -> str:
        """The unit as it is compared by meaning: with what it leans on, or a heading that adds to
        it.
        """
        if self.cells:
            return f"{self.heading}: {self.focused(wanted)}"
        if self.leans and self.previous is not None:
            return f"{self.previous.text} {self.text}"
        adds = any(one in wanted and one not in self.stems for one in stems(self.heading))
        return f"{self.heading}: {self.text}" if adds else self.text

    def focused(self, wanted: Collection[str]) -> str:
        """A wide table row cut down to its first cell and those that are asked for; anything else
        as it is.
        """
        if len(self.cells) <= _NARROW:
            return self.text
        near = set(wanted).union(*map(alike, wanted))
        asked = [pair for pair in self.cells[1:] if not near.isdisjoint(stems(": ".join(pair)))]
        return _pairs([self.cells[0], *asked]) if asked else self.text


def cut(passages: Sequence[Passage]) -> list[Unit]:
    """All units of the passages in order, each sentence once even where passages overlap."""
    units: list[Unit] = []
    seen: set[str] = set()
    for rank, passage in enumerate(passages):
        for unit in _Cutter(passage, rank, len(units)).run():
            key = " ".join(unit.text.lower().split())
            if key in seen and unit.shape not in ("heading", "columns"):
                continue
            seen.add(key)
            unit.index = len(units)
            units.append(unit)
    return units


class _Cutter:
    """Walks through one passage and remembers headings, table headers and lists."""

    def __init__(self, passage: Passage, rank: int, number: int) -> None:
        self.passage = passage
        self.rank = rank
        self.number = number
        self.source = frozenset(stems(re.sub(r"[_./-]", " ", passage.source)))
        self.heading = _heading_of(passage.source)[:_LONGEST_NAME]
        self.columns = _columns_of(passage.source)
        self.around = self.source | frozenset(stems(self.heading))
        self.previous: Unit | None = None
        self.previous_end = 0
        self.group = -1
        self.groups = 0
        self.item_follows = False

    def run(self) -> Iterator[Unit]:
        text = self.passage.text
        spans = _joined(text, sentences(text))
        for place, (start, end) in enumerate(spans):
            raw = text[start:end]
            self.item_follows = (
                place + 1 < len(spans) and _ITEM.match(text, spans[place + 1][0]) is not None
            )
            if _UNDERLINE.match(raw) or not re.search(r"\w", raw):
                continue
            following = spans[place + 1][0] if place + 1 < len(spans) else len(text)
            begins = not place or "\n" in text[spans[place - 1][1] : start]
            unit = self._unit(raw, begins, text[self.previous_end : start], text[end:following])
            self.previous_end = end
            if unit is not None:
                yield unit

    def _unit(self, raw: str, begins: bool, before: str, after: str) -> Unit | None:
        if "\n\n" in before or "\n \n" in before:
            self.columns = [] if self.columns and not _is_row(raw) else self.columns
        if _is_row(raw):
            return self._row(raw)
        if begins and (
            _is_heading(raw, after)
            or (
                self.group < 0
                and not self.item_follows
                and _is_heading(_without(_ITEM, raw), after)
            )
        ):
            return self._heading(_shown(_without(_HEADING, raw)).strip("#*_ :"))
        if begins and (sign := _ITEM.match(raw)):
            return self._item(raw[sign.end() :], raw[: sign.end()].strip())
        return self._sentence(raw, before)

    def _heading(self, title: str) -> Unit:
        self.heading = title[:_LONGEST_NAME]
        self.around = self.source | frozenset(stems(self.heading))
        self.previous, self.group = None, -1
        return self._made(title, "heading")

    def _row(self, raw: str) -> Unit | None:
        cells = _cells(raw)
        self.previous, self.group = None, -1
        if cells == self.columns:
            return None
        if not self.columns or len(cells) > len(self.columns):
            if len(cells) == 2 and _has_value(cells):
                return self._pair(cells)
            self.columns = [cell[:_LONGEST_NAME] for cell in cells]
            return self._made("; ".join(cell for cell in cells if cell), "columns")
        pairs = [(column, cell) for column, cell in zip(self.columns, cells, strict=False) if cell]
        unit = self._made(_pairs(pairs), "row")
        unit.cells = tuple(pairs)
        return unit

    def _pair(self, cells: list[str]) -> Unit:
        """Two columns without a header: a name and its value."""
        return self._made(": ".join(cell for cell in cells if cell), "row")

    def _item(self, text: str, sign: str) -> Unit:
        before = self.previous
        if self.group < 0:
            self.groups += 1
            self.group = self.number * 1000 + self.groups
            if before is not None and before.shape == "sentence" and before.text.endswith(":"):
                before.group = self.group
        lead = f"{sign} " if sign[-1] in ".)" else ""
        unit = self._made(lead + _shown(text), "item")
        unit.group, unit.previous = self.group, before
        self.previous = unit
        return unit

    def _sentence(self, raw: str, before: str) -> Unit:
        apart = "\n\n" in before
        inside_item = self.previous is not None and self.previous.shape == "item" and not apart
        if apart:
            self.group = -1
        unit = self._made(_shown(raw), "sentence")
        unit.previous = None if apart and not _PRONOUN_LED.match(raw) else self.previous
        unit.group = self.group if inside_item else -1
        self.previous = unit
        return unit

    def _made(self, text: str, shape: Shape) -> Unit:
        own = frozenset(stems(text))
        around = self.around
        if self.previous is not None and _PRONOUN_LED.match(text):
            around = around | self.previous.stems
        return Unit(
            text, self.passage.marker, self.rank, 0, shape, self.heading, stems=own, around=around
        )


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in pairs)


def _shown(raw: str) -> str:
    """On one line; numbers in brackets would pass for our citations."""
    return _BRACKETED.sub(r"(\1)", " ".join(raw.split()))


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A bracket on the next line belongs to the sentence before it; lines of names with values
    stand each for itself.
    """
    made: list[tuple[int, int]] = []
    for start, end in spans:
        if (
            made
            and text[start] == "("
            and text[made[-1][1] : start].count("\n") == 1
            and text[made[-1][1] - 1] not in ".!?:;|"
        ):
            start = made.pop()[0]
        raw = text[start:end]
        if len(_KEYED.findall(raw)) > 1 and len(_KEYED.findall(raw)) == raw.count("\n") + 1:
            made += [
                (start + line.start(), start + line.end()) for line in re.finditer(r"[^\n]+", raw)
            ]
        else:
            made.append((start, end))
    return made


def _without(sign: re.Pattern[str], raw: str) -> str:
    """What follows the sign that it begins with."""
    found = sign.match(raw)
    return raw[found.end() :] if found else raw


def _is_heading(raw: str, after: str) -> bool:
    """A marked heading, or a short line on its own that does not end like a sentence."""
    line = raw.strip()
    if not line:
        return False
    if _HEADING.match(raw) or (line.isupper() and len(line) < 100 and "\n" in after):
        return True
    if "\n" in line or len(line) > 70 or line[-1] in ".!?;,:|" or _ITEM.match(raw):
        return False
    begins = line[0].isupper() or line[0].isdigit()
    return "\n" in after and begins and not _states(line, after)


def _states(line: str, after: str) -> bool:
    """Whether a short line says something by itself: a percentage, an amount, `name: value`."""
    if re.search(r"\d\s*(?:%|€|\$)", line):
        return True
    return ": " in line and ("\n\n" not in after or re.search(r"\d", line) is not None)


def _is_row(raw: str) -> bool:
    line = raw.strip()
    return "\n" not in line and (
        " | " in line or "\t" in line or (line.startswith("|") and line.count("|") > 2)
    )


def _cells(line: str) -> list[str]:
    return (
        [
            _shown(cell)
            for cell in re.split(r"\t|\|", line.strip().removeprefix("|").removesuffix("|"))
        ]
        if line.strip()
        else []
    )


def _columns_of(source: str) -> list[str]:
    """The header row of a table that stands at the end of a source line; empty without one."""
    if " | " not in source:
        return []
    first, _, others = source.partition(" | ")
    return _cells(f"{re.split(r', |: ', first)[-1]} | {others}")


def _has_value(cells: Sequence[str]) -> bool:
    return any(any(letter.isdigit() for letter in cell) for cell in cells[1:])


def _heading_of(source: str) -> str:
    """The heading in a source line, which stands after document and page; a table's header row is
    none.
    """
    parts = list(dropwhile(_PLACE.match, source.split(", ")[1:]))
    return "" if " | " in source else ", ".join(parts)
