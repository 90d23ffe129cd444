"""Places inside files, as shown to people: narrowed to the lines of a piece, joined over
neighbouring sections.
"""

from __future__ import annotations

import re

_CELLS = re.compile(
    r"(?P<before>.*!)(?P<column>[A-Z]+)(?P<first>\d+):(?P<middle>[A-Z]+)(?P<last>\d+)", re.DOTALL
)
_RANGE = re.compile(r"(?P<before>.*?)(?P<first>\d+)-(?P<last>\d+)(?P<after>\]?)", re.DOTALL)
_NUMBER = re.compile(r"(?P<before>[^\s$!]+ |\$.*\[)(?P<first>\d+)(?P<after>\]?)", re.DOTALL)
_ONE = {"lines ": "line ", "rows ": "row ", "cells ": "cell "}
_SEVERAL = {one: several for several, one in _ONE.items()}

_Span = tuple[str, int, int, str]
"""What stands before two numbers, the numbers, and what stands behind them."""


def span(before: str, first: int, last: int, after: str = "") -> str:
    """The place from one number to another: `lines 3-9`; for a single one `line 3`, where `before`
    is of a kind known here.
    """
    if first == last and (before in _ONE or after):
        return f"{_ONE.get(before, before)}{first}{after}"
    return f"{before}{first}-{last}{after}"


def container(place: str) -> str:
    """What neighbouring sections share when they may be in one piece: the sheet, the kind of range,
    the chapter's file.
    """
    if place.startswith("$"):
        return "$"
    if cells := _CELLS.fullmatch(place):
        return cells["before"]
    found = _read(place)
    return found[0] if found else place


def narrow(place: str, lines: int, skipped: int, taken: int) -> str:
    """The place of `taken` lines behind the first `skipped` of a section with `lines` lines.

    Unchanged when the place counts something else than the section's lines.
    """
    found = _CELLS.fullmatch(place) or _RANGE.fullmatch(place)
    if not found or int(found["last"]) - int(found["first"]) + 1 != lines:
        return place
    first = int(found["first"]) + skipped
    last = first + taken - 1
    if "column" in found.re.groupindex:
        return f"{found['before']}{found['column']}{first}:{found['middle']}{last}"
    return span(found["before"], first, last, found["after"])


def join(first: str, last: str) -> str:
    """The place from the beginning of `first` to the end of `last`."""
    if first == last or not first or not last:
        return first or last
    if (one := _CELLS.fullmatch(first)) and (two := _CELLS.fullmatch(last)):
        joined = _join_cells(one, two)
    else:
        joined = _join_spans(_read(first), _read(last))
    return joined or f"{first} to {last}"


def _join_cells(one: re.Match[str], two: re.Match[str]) -> str:
    """The range of cells from one to the other; "" when they are of different sheets."""
    if one["before"] != two["before"]:
        return ""
    widest = max(one["middle"], two["middle"], key=_width)
    return f"{one['before']}{one['column']}{one['first']}:{widest}{two['last']}"


def _join_spans(begin: _Span | None, end: _Span | None) -> str:
    """The place from one to the other; "" when they do not count the same."""
    if not begin or not end or (begin[0], begin[3]) != (end[0], end[3]):
        return ""
    return span(begin[0], begin[1], end[2], begin[3])


def _read(place: str) -> _Span | None:
    """A place that counts something, however many it names."""
    if found := _RANGE.fullmatch(place):
        return found["before"], int(found["first"]), int(found["last"]), found["after"]
    if found := _NUMBER.fullmatch(place):
        number = int(found["first"])
        return _SEVERAL.get(found["before"], found["before"]), number, number, found["after"]
    return None


def _width(column: str) -> tuple[int, str]:
    return len(column), column
