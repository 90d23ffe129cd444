"""Without a language model: fields that stand literally in a document, and nothing that would be a
guess.

A value counts when the document labels it with the field's name (in a line, a table, a sentence)
and it is of the field's type. Labels that say more count less: first come those with the field's
very words, then those with words of its description or of the heading around them, then sentences.
When the best ones differ the field stays empty, and the row says so.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from agentkit.core.text import sentences
from agentkit.teams.extraction.labels import Pair, Span, find_bullets, find_pairs, trim_span
from agentkit.teams.extraction.names import SENTENCE, FieldName, select_core, split_words
from agentkit.teams.extraction.quoting import Paper
from agentkit.teams.extraction.schema import Field, Schema, describe_misfit
from agentkit.teams.extraction.table import Cell, Remark
from agentkit.teams.extraction.value_types import Kind
from agentkit.teams.extraction.values import (
    Found,
    Style,
    detect_style,
    is_unclear,
)

_LONGEST = 300
_CLAUSE = re.compile(r"[^,;:()]+(?:(?<=\d),(?=\d)[^,;:()]+)*")
_LONGEST_SENTENCE = 600
_ABBREVIATED = re.compile(
    r"(?:\b(?:Inc|Ltd|Co|Corp|Bros|Jr|Sr|St|Ave|etc)|\w\.\w)\.\Z", re.IGNORECASE
)
_AND = re.compile(r"(?:(?<!\s)\s++)?+[,;]\s++(?:and\s++)?|(?<!\s)\s++and\s++")
_WORD_WITH_DIGIT = re.compile(r"\S*\d\S*")
_DEFINITION = re.compile(
    r"\s*(?:(?:The|Its|Our|Their)\s+)?(?P<name>[\w\s'-]{1,60}?)\s+(?:is|was)"
    r"\s+(?P<value>\S[^\n]{0,79}?)[.\s]*$"
)
_WORDS_OF_DEFINITION = 8
_WORDS_OF_HEADING = 8


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of a sentence, with its words as names are compared."""

    start: int
    end: int
    text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Evidence:
    rank: int
    value: Any
    start: int
    end: int
    """The span to quote: the value with what names it."""


def read_literally(schema: Schema, paper: Paper) -> tuple[dict[str, Cell], list[Remark]]:
    """A cell for each field, empty where the document is not clear, and what is to be told about
    the row.
    """
    reader = _DocumentReader(schema, paper)
    cells: dict[str, Cell] = {}
    remarks: list[Remark] = []
    for field in schema.fields:
        distinct = _select_best(reader.collect(field))
        is_in_conflict = len(distinct) > 1 and field.kind != "list"
        if is_in_conflict:
            remarks.append(_report_conflict(field, distinct))
            distinct = []
        cells[field.name] = _to_cell(field, distinct, paper)
    values = {name: cell.value for name, cell in cells.items()}
    misfits = schema.misfits(values)
    for name, reason in misfits.items():
        told = describe_misfit(name, reason)
        remarks.append(Remark(name, told))
    left_out = dict.fromkeys(misfits.keys() & cells.keys(), Cell())
    return {**cells, **left_out}, remarks


def _select_best(evidence: Sequence[_Evidence]) -> list[_Evidence]:
    """The evidence of the best rank, each value once."""
    by_rank: defaultdict[int, dict[str, _Evidence]] = defaultdict(dict)
    for each in evidence:
        same_rank = by_rank[each.rank]
        same_rank.setdefault(str(each.value).casefold(), each)
    best = by_rank[min(by_rank, default=SENTENCE)]
    return list(best.values())


def _to_cell(field: Field, evidence: Sequence[_Evidence], paper: Paper) -> Cell:
    """The one value, or the items of all lists."""
    if not evidence:
        return Cell()
    first, last = evidence[0], evidence[-1]
    quoted = paper.quotation(first.start, last.end)
    if field.kind != "list":
        return Cell(first.value, quoted)
    items = chain.from_iterable(each.value for each in evidence)
    distinct = dict.fromkeys(items)
    return Cell(list(distinct), quoted)


def _report_conflict(field: Field, evidence: Sequence[_Evidence]) -> Remark:
    values = [str(each.value) for each in evidence]
    shown = ", ".join(values[:4])
    return Remark(
        field.name,
        f"{field.name}: {len(values)} different values stand in the document ({shown:.200}),"
        " so none is taken",
    )


class _DocumentReader:
    """What one document labels and states, read once for all fields."""

    def __init__(self, schema: Schema, paper: Paper) -> None:
        self.text, self.paper = paper.text, paper
        self.style = detect_style(self.text)
        self.labels: defaultdict[tuple[str, ...], list[Pair]] = defaultdict(list)
        for pair in find_pairs(self.text):
            self.labels[pair.label].append(pair)
        stem, _, _ = paper.name.rpartition(".")
        heading = _read_heading(self.text)
        about = f"{heading} {paper.document.title} {stem}"
        self.title = frozenset(split_words(schema.title))
        self.about = frozenset(split_words(about))
        self.clauses: list[_Clause] = []
        for start, end in _find_clauses(self.text):
            stated = self.text[start:end]
            self.clauses.append(_Clause(start, end, stated, split_words(stated)))

    def collect(self, field: Field) -> list[_Evidence]:
        """All that speaks for a value of this field."""
        name = FieldName(field, self.title)
        find_with = _choose_finder(field)
        finder = find_with(field, name, self.style)
        found = list(self._read_labels(name, finder))
        if not found:
            found = list(self._read_clauses(name, finder))
        return [each for each in found if not field.misfit(each.value)]

    def _read_labels(self, name: FieldName, finder: _Finder) -> Iterator[_Evidence]:
        for rank, pair in self._find_named(name):
            for value in finder.find_in_pair(self.text, pair):
                yield _Evidence(rank, value.value, pair.begin, value.end)

    def _find_named(self, name: FieldName) -> Iterator[tuple[int, Pair]]:
        """The pairs whose labels fit the name, each with the rank of that."""
        for label, pairs in self.labels.items():
            match = name.match(label)
            if match is None:
                continue
            for pair in pairs:
                around = self._words_around(pair)
                if match.missing <= around:
                    yield match.rank, pair

    def _read_clauses(self, name: FieldName, finder: _Finder) -> Iterator[_Evidence]:
        """Clauses that state it: one value of the type, and beside it all words of the name."""
        for clause in self.clauses:
            if not name.core.issubset(clause.words):
                continue
            match finder.find_in_clause(clause.text, clause.words):
                case [only]:
                    yield _Evidence(SENTENCE, only.value, clause.start, clause.end)

    def _words_around(self, pair: Pair) -> frozenset[str]:
        """What the document is about where the pair stands: its title and its heading."""
        section = self.paper.section_at(pair.start)
        if section is None:
            return self.about
        return self.about.union(split_words(section.heading))


class _Finder:
    """Finds the values of one field; this one dates and choices."""

    def __init__(self, field: Field, name: FieldName, style: Style) -> None:
        self.field, self.name, self.style = field, name, style

    def find_in_pair(self, text: str, pair: Pair) -> list[Found]:
        """The value that stands at a label, with its place in the document; at most one."""
        match self._find_at_label(text[pair.start : pair.end], pair):
            case [only] if not pair.loose:
                return [only.move(pair.start)]
            case [first, *_] if first.start == 0:
                return [first.move(pair.start)]
        return []

    def find_in_clause(self, clause: str, words: Sequence[str]) -> list[Found]:
        """The values that a clause with these words may state."""
        return self._find(clause, words)

    def _find_at_label(self, text: str, pair: Pair) -> list[Found]:
        return self._find(text, pair.label)

    def _find(self, text: str, words: Sequence[str]) -> list[Found]:
        return self.field.type.find(text, self.style, self.name.unit_beside(words))


class _TextFinder(_Finder):
    """Any text is a value: all that stands at a label, or what a clause defines."""

    def find_in_clause(self, clause: str, words: Sequence[str]) -> list[Found]:
        """`The author is Jane Doe`: what follows the name and `is` to the end of the clause."""
        found = _DEFINITION.match(clause)
        if found is None:
            return []
        named = select_core(split_words(found["name"]))
        if named != self.name.core:
            return []
        value = found["value"]
        if len(value.split()) > _WORDS_OF_DEFINITION:
            return []
        return [Found(value, *found.span("value"))]

    def _find_at_label(self, text: str, pair: Pair) -> list[Found]:
        """The text itself; without a sign between label and value only when it is one word with a
        digit.
        """
        value = text
        if _ends_with_stop(text):
            value = text.rstrip(" .,;")
        if len(value) not in range(1, _LONGEST + 1):
            return []
        may_be_one = not pair.loose or _WORD_WITH_DIGIT.fullmatch(value)
        if not may_be_one:
            return []
        return [Found(value, 0, len(value))]


class _NumberFinder(_Finder):
    """Numbers, but none beside a range such as "0.3 to 15 m" or one such as "10k"."""

    def find_in_clause(self, clause: str, words: Sequence[str]) -> list[Found]:
        """The only number of a clause, if the name is beside it."""
        match self._find(clause, words):
            case [number] if self.name.is_beside(clause, number):
                return [number]
        return []

    def _find(self, text: str, words: Sequence[str]) -> list[Found]:
        if is_unclear(text, self.style):
            return []
        return super()._find(text, words)


class _BooleanFinder(_Finder):
    """Yes and no at labels."""

    def find_in_clause(self, clause: str, words: Sequence[str]) -> list[Found]:
        """Nothing: a clause does not say of what it is a yes."""
        return []


class _ListFinder(_BooleanFinder):
    """Lists at labels: in a line, or as bullets below."""

    def find_in_pair(self, text: str, pair: Pair) -> list[Found]:
        """The list with its place in the document."""
        if pair.loose:
            return []
        spans = _find_items(text, pair)
        items = [text[start:end].strip() for start, end in spans]
        is_in_one_line = not pair.is_list_below and not pair.column
        if is_in_one_line:
            [line] = items
            items = _AND.split(line.rstrip("."))
        chosen = _select_items(self.field, items)
        if not chosen:
            return []
        first, last = spans[0], spans[-1]
        start, end = first[0], last[1]
        return [Found(chosen, start, end)]


def _find_items(text: str, pair: Pair) -> list[Span]:
    """The spans of the items of a list: the bullets below its label, or all that stands at it."""
    if pair.is_list_below:
        return find_bullets(text, pair.end)
    return [(pair.start, pair.end)]


_FINDERS: dict[Kind, type[_Finder]] = {
    "string": _TextFinder,
    "number": _NumberFinder,
    "integer": _NumberFinder,
    "boolean": _BooleanFinder,
    "date": _Finder,
    "list": _ListFinder,
}


def _choose_finder(field: Field) -> type[_Finder]:
    """What finds the field's values; choices are no longer any text."""
    has_choices = field.choices and field.kind == "string"
    if has_choices:
        return _Finder
    return _FINDERS[field.kind]


def _ends_with_stop(text: str) -> bool:
    """Whether signs at the end of a value do not belong to it, as those of "Acme Inc." do."""
    if text.endswith(("..", ",", ";")):
        return True
    if ". " in text:
        return False
    return _ABBREVIATED.search(text) is None


def _select_items(field: Field, items: Sequence[str]) -> list[str]:
    """The items that can be in the field's list, its choices in their own spelling."""
    if field.choices:
        choices = map(str, field.choices)
        by_folded = {choice.casefold(): choice for choice in choices}
        items = [by_folded.get(item.casefold(), "") for item in items]
    return list(filter(None, items))


def _read_heading(text: str) -> str:
    """The first line if it is short."""
    line, _, _ = text.lstrip().partition("\n")
    if len(line.split()) > _WORDS_OF_HEADING:
        return ""
    return line


def _find_clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentences(text):
        is_long = end - start > _LONGEST_SENTENCE
        is_row = " | " in text[start:end]
        if is_long or is_row:
            continue
        for found in _CLAUSE.finditer(text, start, end):
            yield trim_span(text, *found.span())
