"""What the commands write: results to stdout, everything else to stderr."""

from __future__ import annotations

import dataclasses
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from agentkit.core.naming import name_source

if TYPE_CHECKING:
    from agentkit.retrieval import Hit
    from agentkit.retrieval.store.exact_search import Match
    from agentkit.teams import Citation

_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def put(text: str, end: str = "\n") -> None:
    """Write to stdout at once."""
    sys.stdout.write(plain(text) + end)
    sys.stdout.flush()


def put_json(value: object) -> None:
    """Write a JSON value to stdout, on one line, at once; a record is an object of its fields."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_to_plain) + "\n")
    sys.stdout.flush()


def _to_plain(value: object) -> object:
    """What stands in JSON for a value that JSON does not know."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return str(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """Several things of one kind, as a table for people and as a JSON object for programs."""

    told: Mapping[str, object]
    """The JSON object."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str
    """What is said where there are none."""
    numbers: Sequence[str] = ()
    """The columns that are aligned to the right."""

    def put(self, *, as_json: bool) -> None:
        """Write it to stdout in one of the two forms."""
        if as_json:
            put_json(self.told)
        elif self.rows:
            put_table(self.columns, self.rows, self.numbers)
        else:
            note(self.empty)


def put_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> None:
    """Write a table to stdout; the columns named in `numbers` are aligned to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        if column in numbers:
            table.add_column(column, justify="right", no_wrap=True, overflow="fold")
        else:
            table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, map(plain, row)))
    # A pipe has no width: nothing is wrapped for the program that reads it.
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1_000).print(table)
    sys.stdout.flush()


def note(text: str) -> None:
    """Write a line to stderr."""
    sys.stderr.write(plain(text) + "\n")
    sys.stderr.flush()


def plain(text: str) -> str:
    """The text without control characters: a document must not steer the terminal that shows it."""
    return text.translate(_CONTROL)


def tell_given(value: object) -> str:
    """A value as its text; nothing for None."""
    if value is None:
        return ""
    return str(value)


def describe_place(found: Hit | Match | Citation) -> str:
    """The document, the page or place in it, and the heading there."""
    return name_source(found.document, found.page, found.place, found.heading)


def count(number: int, noun: str) -> str:
    """`1,203 chunks`, `1 chunk`."""
    from agentkit.ui.text import figures

    return figures.count(number, noun)


def dollars(cost: float | None, unpriced: int = 0) -> str:
    """A cost as people read it; a part that is unknown is said, never counted as nothing."""
    from agentkit.ui.text import figures

    if cost is None:
        return "unknown"
    known = figures.dollars(cost)
    if unpriced:
        return f"{known} + {unpriced} unpriced"
    return known


def tolerate_any_character(*streams: TextIO) -> None:
    """Let file names that cannot be decoded be written, with the strange bytes escaped."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
