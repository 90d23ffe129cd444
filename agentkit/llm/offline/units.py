"""Passages cut into what can be quoted: sentences, list items, table rows, each with what it hangs
on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, count, dropwhile, pairwise, repeat
from typing import Literal

from agentkit.core.given import join_filled
from agentkit.core.text import sentences
from agentkit.llm.offline.passages import Passage
from agentkit.llm.offline.words import alike, has_digit, stems

Shape = Literal["sentence", "item", "row", "heading", "columns"]

_ITEM = re.compile(r"\s*(?:[-*+•▪–●]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_NARROW = 4
_LONGEST_NAME = 100
"""Characters of a heading or the head of a column that go along with what stands below."""
_BLANK_LINE = re.compile(r"\n ?\n")
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
_WORD_SIGN = re.compile(r"\w")
_LINE = re.compile(r"[^\n]+")
_ALL = re.compile(r"(?s).+")
_STATEMENT = re.compile(r"\d\s*(?:%|€|\$)|: ")
_STATEMENT_ALONE = re.compile(r"\d\s*(?:%|€|\$)|: .*\d|\d.*: ")
"""The same in a line with a blank one behind it, where a word before a colon makes a title."""
_ROW = re.compile(r"(?s)(?!.*\n)(?:.*(?: \| |\t)|\|.*\|.*\|)")
_CELL_BORDER = re.compile(r"\t|\|")
_ENDS = (".", "!", "?", ":", ";", "|")
"""Signs behind which a bracket on the next line does not belong to the sentence."""
_TITLE = re.compile(rf"(?!{_ITEM.pattern})[^\n]{{1,70}}(?<![.!?;,:|])")
_LONGEST_CAPITALS = 99


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
    """Units of one list share a number, the line that introduces them included; -1 stands for units
    outside of lists.
    """
    stems: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    """Stems of heading, source and what it leans on."""
    cells: tuple[tuple[str, str], ...] = ()
    """Column and cell of a table row."""

    @property
    def stems_before(self) -> frozenset[str]:
        """The stems of the unit before; none where it is the first."""
        if self.previous is None:
            return frozenset()
        return self.previous.stems

    @property
    def leans_on(self) -> Unit | None:
        """The unit before, if this one begins with a word such as `it` that refers to it."""
        if _PRONOUN_LED.match(self.text):
            return self.previous
        return None

    @property
    def leans(self) -> bool:
        """Whether it cannot be understood without the unit before."""
        return self.leans_on is not None

    @property
    def introduces(self) -> bool:
        """Whether it is a sentence that announces a list."""
        return self.shape == "sentence" and self.text.endswith(":")

    @property
    def is_listed(self) -> bool:
        """Whether it belongs to a list."""
        return self.group >= 0

    @property
    def said(self) -> frozenset[str]:
        """Its stems; what leans has those of the unit before, what is listed those of its
        heading.
        """
        if self.shape == "item":
            return self.stems | self.around
        if self.leans:
            return self.stems | self.stems_before
        return self.stems

    @property
    def asks(self) -> bool:
        """Whether it is itself a question, as in a list of frequent ones: it may lead to an answer,
        and never is one.
        """
        return self.text.endswith("?")

    def in_context(self, wanted: Collection[str]) -> str:
        """The unit as it is compared by meaning: with what it leans on, or a heading that adds to
        it.
        """
        if self.cells:
            return f"{self.heading}: {self.focus(wanted)}"
        before = self.leans_on
        if before is not None:
            return f"{before.text} {self.text}"

        new = set(stems(self.heading)) - self.stems
        if new.isdisjoint(wanted):
            return self.text
        return f"{self.heading}: {self.text}"

    def focus(self, wanted: Collection[str]) -> str:
        """A wide table row cut down to its first cell and those that are asked for; anything else
        as it is.
        """
        if len(self.cells) <= _NARROW:
            return self.text
        first, *others = self.cells
        near = set(wanted).union(*map(alike, wanted))
        asked = [pair for pair in others if not near.isdisjoint(stems(": ".join(pair)))]
        if not asked:
            return self.text
        return _join_pairs([first, *asked])


def cut_units(passages: Sequence[Passage]) -> list[Unit]:
    """All units of the passages in order, each sentence once even where passages overlap."""
    units: list[Unit] = []
    seen: set[str] = set()
    for unit in _cut_all(passages):
        key = " ".join(unit.text.lower().split())
        if key not in seen or unit.shape in ("heading", "columns"):
            seen.add(key)
            unit.index = len(units)
            units.append(unit)
    return units


def _cut_all(passages: Sequence[Passage]) -> Iterator[Unit]:
    cutters = map(_Cutter, passages, count(), repeat(count()))
    return chain.from_iterable(map(_Cutter.run, cutters))


@dataclass(slots=True)
class _Piece:
    """A part of a passage with words in it, and what stands around it."""

    raw: str
    begins: bool
    """Whether it begins a line."""
    before: str
    """What stands between it and the piece before."""
    after: str
    """The white space behind it."""
    item_follows: bool


def _cut_pieces(text: str) -> Iterator[_Piece]:
    """The sentences and lines of a passage that have words."""
    spans = [*_repair_spans(text, sentences(text)), (len(text), len(text))]
    gap, read = "\n", 0
    for (start, end), (next_start, _) in pairwise(spans):
        begins, gap = "\n" in gap, text[end:next_start]
        if _WORD_SIGN.search(text, start, end):
            item_follows = _ITEM.match(text, next_start) is not None
            yield _Piece(text[start:end], begins, text[read:start], gap, item_follows)
            read = end


class _Cutter:
    """Walks through one passage and remembers headings, table headers and lists."""

    def __init__(self, passage: Passage, rank: int, lists: Iterator[int]) -> None:
        self.passage = passage
        self.rank = rank
        self.lists = lists
        self.source = frozenset(stems(re.sub(r"[_./-]", " ", passage.source)))
        self.heading = ""
        self.around = self.source
        self._set_heading(_find_heading(passage.source))
        self.columns = _find_columns(passage.source)
        self.previous: Unit | None = None
        self.group = -1

    def run(self) -> Iterator[Unit]:
        for piece in _cut_pieces(self.passage.text):
            if not _is_row(piece.raw):
                yield self._cut_text(piece)
            elif row := self._cut_row(_split_cells(piece.raw)):
                yield row

    def _cut_text(self, piece: _Piece) -> Unit:
        if _BLANK_LINE.search(piece.before):
            self.columns = []
        if not piece.begins:
            return self._cut_sentence(piece)
        if self._is_heading(piece):
            return self._cut_heading(piece.raw)
        sign = _ITEM.match(piece.raw)
        if sign is None:
            return self._cut_sentence(piece)
        return self._cut_item(piece.raw[sign.end() :], sign[0].strip())

    def _is_heading(self, piece: _Piece) -> bool:
        """Whether it is a heading; a numbered line is one only outside of lists."""
        if _is_heading(piece.raw, piece.after):
            return True
        if self.group >= 0 or piece.item_follows:
            return False
        return _is_heading(_drop_sign(_ITEM, piece.raw), piece.after)

    def _cut_heading(self, raw: str) -> Unit:
        title = _narrow(_drop_sign(_HEADING, raw)).strip("#*_ :")
        self._set_heading(title)
        self._leave_list()
        return self._make(title, "heading")

    def _set_heading(self, heading: str) -> None:
        """Remember the heading of the units that follow."""
        self.heading = heading[:_LONGEST_NAME]
        self.around = self.source.union(stems(self.heading))

    def _leave_list(self) -> None:
        self.previous, self.group = None, -1

    def _cut_row(self, cells: list[str]) -> Unit | None:
        """A row with the names of its columns, or the header itself; None for a repeated header."""
        self._leave_list()
        if cells == self.columns:
            return None
        if len(cells) <= len(self.columns):
            return self._make_row(cells)
        filled = list(filter(None, cells))
        if len(cells) == 2 and has_digit(cells[1]):  # a name and its value, without a header
            return self._make(": ".join(filled), "row")
        self.columns = [cell[:_LONGEST_NAME] for cell in cells]
        return self._make("; ".join(filled), "columns")

    def _make_row(self, cells: list[str]) -> Unit:
        pairs = list(compress(zip(self.columns, cells, strict=False), cells))
        unit = self._make(_join_pairs(pairs), "row")
        unit.cells = tuple(pairs)
        return unit

    def _cut_item(self, text: str, sign: str) -> Unit:
        before = self.previous
        if self.group < 0:
            self.group = next(self.lists)
            if before is not None and before.introduces:
                before.group = self.group

        shown = _narrow(text)
        if sign.endswith((".", ")")):
            shown = f"{sign} {shown}"
        unit = self._make(shown, "item")
        unit.group, unit.previous = self.group, before
        self.previous = unit
        return unit

    def _cut_sentence(self, piece: _Piece) -> Unit:
        unit = self._make(_narrow(piece.raw), "sentence")
        if "\n\n" in piece.before:
            self.group = -1
            if _PRONOUN_LED.match(piece.raw):
                unit.previous = self.previous
        else:
            unit.previous = self.previous
            unit.group = self._find_group()
        self.previous = unit
        return unit

    def _find_group(self) -> int:
        """The list that goes on in a sentence: that of the item before."""
        if getattr(self.previous, "shape", None) == "item":
            return self.group
        return -1

    def _make(self, text: str, shape: Shape) -> Unit:
        unit = Unit(text, self.passage.marker, self.rank, 0, shape, self.heading, self.previous)
        unit.stems = frozenset(stems(text))
        unit.around = self.around
        if unit.leans:
            unit.around = self.around | unit.stems_before
        unit.previous = None
        return unit


def _join_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "; ".join(map(_join_pair, pairs))


def _join_pair(pair: tuple[str, str]) -> str:
    return join_filled(": ", pair)


def _narrow(raw: str) -> str:
    """The text on one line; numbers in brackets, which look like citations, get parentheses."""
    return _BRACKETED.sub(r"(\1)", " ".join(raw.split()))


def _repair_spans(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """A bracket on the next line belongs to the sentence before it; lines of names with values
    stand each for itself.
    """
    made: list[tuple[int, int]] = []
    for start, end in spans:
        if made and _bracket_follows(text, made[-1][1], start):
            start, _ = made.pop()
        form = _ALL
        if _is_keyed(text[start:end]):
            form = _LINE
        made += map(re.Match.span, form.finditer(text, start, end))
    return made


def _bracket_follows(text: str, end: int, start: int) -> bool:
    """Whether the next line opens a bracket and the sentence has no punctuation at its end."""
    if text[start] != "(" or text.count("\n", end, start) != 1:
        return False
    return text[end - 1] not in _ENDS


def _is_keyed(raw: str) -> bool:
    """Whether there are several lines, all of the form `name: value`."""
    lines = raw.count("\n") + 1
    return lines > 1 and len(_KEYED.findall(raw)) == lines


def _drop_sign(sign: re.Pattern[str], raw: str) -> str:
    """The text without the sign at its beginning, if there is one."""
    found = sign.match(raw)
    if found is None:
        return raw
    return raw[found.end() :]


def _is_heading(raw: str, after: str) -> bool:
    """A marked heading, or a short line on its own that does not end like a sentence."""
    if _HEADING.match(raw):
        return True
    if "\n" not in after:
        return False
    line = raw.strip()
    if line.isupper() and len(line) <= _LONGEST_CAPITALS:
        return True
    return _is_title(line, after)


def _is_title(line: str, after: str) -> bool:
    """Whether a line begins like a heading, does not end like a sentence and states nothing."""
    if _TITLE.fullmatch(line) is None or _states(line, after):
        return False
    first = line[0]
    return first.isupper() or first.isdigit()


def _states(line: str, after: str) -> bool:
    """Whether a short line is a statement: it has a percentage, an amount, or `name: value`."""
    statement = _STATEMENT
    if "\n\n" in after:
        statement = _STATEMENT_ALONE
    return statement.search(line) is not None


def _is_row(raw: str) -> bool:
    return _ROW.match(raw.strip()) is not None


def _split_cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|").removesuffix("|")
    return list(map(_narrow, _CELL_BORDER.split(bare)))


def _find_columns(source: str) -> list[str]:
    """The header row of a table that stands at the end of a source line; empty without one."""
    first, border, others = source.partition(" | ")
    if not border:
        return []
    return _split_cells(f"{re.split(r', |: ', first)[-1]} | {others}")


def _find_heading(source: str) -> str:
    """The heading in a source line, which stands after document and page; a table's header row is
    left out.
    """
    if " | " in source:
        return ""
    return ", ".join(dropwhile(_PLACE.match, source.split(", ")[1:]))
