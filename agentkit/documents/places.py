"""Places inside files, as shown to people: narrowed to the lines of a piece, joined over
neighbouring sections.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from operator import attrgetter

_CELLS = re.compile(
    r"(?P<before>.*!)(?P<left>[A-Z]+)(?P<first>\d+):(?P<right>[A-Z]+)(?P<last>\d+)", re.DOTALL
)
_RANGE = re.compile(r"(?P<before>.*?)(?P<first>\d+)-(?P<last>\d+)(?P<after>\]?)", re.DOTALL)
_NUMBER = re.compile(
    r"(?P<before>[^\s$!]+ |\$.*\[)(?P<first>(?P<last>\d+))(?P<after>\]?)", re.DOTALL
)
_FORMS = (_CELLS, _RANGE, _NUMBER)
_ONE = {"lines ": "line ", "rows ": "row ", "cells ": "cell "}
_SEVERAL = {one: several for several, one in _ONE.items()}


@dataclass(frozen=True, slots=True)
class _Range:
    """A place that counts something, however many it names: lines, rows, items, cells of a
    sheet.
    """

    before: str
    first: int
    last: int
    after: str = ""
    left: str = ""
    """The first column of a range of cells, else empty."""
    right: str = ""

    def to_place(self) -> str:
        """The range in words."""
        if self.left:
            return f"{self.before}{self.left}{self.first}:{self.right}{self.last}"
        return span(self.before, self.first, self.last, self.after)


def span(before: str, first: int, last: int, after: str = "") -> str:
    """The place from one number to another, such as `lines 3-9`; for a single one `line 3`."""
    if first == last:
        return f"{_ONE.get(before, before)}{first}{after}"
    return f"{before}{first}-{last}{after}"


def container(place: str) -> str:
    """What neighbouring sections share when they may be in one piece: the sheet, the kind of range,
    the chapter's file.
    """
    if place.startswith("$"):
        return "$"
    found = _parse(place)
    if found:
        return found.before
    return place


def narrow(place: str, lines: int, skipped: int, taken: int) -> str:
    """The place of `taken` lines behind the first `skipped` of a section with `lines` lines.

    Unchanged when the place counts something else than the section's lines.
    """
    found = _parse(place)
    if not found or found.last - found.first + 1 != lines:
        return place
    first = found.first + skipped
    return replace(found, first=first, last=first + taken - 1).to_place()


def join(first: str, last: str) -> str:
    """The place from the beginning of `first` to the end of `last`."""
    ends = list(dict.fromkeys(filter(None, (first, last))))
    ranges = list(filter(None, map(_parse, ends)))
    around = set(map(attrgetter("before", "after"), ranges))
    if len(ranges) < 2 or len(around) > 1:
        return " to ".join(ends)
    begin, end = ranges
    widest = max(begin.right, end.right, key=_order_column)
    return replace(begin, last=end.last, right=widest).to_place()


def _parse(place: str) -> _Range | None:
    found = next(filter(None, (form.fullmatch(place) for form in _FORMS)), None)
    if found is None:
        return None
    groups = found.groupdict()
    before = groups.pop("before")
    first, last = int(groups.pop("first")), int(groups.pop("last"))
    return _Range(_SEVERAL.get(before, before), first, last, **groups)


def _order_column(column: str) -> tuple[int, str]:
    """To sort names of columns as sheets do: A to Z, then AA."""
    return len(column), column
