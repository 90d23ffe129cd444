"""The tool that asks the tables of documents in SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, groupby, repeat
from typing import TYPE_CHECKING, Annotated, Any

from agentkit.core import stopping
from agentkit.core.tools import effects
from agentkit.documents import DocumentText, Section
from agentkit.documents.readers.tables import cut_row
from agentkit.errors import AgentkitError, WrongArgument
from agentkit.teams.answer import shorten_result
from agentkit.teams.task import Readable

if TYPE_CHECKING:
    from agentkit.database.tables import Answered, Table

_ENDINGS = (".csv", ".tsv", ".xlsx", ".xlsm", ".ods", ".parquet")
_MOST_TABLES, _MOST_ROWS, _MOST_COLUMNS = 50, 200_000, 200
_SHOWN_ROWS, _LONGEST = 100, 20_000
_BETWEEN = " | "


def make_querier(list_documents: Callable[[], Sequence[Readable]]) -> Callable[..., Any]:
    """`query_tables` over these documents: those that are tables, as readers cut them."""

    @effects("none")
    def query_tables(
        sql: Annotated[str, "One SELECT in DuckDB's SQL; empty for a list of tables and columns."],
    ) -> str:
        """Ask the tables of the user's spreadsheets and CSV files in SQL."""
        from agentkit.database.tables import open_tables

        stopping.check()
        documents = list(filter(_is_table, list_documents()))
        tables, problems = read_tables(documents)
        if not tables:
            return " ".join(["There are no tables among the documents.", *problems])
        with open_tables(tables) as opened:
            listed = "\n".join([*opened.describe(), *problems])
            if not sql.strip():
                return f"There are these tables:\n{listed}"
            try:
                with stopping.current().on_stop(opened.interrupt):
                    return write_rows(opened.ask(sql, _SHOWN_ROWS))
            except WrongArgument as error:
                stopping.check()
                return f"{error}\nThere are these tables:\n{listed}"

    return query_tables


def _is_table(document: Readable) -> bool:
    return document.name.lower().endswith(_ENDINGS)


def read_tables(documents: Sequence[Readable]) -> tuple[list[Table], list[str]]:
    """The tables in the documents, and what could not be read."""
    tables: list[Table] = []
    problems: list[str] = []
    for one in documents:
        try:
            text = one.read()
        except AgentkitError as error:
            problems.append(f"{one.name} cannot be read: {error}")
            continue
        for title, rows in _join_sections(text):
            tables += _make_table(f"{one.name} {title}".strip(), rows, len(tables))
    return tables[:_MOST_TABLES], problems


def _join_sections(document: DocumentText) -> Iterator[tuple[str, list[list[str]]]]:
    """The rows of each sheet, with its title: sections that go on with one another are one."""
    for title, sections in groupby(document.sections, _find_title):
        lines = chain.from_iterable(map(_list_lines, sections))
        yield title, list(map(cut_row, lines))


def _find_title(section: Section) -> str:
    """The sheet; nothing for a file that is one table."""
    return section.place.rpartition("!")[0].strip("'")


def _list_lines(section: Section) -> list[str]:
    """A line a row: other marks that end lines, such as U+2028, stand within cells."""
    return section.text.split("\n")


def _make_table(title: str, rows: list[list[str]], taken: int) -> list[Table]:
    """The table with its first row as the header; none where there is nothing below it."""
    if len(rows) < 2:
        return []
    width = min(max(map(len, rows)), _MOST_COLUMNS)
    from agentkit.database.tables import Table

    columns = _name_columns(rows[0], width)
    body = list(map(_fit, rows[1 : _MOST_ROWS + 1], repeat(width)))
    return [Table(_name_table(title, taken), columns, body, title)]


def _name_table(title: str, taken: int) -> str:
    plain = re.sub(r"\W+", "_", title.casefold()).strip("_")[:40] or "table"
    return f"{plain}_{taken + 1}"


def _name_columns(header: list[str], width: int) -> list[str]:
    """A name for each column, all different, in whatever letters."""
    names: list[str] = []
    seen: set[str] = set()
    for place, cell in enumerate(_fit(header, width), start=1):
        written = " ".join((cell or "").split())
        name = written[:60] or f"column {place}"
        unique = name
        if name.casefold() in seen:
            unique = f"{name} {place}"
        seen.add(unique.casefold())
        names.append(unique)
    return names


def _fit(row: list[str], width: int) -> list[str | None]:
    """The row with as many cells as there are columns; empty ones become None."""
    cells = list(map(str.strip, row[:width]))
    missing = width - len(cells)
    return [*(cell or None for cell in cells), *[None] * missing]


def write_rows(answered: Answered) -> str:
    """The rows as a model reads them."""
    lines = [_BETWEEN.join(answered.columns)]
    lines += [_BETWEEN.join(map(_write_cell, row)) for row in answered.rows]
    if answered.more:
        lines.append(f"[only the first {len(answered.rows):,} rows are shown]")
    return shorten_result("\n".join(lines), _LONGEST)


def _write_cell(value: object) -> str:
    return "" if value is None else str(value)
