"""Tables: delimited text and Excel workbooks. One line a row, cells between " | ", the header row
in the heading.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Iterable, Iterator
from typing import Any

from agentkit.documents.assembly import Part, Reading
from agentkit.documents.decoding import decode
from agentkit.documents.document import Limits
from agentkit.documents.places import span
from agentkit.documents.refusals import AGAIN, AS_TEXT, check_pages
from agentkit.errors import DamagedDocument

_DELIMITERS = ",;\t|"
_BLOCK = 5_000
"""Rows of one section at most."""
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384
"""Where a sheet of Excel ends."""
_HEADER = 200
"""Characters of a header row that go into headings."""


def read_csv(data: bytes, name: str, limits: Limits) -> Reading:
    """Read delimited text; the delimiter is the one that gives the steadiest number of columns."""
    text = decode(data)
    csv.field_size_limit(max(limits.max_chars, 131_072))
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=_delimiter(text, "\t" if name.lower().endswith(".tsv") else ","),
    )
    return Reading(_csv_parts(_records(reader, name)))


def _delimiter(text: str, usual: str) -> str:
    lines = text[:65_536].split("\n")[:50]

    def steadiness(delimiter: str) -> tuple[float, bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        common = max(set(widths), key=widths.count, default=1)
        share = widths.count(common) / len(widths) if common > 1 else 0.0
        return share, delimiter == usual, common

    return max(_DELIMITERS, key=steadiness)


def _records(reader: Iterator[list[str]], name: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise DamagedDocument(f"{name} is no delimited table ({error}). {AS_TEXT}") from error


def _csv_parts(records: Iterator[list[str]]) -> Iterator[Part]:
    heading, first = "", 1
    rows: list[str] = []
    for number, record in enumerate(records, 1):
        row = _row(record)
        if number == 1:
            heading = _header(record)
        if not row or len(rows) == _BLOCK:
            yield from _table(rows, heading, span("rows ", first, number - 1))
            rows, first = [], number + (not row)
        if row:
            rows.append(row)
    yield from _table(rows, heading, span("rows ", first, first + len(rows) - 1))


def _table(rows: list[str], heading: str, place: str) -> Iterator[Part]:
    if rows:
        yield Part("\n".join(rows), heading, place=place)


def _row(cells: list[str]) -> str:
    """A row as one line; empty cells inside keep their place, those at the end are dropped."""
    line = " | ".join(cells)
    if "  " in line or "\n" in line or "\t" in line:
        line = " | ".join(map(_on_one_line, cells))
    return line.strip(" ").rstrip(" |")


def _header(cells: list[str]) -> str:
    """The row when it looks like names of columns, else ""."""
    named = [cell.strip() for cell in cells if cell.strip()]
    distinct = len(set(named)) == len(named)
    if len(named) < 2 or not distinct or any(map(_is_number, named)):
        return ""
    return " | ".join(map(_on_one_line, named))[:_HEADER]


def _is_number(cell: str) -> bool:
    return cell.replace(".", "").replace(",", "").isdigit()


def _on_one_line(cell: str) -> str:
    return " ".join(cell.split())


def read_xlsx(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a workbook's values (formulas give their stored results); `place` is sheet and cell
    range.
    """
    from agentkit.documents.readers.package import Package

    package = Package(data, name)  # the limits of a package, before openpyxl opens it
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    check_pages(name, len(book.sheetnames), "sheets", limits)
    sheets = ((sheet.title, _rows(sheet, book, name)) for sheet in book.worksheets)
    parts = (part for title, rows in sheets for part in _sheet(title, rows))
    return Reading(parts, book.properties.title or "", pictures=package.has_pictures())


def _rows(sheet: Any, book: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are in the file, with their numbers: openpyxl's own `iter_rows` also makes all
    that are missing between.
    """
    from openpyxl.worksheet._reader import WorkSheetParser

    with sheet._get_source() as source:
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        last = 0
        for number, cells in parser.parse():
            if not 1 <= number <= _LAST_ROW or any(cell["column"] > _LAST_COLUMN for cell in cells):
                raise DamagedDocument(
                    f"{name} is damaged: the sheet {sheet.title!r} has cells beyond row"
                    f" {_LAST_ROW:,} or column XFD, where sheets end. {AGAIN}"
                )
            if number > last:  # a number that comes again does not count
                last = number
                yield number, _cells(cells)


def _cells(found: list[dict[str, Any]]) -> list[str]:
    """All cells of a row to its last one, from those that are in the file."""
    cells = [""] * max((cell["column"] for cell in found), default=0)
    for cell in found:
        cells[cell["column"] - 1] = _cell(cell["value"])
    return cells


def _sheet(title: str, rows: Iterable[tuple[int, list[str]]]) -> Iterator[Part]:
    """Cut the sheet at its blank rows: each block is a table of its own, or a continuation of the
    one above.
    """
    header, width, first = "", 0, 1
    lines: list[str] = []
    for number, cells in rows:
        line = _row(cells)
        if not line or len(lines) == _BLOCK or number != first + len(lines):
            yield from _block(title, header, lines, width, first)
            lines, width, first = [], 0, number + (not line)
        if line:
            if not lines:
                header = _header(cells) or header
            lines.append(line)
            width = max(width, max(index for index, cell in enumerate(cells, 1) if cell))
    yield from _block(title, header, lines, width, first)


def _block(title: str, header: str, lines: list[str], width: int, first: int) -> Iterator[Part]:
    if lines:
        from openpyxl.utils import get_column_letter

        place = f"{title}!A{first}:{get_column_letter(width)}{first + len(lines) - 1}"
        yield Part("\n".join(lines), f"{title}: {header}" if header else title, place=place)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time()
        return value.date().isoformat() if midnight else value.isoformat(" ")
    return str(value)
