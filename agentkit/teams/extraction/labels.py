"""Values that a document labels: "Total: 12 EUR", cells of tables, "Invoice number INV-7"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from agentkit.teams.extraction.names import split_words
from agentkit.teams.extraction.values import MONTH

Span = tuple[int, int]

_WORDS_OF_LABEL = 7
_SEGMENT = re.compile(
    r"\t+| {2,}|(?:;|(?<=[.!?]))\s+(?=[^\W\d][^:;.|]{0,40}:\s)|,\s+(?=[^\W\d][^:;,.|]{0,40}:\s)"
)
_COLON = re.compile(r"(?:(?<![*_\s])[*_\s]++)?+:[*_]*+(?:\s++|$)")
_MARKS = re.compile(r"\s*(?:[-*+•▪–●>#]+\s+|\(?\d{1,3}[.)]\s+)*[*_`]*")
_VALUE_START = re.compile(
    rf"\s(?=[-+]?[$€£]?\d|(?:EUR|USD|GBP|CHF)\s\d|{MONTH}\.?\s+\d{{1,2}}\b"
    r"|[^\s,;]*\d[^\s]*(?:\s|$)|(?:yes|no|true|false)\W*$)",
    re.IGNORECASE,
)
_BELOW = re.compile(r"\n[ \t]*(?:[-*+•▪–●]|\d{1,2}[.)])[ \t]+([^\n]+)|\n[^\n]*")
_BEGINS_ANEW = re.compile(rf"\A\s*\Z|\A\s*(?:[-*+•▪–●#]|\d{{1,2}}[.)])\s|{_COLON.pattern}")
"""Nothing, an item of a list, or another label with a colon."""
_LINE_BELOW = re.compile(r"\n([^\n]*)")
_ANY_LINE = re.compile(r"(?m)^.*$")
_SEPARATES = re.compile(r"[,;!?]")
_RULE = re.compile(r"[\s|:+=-]*")
_BAR = re.compile(r"(?<!\\)\|")
_MARKUP = " \t*_`\r"  # white space and signs of Markdown around a value


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and the span of what stands at it; an empty one when the value is a list below."""

    label: tuple[str, ...]
    """Its words, as `split_words` gives them."""
    begin: int
    """Where the words to quote begin: the label, or the value alone where the label is the head of
    a column.
    """
    start: int
    end: int
    loose: bool = False
    """Whether no sign separates the two: the value alone must then look like one."""
    column: bool = False
    """Whether it is one of several cells of a column."""

    @property
    def is_labelled(self) -> bool:
        """Whether the label has words, and not too many."""
        return 0 < len(self.label) <= _WORDS_OF_LABEL

    @property
    def is_list_below(self) -> bool:
        """Whether nothing stands at the label itself."""
        return self.start == self.end


def find_pairs(text: str) -> list[Pair]:
    """All labelled values of a text, in order of the lines."""
    lines = [_Line(*found.span(), found[0]) for found in _ANY_LINE.finditer(text)]
    pairs: list[Pair] = []
    for is_table, group in groupby(lines, _is_row):
        read = _read_table if is_table else _read_lines
        pairs += read(text, list(group))
    return [pair for pair in pairs if pair.is_labelled]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, and where it stands."""

    start: int
    end: int
    text: str


def find_bullets(text: str, start: int) -> list[Span]:
    """The items of a list that begins on the line below a label; an item that ends with a colon
    begins a list of its own.
    """
    spans: list[Span] = []
    for found in _BELOW.finditer(text, start):
        item = found[1] or ""
        begins_list = item.rstrip(" \t*_`").endswith(":")
        if item and not begins_list:
            spans.append(found.span(1))
            continue
        if found[0].strip():
            break
    return spans


def trim_span(text: str, start: int, end: int, signs: str | None = None) -> Span:
    """The span without these signs around it, white space by default."""
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip(signs))
    return start, start + len(inner.strip(signs))


def _read_line(text: str, line: _Line) -> Iterator[Pair]:
    segments = list(_split_segments(text, line.start, line.end))
    for segment, high in segments:
        low = _skip_marks(text, segment, high)
        colon = _COLON.search(text, low, high)
        if colon is None:
            yield from _read_loose(text, low, high)
            continue
        label = (low, colon.start())
        value = _find_behind_colon(text, colon.end(), high, line)
        yield _make_pair(text, label, value, low)
    in_two_columns = len(segments) == 2 and ":" not in line.text
    if in_two_columns:
        label, value = segments
        yield _make_pair(text, label, value, label[0])


def _read_lines(text: str, lines: Sequence[_Line]) -> Iterator[Pair]:
    for line in lines:
        yield from _read_line(text, line)


def _skip_marks(text: str, start: int, end: int) -> int:
    """Where a segment begins behind bullets and Markdown's signs."""
    marks = next(_MARKS.finditer(text[start:end]))
    return start + marks.end()


def _read_loose(text: str, start: int, end: int) -> Iterator[Pair]:
    """A label with a value right behind it: "Invoice number INV-7"."""
    blank = _VALUE_START.search(text, start, end)
    if blank is None:
        return
    label, value = (start, blank.start()), (blank.end(), end)
    is_label = _SEPARATES.search(text, *label) is None
    if is_label:
        yield _make_pair(text, label, value, start, loose=True)


def _find_behind_colon(text: str, start: int, high: int, line: _Line) -> Span:
    """What stands behind the colon; when that is nothing and the line ends, the next line."""
    is_filled = text[start:high].strip(" *_") != ""
    ends_line = high == line.end
    if is_filled or not ends_line:
        return start, high
    below = _LINE_BELOW.match(text, line.end)
    if below is None:
        return start, high
    if _BEGINS_ANEW.search(below[1]):
        return start, start
    return below.span(1)


def _split_segments(text: str, start: int, end: int) -> Iterator[Span]:
    start, _ = trim_span(text, start, end)
    for found in _SEGMENT.finditer(text, start, end):
        yield start, found.start()
        start = found.end()
    yield start, end


def _is_row(line: _Line) -> bool:
    """Whether a line is a row of a table."""
    return " | " in line.text or line.text.lstrip().startswith("|")


def _read_table(text: str, lines: Sequence[_Line]) -> Iterator[Pair]:
    """Rows of two cells are a label and a value; in wider tables the first row labels the
    columns.
    """
    filled_lines = [line for line in lines if not _RULE.fullmatch(line.text)]
    rows = [_split_cells(text, line.start, line.end) for line in filled_lines]
    for row in rows:
        match list(filter(_is_filled, row)):
            case [label, value] if label == row[0]:
                yield _make_pair(text, label, value, label[0])
    match rows:
        case [header, only]:
            yield from _read_columns(text, header, [only])
        case [[_, _, _, *_] as header, *others]:
            yield from _read_columns(text, header, others)


def _read_columns(
    text: str, header: Sequence[Span], rows: Sequence[Sequence[Span]]
) -> Iterator[Pair]:
    is_wide = len(header) != 2
    has_several = len(rows) > 1
    for row in rows:
        is_pair = sum(map(_is_filled, row)) <= 2
        if is_wide and is_pair:
            continue
        labelled = zip(header, row, strict=False)
        for label, value in filter(_has_value, labelled):
            yield _make_pair(text, label, value, value[0], column=has_several)


def _split_cells(text: str, start: int, end: int) -> list[Span]:
    start, end = trim_span(text, start, end)
    borders = [start]
    for bar in _BAR.finditer(text, start, end):
        borders += bar.span()
    borders.append(end)
    spans = zip(borders[::2], borders[1::2], strict=True)
    cells = [trim_span(text, *span, _MARKUP) for span in spans]
    begins_with_bar = text.startswith("|", start)
    if not begins_with_bar:
        return cells
    ends_with_bar = borders[-2] == end
    if ends_with_bar:
        return cells[1:-1]
    return cells[1:]


def _is_filled(cell: Span) -> bool:
    start, end = cell
    return start < end


def _has_value(cells: tuple[Span, Span]) -> bool:
    _, value = cells
    return _is_filled(value)


def _make_pair(
    text: str, label: Span, value: Span, begin: int, *, loose: bool = False, column: bool = False
) -> Pair:
    start, end = label
    words = split_words(text[start:end])
    return Pair(words, begin, *trim_span(text, *value, _MARKUP), loose, column)
