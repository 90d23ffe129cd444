"""Places inside files, as shown to people: narrowed to the lines of a piece, joined over neighbouring sections."""

from __future__ import annotations

import re

_CELLS = re.compile(r"(?P<before>.*!)(?P<column>[A-Z]+)(?P<first>\d+):(?P<middle>[A-Z]+)(?P<last>\d+)", re.DOTALL)
_RANGE = re.compile(r"(?P<before>.*?)(?P<first>\d+)-(?P<last>\d+)(?P<after>\]?)", re.DOTALL)
_NUMBER = re.compile(r"(?P<before>(?:cell|[^\s$!]+) )(?P<first>\d+)", re.DOTALL)


def container(place: str) -> str:
    """What neighbouring sections share when they may be in one piece: the sheet, the kind of range, the chapter's file."""
    if place.startswith("$"):
        return "$"
    if cells := _CELLS.fullmatch(place):
        return cells["before"]
    found = _RANGE.fullmatch(place) or _NUMBER.fullmatch(place)
    return found["before"] if found else place


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
    return f"{found['before']}{first}-{last}{found['after']}"


def join(first: str, last: str) -> str:
    """The place from the beginning of `first` to the end of `last`."""
    if first == last or not first or not last:
        return first or last
    for pattern in (_CELLS, _RANGE, _NUMBER):
        one, two = pattern.fullmatch(first), pattern.fullmatch(last)
        if one and two and one["before"] == two["before"]:
            if pattern is _CELLS:
                widest = max(one["middle"], two["middle"], key=_width)
                return f"{one['before']}{one['column']}{one['first']}:{widest}{two['last']}"
            end = two["last"] if pattern is _RANGE else two["first"]
            return f"{one['before']}{one['first']}-{end}{one['after'] if pattern is _RANGE else ''}"
    return f"{first} to {last}"


def _width(column: str) -> tuple[int, str]:
    return len(column), column
