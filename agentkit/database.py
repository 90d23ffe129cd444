"""The one DuckDB file: open, a cursor per thread, transactions, numbered migrations. The only module that imports duckdb.

DuckDB lets one process write. Within it every thread reads through a cursor of its own; writes take turns through
`transaction()`, so that two of them never conflict, and are durable when the block ends.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.errors import DatabaseDamaged, DatabaseInUse, StoreError

if TYPE_CHECKING:
    import duckdb
    import pandas
    import pyarrow

Row = dict[str, Any]
Values = Sequence[Any] | Mapping[str, Any]
Migration = Callable[["Database"], None]


class Database:
    """One open database file; share it between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = _connect(path)
        self._local = threading.local()
        self._write = threading.RLock()
        self._revisions: Counter[str] = Counter()
        # A cursor ends with its thread; a strong list would keep those of every thread that ever read.
        self._cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self.execute("create table if not exists migrations (series varchar, number integer, primary key (series, number))")

    def execute(self, sql: str, values: Values = ()) -> None:
        """Run a statement that returns nothing; raises StoreError when the file cannot be written."""
        with self._told():
            self._cursor().execute(sql, _storable(values))

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """Insert one row; the keys are column names."""
        columns = ", ".join(row)
        self.execute(f"insert into {table} ({columns}) values ({', '.join('?' for _ in row)})", list(row.values()))

    def insert_arrow(self, table: str, rows: pyarrow.Table) -> None:
        """Insert many rows at once; the columns are matched by name."""
        import duckdb

        cursor = self._cursor()
        cursor.register("incoming_rows", rows)
        try:
            columns = ", ".join(rows.column_names)
            cursor.execute(f"insert into {table} ({columns}) select {columns} from incoming_rows")
        except BaseException:
            with suppress(duckdb.Error):  # in a transaction that has failed nothing can be done, and the reason is to be told
                cursor.unregister("incoming_rows")
            raise
        cursor.unregister("incoming_rows")

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """All result rows as dicts."""
        cursor = self._cursor().execute(sql, _storable(values))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def row(self, sql: str, values: Values = ()) -> Row | None:
        """The first result row, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def value(self, sql: str, values: Values = ()) -> Any:
        """The first column of the first row, or None."""
        # All rows are taken: a result that is not read to its end would hold up the next statement of this thread.
        found = self._cursor().execute(sql, _storable(values)).fetchall()
        return found[0][0] if found else None

    def frame(self, sql: str, values: Values = ()) -> pandas.DataFrame:
        """The result as a pandas table."""
        return self._cursor().execute(sql, _storable(values)).df()

    def arrow(self, sql: str, values: Values = ()) -> pyarrow.Table:
        """The result as an Arrow table, for columns of vectors."""
        return self._cursor().sql(sql, params=_storable(values) or None).to_arrow_table()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes of the block are kept together, durably, or not at all; nested blocks join the outer one.

        Raises StoreError when the file cannot be written.
        """
        with self._write:
            if self.in_transaction:
                yield
                return
            cursor = self._cursor()
            cursor.execute("begin")
            self._local.depth, self._local.touched = 1, set()
            try:
                with self._told():
                    yield
                    cursor.execute("commit")
                self._revisions.update(self._local.touched)
            except BaseException:
                _roll_back(cursor)
                raise
            finally:
                self._local.depth = 0

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is within a transaction, and sees what others do not see yet."""
        return bool(getattr(self._local, "depth", 0))

    def touch(self, series: str) -> None:
        """Say, within a transaction, that it changes what belongs to the series; the revision rises when it is committed."""
        assert self.in_transaction  # else a reader could keep what was there before for new
        self._local.touched.add(series)

    def revision(self, series: str) -> int:
        """A number that rises with every change to the series: what was read after asking for it is good until it rises."""
        return self._revisions[series]

    def migrate(self, series: str, steps: Sequence[Migration]) -> None:
        """Run those of the numbered steps (the first is 1) that this file has not seen yet.

        Raises DatabaseDamaged when the file was written by a version with more steps.
        """
        done = self.value("select coalesce(max(number), 0) from migrations where series = ?", [series])
        if done > len(steps):
            raise DatabaseDamaged(
                f"{self.path} was written by a newer version of agentkit ({series} {done}, known {len(steps)}); update agentkit."
            )
        for number, step in enumerate(steps[done:], start=done + 1):
            with self.transaction():
                step(self)
                self.insert("migrations", {"series": series, "number": number})

    def bytes(self) -> int:
        """Size on the disk, the log of what is not yet in the file itself included."""
        log = self.path.with_name(self.path.name + ".wal")
        return self.path.stat().st_size + (log.stat().st_size if log.is_file() else 0)

    def close(self) -> None:
        """Close the file; later use raises an error."""
        with self._write:
            for cursor in list(self._cursors):
                cursor.close()
            self._connection.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
            self._cursors.add(cursor)
        return cursor

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What DuckDB says when the disk is full, as an error that tells what to do."""
        import duckdb

        try:
            yield
        except (duckdb.IOException, duckdb.FatalException, duckdb.TransactionException) as error:
            if isinstance(error, duckdb.TransactionException) and "Could not write file" not in str(error):
                raise  # a conflict
            reason = str(error).splitlines()[0]
            raise StoreError(f"{self.path} could not be written ({reason}); check free space and permissions.") from error


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """End the transaction, unless it has ended with its failure, whose reason is to be told."""
    import duckdb

    with suppress(duckdb.Error):
        cursor.execute("rollback")


def _storable(values: Values) -> Values:
    """The values with half surrogate pairs, which a model's reply may hold and the file cannot, replaced by `?`."""
    if isinstance(values, Mapping):
        return {name: _utf8(value) for name, value in values.items()}
    return [_utf8(value) for value in values]


def _utf8(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return duckdb.connect(str(path))
    except OSError as error:
        raise StoreError(
            f"The data folder {path.parent} cannot be used ({error.strerror}); choose another with AGENTKIT_DATA."
        ) from error
    except duckdb.Error as error:
        raise _cannot_open(path, str(error)) from error


def _cannot_open(path: Path, text: str) -> StoreError:
    if "Could not set lock" in text:
        holder = text.split("(PID ")[-1].split(")")[0] if "(PID " in text else ""
        by = f" by process {holder}" if holder else " by another process"
        return DatabaseInUse(
            f"{path} is in use{by} (the app, or another command). Stop that one first, "
            "or set AGENTKIT_DATA to another folder for a separate store."
        )
    reason = text.splitlines()[0]
    if "Permission denied" in text or "Read-only file system" in text:
        return StoreError(
            f"{path} cannot be opened ({reason}); check its permissions, or choose another folder with AGENTKIT_DATA."
        )
    return DatabaseDamaged(f"{path} cannot be opened as a database ({reason}); restore it from a backup or move it away.")
