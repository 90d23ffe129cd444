"""The child process that reads a damaged database, and copies what it can into a new file.

    python -m agentkit.database.remains_child FILE [NEW FILE]

What it finds it tells on stdout, a JSON object a line.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.database.failures import reason

if TYPE_CHECKING:
    import duckdb

_STEP = 2_048
"""Rows that DuckDB reads at once: around a damaged block, so many are lost at least."""


def announce(**what: Any) -> None:
    """Write a line."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(path: Path, target: Path | None) -> None:
    """Read everything."""
    import duckdb

    with _attach(path, target) as connection:
        if connection is None:
            return
        try:
            names = _read_names(connection)
            if target is not None:
                _prepare(connection)
        except duckdb.Error as error:
            announce(problem=reason(str(error)))
            return
        announce(names=names)
        for name in names:
            _read_table(connection, name, copy=target is not None)


@contextmanager
def _attach(path: Path, target: Path | None) -> Iterator[duckdb.DuckDBPyConnection | None]:
    """A connection to which the file is attached as `old`, without its log if that is damaged."""
    import duckdb

    connection = duckdb.connect(str(target) if target else ":memory:")
    try:
        connection.execute(f"attach {_quote(path)} as old (read_only)")
        yield connection
        return
    except duckdb.Error as error:
        text = str(error)
    if "Could not set lock" in text or "Permission denied" in text:
        announce(refused=text)
    elif "WAL" not in text:
        announce(problem=reason(text))
    else:
        # Under another name the file has no log. A link, as the file may be large.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".survey-") as folder:
            alone = Path(folder) / "alone.duckdb"
            try:
                os.link(path, alone)
                connection.execute(f"attach {_quote(alone)} as old (read_only)")
            except (duckdb.Error, OSError) as error:
                announce(problem=reason(text), alone=str(error))
            else:
                announce(log=reason(text))
                yield connection
                connection.close()
                return
    yield None


def _quote(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _read_names(connection: duckdb.DuckDBPyConnection) -> list[str]:
    sql = "select table_name from duckdb_tables() where database_name = 'old' order by table_oid"
    return [name for (name,) in connection.execute(sql).fetchall()]


def _prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the same sequences and tables in the new file."""
    sequences = connection.execute(
        "select sequence_name, coalesce(last_value, start_value - 1) + 1 from duckdb_sequences()"
        " where database_name = 'old'"
    ).fetchall()
    for name, start in sequences:
        connection.execute(f'create sequence "{name}" start {start}')
    for (sql,) in connection.execute(
        "select sql from duckdb_tables() where database_name = 'old' order by table_oid"
    ).fetchall():
        connection.execute(sql)


def _read_table(connection: duckdb.DuckDBPyConnection, name: str, copy: bool) -> None:
    """Read a table at once, and what cannot be read so in small steps."""
    import duckdb

    rows = None
    try:
        rows = _count_rows(connection, name)
        readable = _read_rows(connection, name, "true", copy)
        announce(table={"name": name, "rows": rows, "readable": readable})
    except duckdb.Error as error:
        readable = 0
        for first in range(0, rows or 0, _STEP):
            with suppress(duckdb.Error):
                part = f"rowid >= {first} and rowid < {first + _STEP}"
                readable += _read_rows(connection, name, part, copy)
        problem = reason(str(error))
        announce(table={"name": name, "rows": rows, "readable": readable, "problem": problem})


def _count_rows(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    found = connection.execute(f'select count(*) from old."{name}"').fetchone()
    return int(found[0]) if found else 0


def _read_rows(connection: duckdb.DuckDBPyConnection, name: str, part: str, copy: bool) -> int:
    """Read every value of these rows, or copy them; gives how many there are."""
    if copy:
        sql = f'insert into "{name}" select * from old."{name}" where {part}'
    else:
        sql = f'select count(*), max(hash(t)) from old."{name}" t where {part}'
    found = connection.execute(sql).fetchone()
    return int(found[0]) if found else 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
