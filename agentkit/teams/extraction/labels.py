"""Values that a document labels: "Total: 12 EUR", cells of tables, "Invoice number INV-7"; and
words as names are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
_RULE = re.compile(r"[\s|:+=-]*")
_ALIASES = {
    "no": "number",
    "nr": "number",
    "num": "number",
    "qty": "quantity",
    "tel": "phone",
    "telephone": "phone",
    "mobile": "phone",
    "mail": "email",
    "addr": "address",
    "dob": "birth",
    "id": "identifier",
}
_FILLERS = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "in",
        "for",
        "and",
        "to",
        "is",
        "our",
        "your",
        "this",
        "at",
        "by",
        "per",
    ]
)
_WEAK = frozenset({"amount", "value", "name"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A label and the span of what stands at it; an empty one when the value is a list below."""

    label: tuple[str, ...]
    """Its words, as `words` gives them."""
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


@lru_cache(maxsize=20_000)
def words(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared: small, singular, `no.` as `number`, camelCase and
    snake_case apart.
    """
    apart = (
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
        .replace("№", " number ")
        .replace("#", " number ")
    )
    found = re.findall(r"[^\W_]+|%|[$€£]", re.sub(r"\be-mail\b", "email", apart.casefold()))
    return tuple(_ALIASES.get(word) or _singular(word) for word in found)


def core(name: Sequence[str]) -> frozenset[str]:
    """The words that a name must share with a label: without articles, and without `amount` and the
    like beside others.
    """
    full = [word for word in name if word not in _FILLERS]
    return frozenset(word for word in full if word not in _WEAK) or frozenset(full)


def pairs(text: str) -> list[Pair]:
    """All labelled values of a text, in order of the lines."""
    made: list[Pair] = []
    table: list[list[Span]] = []
    lines = [found.span() for found in re.finditer(r"(?m)^.*$", text)]
    for index, (start, end) in enumerate(lines):
        line = text[start:end]
        if " | " in line or line.lstrip().startswith("|"):
            if not _RULE.fullmatch(line):
                table.append(list(_cells(text, start, end)))
            continue
        made += _of_table(text, table)
        table = []
        if line.strip():
            made += _of_line(text, start, end, lines[index + 1] if index + 1 < len(lines) else None)
    return made + list(_of_table(text, table))


def bullets(text: str, start: int) -> list[Span]:
    """The items of a list that begins on the line below a label; an item that ends with a colon
    begins a list of its own.
    """
    spans: list[Span] = []
    for found in _BELOW.finditer(text, start):
        if found[1] is not None and not found[1].rstrip(" \t*_`").endswith(":"):
            spans.append(found.span(1))
        elif found[0].strip():
            break
    return spans


def _of_line(text: str, start: int, end: int, following: Span | None) -> Iterator[Pair]:
    for low, high in _segments(text, start, end):
        # It also matches nothing.
        low += len(_MARKS.match(text[low:high])[0])  # type: ignore[index]
        colon = _COLON.search(text, low, high)
        label = words(text[low : colon.start()]) if colon else ()
        if colon and 0 < len(label) <= _WORDS_OF_LABEL:
            yield Pair(
                label, low, *_trimmed(text, *_behind(text, colon.end(), high, end, following))
            )
        elif not colon:
            yield from _loose(text, low, high)
    columns = [span for span in _segments(text, start, end)]
    if len(columns) == 2 and ":" not in text[start:end]:  # a label and its value in two columns
        (low, high), value = columns
        if 0 < len(words(text[low:high])) <= _WORDS_OF_LABEL:
            yield Pair(words(text[low:high]), low, *_trimmed(text, *value))


def _loose(text: str, low: int, high: int) -> Iterator[Pair]:
    found = _VALUE_START.search(text, low, high)
    label = words(text[low : found.start()]) if found else ()
    if (
        found
        and 0 < len(label) <= _WORDS_OF_LABEL
        and not re.search(r"[,;!?]", text[low : found.start()])
    ):
        yield Pair(label, low, *_trimmed(text, found.end(), high), loose=True)


def _behind(text: str, start: int, high: int, end: int, following: Span | None) -> Span:
    """What stands behind the colon; when that is nothing and the line ends, the next line."""
    if text[start:high].strip(" *_") or high < end or following is None:
        return start, high
    low, until = following
    line = text[low:until]
    is_value = (
        line.strip()
        and not _COLON.search(line)
        and not re.match(r"\s*(?:[-*+•▪–●#]|\d{1,2}[.)])\s", line)
    )
    return (low, until) if is_value else (start, start)


def _segments(text: str, start: int, end: int) -> Iterator[Span]:
    at = start + len(text[start:end]) - len(text[start:end].lstrip())
    for found in _SEGMENT.finditer(text, at, end):
        yield at, found.start()
        at = found.end()
    yield at, end


def _cells(text: str, start: int, end: int) -> Iterator[Span]:
    low, high = start, end
    if text[start:end].lstrip().startswith("|"):
        low = text.index("|", start) + 1
        high = end - (
            text[start:end].rstrip().endswith("|")
            and len(text[start:end]) - text[start:end].rindex("|")
        )
    at = low
    for found in re.finditer(r"(?<!\\)\|", text[low:high]):
        yield _trimmed(text, at, low + found.start())
        at = low + found.end()
    yield _trimmed(text, at, high)


def _of_table(text: str, rows: Sequence[Sequence[Span]]) -> Iterator[Pair]:
    """Rows of two cells are a label and a value; in wider tables the first row labels the
    columns.
    """
    if not rows:
        return
    header = rows[0]
    for row in rows:
        filled = [span for span in row if span[1] > span[0]]
        if len(filled) == 2 and row[0] == filled[0]:
            yield from _labelled(text, row[0], filled[1], row[0][0])
    if len(header) > 2 or len(rows) == 2:
        for row in rows[1:]:
            if len([span for span in row if span[1] > span[0]]) > 2 or len(header) == 2:
                for label, value in zip(header, row, strict=False):
                    yield from _labelled(text, label, value, value[0], len(rows) > 2)


def _labelled(
    text: str, label: Span, value: Span, begin: int, column: bool = False
) -> Iterator[Pair]:
    name = words(text[slice(*label)])
    if 0 < len(name) <= _WORDS_OF_LABEL and value[1] > value[0]:
        yield Pair(name, begin, *value, column=column)


def _trimmed(text: str, start: int, end: int) -> Span:
    """The span without white space and Markdown's signs around it."""
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip(" \t*_`"))
    return (
        (start + left, start + left + len(inner.strip(" \t*_`\r")))
        if inner.strip(" \t*_`\r")
        else (start, start)
    )


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return (
        word[:-1]
        if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))
        else word
    )
