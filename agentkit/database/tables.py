"""Tables asked in SQL that others wrote: in memory, without files, network and settings."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentkit.errors import WrongArgument

if TYPE_CHECKING:
    import duckdb

_SETTINGS: Mapping[str, str | bool | int | float | list[str]] = {
    "memory_limit": "512MB",
    "threads": 1,
    "temp_directory": "",
}
_SECONDS = 30.0
_TYPES: Mapping[str, str] = {
    "BIGINT": "regexp_full_match({0}, '-?(0|[1-9][0-9]{{0,17}})')",
    "DOUBLE": (
        "try_cast({0} AS DOUBLE) IS NOT NULL"
        " AND NOT regexp_matches({0}, '^[+]|^-?0[0-9]|^-?[0-9]{{19}}|_')"
    ),
    "DATE": "try_cast({0} AS DATE) IS NOT NULL AND length({0}) = 10",
    "TIMESTAMP": "try_cast({0} AS TIMESTAMP) IS NOT NULL",
    "VARCHAR": "{0} IS NOT NULL",
}
"""What a column of texts is taken for, where all of it can be read so, and how that is seen. What
would lose signs as a number stays a text: postcodes, telephone numbers, numbers of accounts.
"""
_LOCK = """SET enable_external_access = false;
SET python_enable_replacements = false;
SET allow_community_extensions = false;
SET lock_configuration = true"""


@dataclass(frozen=True, slots=True)
class Table:
    """Texts in rows and columns."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | None]]
    title: str = ""
    """Where it is from, for people and models."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a statement gave."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    more: bool
    """Whether there are more rows than these."""


class OpenTables:
    """Tables that can be asked."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, tables: Sequence[Table]) -> None:
        self._connection, self._tables = connection, tables

    def describe(self) -> list[str]:
        """A line for each: its name, where it is from, its rows, and its columns with types."""
        return list(map(self._describe, self._tables))

    def _describe(self, table: Table) -> str:
        name = _quote(table.name)
        sql = f"SELECT column_name, column_type FROM (DESCRIBE {name})"
        found = self._connection.execute(sql).fetchall()
        columns = ", ".join(f"{_quote(column)} {kind}" for column, kind in found)
        return f"- {name} ({table.title}; {len(table.rows):,} rows): {columns}"

    def ask(self, sql: str, most_rows: int) -> Answered:
        """The first rows that one statement gives; raises WrongArgument with what is wrong with
        it, also when it takes too long or `interrupt` ends it.
        """
        import duckdb

        try:
            count = len(duckdb.extract_statements(sql))
            if count != 1:
                raise WrongArgument(f"Write one statement; these are {count}.")
            return self._run(sql, most_rows)
        except duckdb.InterruptException as error:
            told = f"It took longer than {_SECONDS:g} s, or was stopped, and was ended."
            raise WrongArgument(told) from error
        except (duckdb.Error, RuntimeError) as error:
            raise WrongArgument(f"The statement failed: {error}") from error

    def interrupt(self) -> None:
        """End what is asked just now, from another thread."""
        self._connection.interrupt()

    def _run(self, sql: str, most_rows: int) -> Answered:
        timer = threading.Timer(_SECONDS, self._connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            done = self._connection.execute(sql)
            columns = [str(one[0]) for one in done.description]
            rows = done.fetchmany(most_rows + 1)
        finally:
            timer.cancel()
        return Answered(columns, rows[:most_rows], len(rows) > most_rows)


@contextmanager
def open_tables(tables: Sequence[Table]) -> Iterator[OpenTables]:
    """The tables in a database of their own, which is gone afterwards; nothing else is in it, and
    nothing else can be reached from it.
    """
    import duckdb

    connection = duckdb.connect(":memory:", config=dict(_SETTINGS))
    try:
        for table in tables:
            _fill(connection, table)
        connection.execute(_LOCK)
        yield OpenTables(connection, tables)
    finally:
        connection.close()


def _fill(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    import pyarrow

    name = _quote(table.name)
    schema = pyarrow.schema([(column, pyarrow.string()) for column in table.columns])
    columns = list(zip(*table.rows, strict=True))
    connection.register("given", pyarrow.table(columns, schema=schema))
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    connection.unregister("given")
    for column in map(_quote, table.columns):
        kind = _find_type(connection, name, column)
        connection.execute(f"ALTER TABLE {name} ALTER {column} TYPE {kind}")


def _find_type(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> str:
    """The first type as which all values of a column of texts can be read."""
    tests = ", ".join(f"count_if({test.format(column)})" for test in _TYPES.values())
    done = connection.execute(f"SELECT {tests} FROM {table}")
    [counts] = done.fetchall()
    there = counts[-1]
    place = list(counts).index(there) if there else -1
    return list(_TYPES)[place]


def _quote(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
