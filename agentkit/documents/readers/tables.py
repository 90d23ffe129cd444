"""Tables: delimited text and Excel workbooks. One line a row, cells between " | ", the header row
in the heading.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress, count, groupby, islice, repeat
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, NamedTuple

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
_LONGEST_HEADER = 200
"""Characters of a header row that go into headings."""
_UNTIDY = re.compile(r"  |[\n\r\t\v\f]")


class _Row(NamedTuple):
    number: int
    cells: list[str]
    line: str
    """The row as text."""


def read_csv(data: bytes, name: str, limits: Limits) -> Reading:
    """Read delimited text; the delimiter is the one that gives the steadiest number of columns."""
    text = decode(data)
    csv.field_size_limit(max(limits.max_chars, 131_072))
    usual = ","
    if name.lower().endswith(".tsv"):
        usual = "\t"
    delimiter = _find_delimiter(text, usual)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return Reading(_cut_csv(_read_records(reader, name)))


def _find_delimiter(text: str, usual: str) -> str:
    lines = text[:65_536].split("\n")[:50]

    def steadiness(delimiter: str) -> tuple[float, bool, int]:
        widths = list(filter(None, map(len, csv.reader(lines, delimiter=delimiter))))
        common = max(set(widths), key=widths.count, default=1)
        share = 0.0
        if common > 1:
            share = widths.count(common) / len(widths)
        return share, delimiter == usual, common

    return max(_DELIMITERS, key=steadiness)


def _read_records(reader: Iterator[list[str]], name: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise DamagedDocument(f"{name} is not a delimited table ({error}). {AS_TEXT}") from error


def _cut_csv(records: Iterator[list[str]]) -> Iterator[Part]:
    heading: str | None = None
    for first, last, block in _find_blocks(enumerate(records, 1)):
        if heading is None:
            heading = _read_header(block[0].cells)
        yield Part(_join_rows(block), heading, place=span("rows ", first, last))


def _find_blocks(rows: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, int, list[_Row]]]:
    """Cut a table at its blank rows: number of the first row, of the last, and the rows."""
    for _, run in groupby(enumerate(_find_filled(rows)), key=_find_shift):
        filled = map(itemgetter(1), run)
        while block := list(islice(filled, _BLOCK)):
            yield block[0].number, block[-1].number, block


def _find_shift(numbered: tuple[int, _Row]) -> int:
    """How many rows are left out up to this one: it is the same for rows without a gap."""
    place, row = numbered
    return row.number - place


def _find_filled(rows: Iterable[tuple[int, list[str]]]) -> Iterator[_Row]:
    """The rows that are not blank."""
    for number, cells in rows:
        if line := _to_line(cells):
            yield _Row(number, cells, line)


def _join_rows(rows: list[_Row]) -> str:
    return "\n".join(map(attrgetter("line"), rows))


def _to_line(cells: list[str]) -> str:
    """A row as one line; empty cells inside keep their place, those at the end are dropped."""
    line = join_cells(cells)
    if _UNTIDY.search(line):
        line = join_cells(list(map(_put_on_one_line, cells)))
    return line.strip(" ").rstrip(" |")


def _read_header(cells: list[str]) -> str:
    """The row when it looks like names of columns, else ""."""
    named = list(filter(None, map(str.strip, cells)))
    is_distinct = 1 < len(named) == len(set(named))
    if not is_distinct or any(map(_is_number, named)):
        return ""
    return " | ".join(map(_put_on_one_line, named))[:_LONGEST_HEADER]


def _is_number(cell: str) -> bool:
    return cell.replace(".", "").replace(",", "").isdigit()


def _put_on_one_line(cell: str) -> str:
    return " ".join(cell.split())


def join_cells(cells: Sequence[str]) -> str:
    """The cells between bars; those of a cell itself have blanks beside them that do not break, by
    which `cut_row` knows them.
    """
    line = " | ".join(cells)
    if line.count("|") < len(cells):
        return line
    return " | ".join(map(_keep_bars, cells))


def _keep_bars(cell: str) -> str:
    kept = cell.replace(" |", "\xa0|").replace("| ", "|\xa0")
    return f"{kept}\xa0" if kept.endswith("|") else kept


def cut_row(line: str) -> list[str]:
    """The cells of a row that was read; the blank in front of an empty first one is gone there."""
    if line.startswith("| "):
        line = f" {line}"
    cells = line.split(" | ")
    if "\xa0" not in line:
        return cells
    return [cell.replace("\xa0|", " |").replace("|\xa0", "| ").strip(" ") for cell in cells]


def read_xlsx(data: bytes, name: str, limits: Limits) -> Reading:
    """Read a workbook's values (formulas give their stored results); `place` is sheet and cell
    range.
    """
    from agentkit.documents.readers.package import Package

    package = Package(data, name)  # the limits of a package, before openpyxl opens it
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    check_pages(name, len(book.sheetnames), "sheets", limits)
    parts = chain.from_iterable(map(_cut_sheet, book.worksheets, repeat(book), repeat(name)))
    return Reading(parts, book.properties.title or "", pictures=package.has_pictures())


def _cut_sheet(sheet: Any, book: Any, name: str) -> Iterator[Part]:
    """Each block is a table of its own, or a continuation of the one above."""
    from openpyxl.utils import get_column_letter

    header = ""
    for first, last, block in _find_blocks(_read_rows(sheet, book, name)):
        header = _read_header(block[0].cells) or header
        column = get_column_letter(max(map(_find_width, block)))
        heading = sheet.title
        if header:
            heading = f"{sheet.title}: {header}"
        yield Part(_join_rows(block), heading, place=f"{sheet.title}!A{first}:{column}{last}")


def _find_width(row: _Row) -> int:
    """The number of the last column with anything in it."""
    return max(compress(count(1), row.cells))


def _read_rows(sheet: Any, book: Any, name: str) -> Iterator[tuple[int, list[str]]]:
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
            width = max(map(itemgetter("column"), cells), default=0)
            if not 1 <= number <= _LAST_ROW or width > _LAST_COLUMN:
                raise DamagedDocument(
                    f"{name} is damaged: the sheet {sheet.title!r} has cells beyond row"
                    f" {_LAST_ROW:,} or column XFD, where sheets end. {AGAIN}"
                )
            if number > last:  # a number that comes again does not count
                last = number
                yield number, _fill_row(cells, width)


def _fill_row(found: list[dict[str, Any]], width: int) -> list[str]:
    """All cells of a row to its last one, from those that are in the file."""
    cells = [""] * width
    for cell in found:
        cells[cell["column"] - 1] = _to_text(cell["value"])
    return cells


def _to_text(value: object) -> str:
    return _WRITERS.get(type(value), str)(value)


def _write_nothing(value: None) -> str:
    return ""


def _write_moment(value: datetime.datetime) -> str:
    """The date, and the time where there is one."""
    return value.isoformat(" ").removesuffix(" 00:00:00")


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    NoneType: _write_nothing,
    float: "{:.15g}".format,
    datetime.datetime: _write_moment,
}
"""By the type of a cell's value; others as Python writes them."""
