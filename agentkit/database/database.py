"""The one DuckDB file: open, a cursor per thread, transactions, numbered migrations.

DuckDB lets one process write. Within it every thread reads through a cursor of its own; writes
take turns through `transaction()`, so that two of them never conflict, and are durable when the
block ends.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from agentkit import private
from agentkit.database import copies
from agentkit.database.failures import cannot_open, translate_errors
from agentkit.errors import DatabaseDamaged, StoreError

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pandas
    import pyarrow

Row = dict[str, Any]
Values = Sequence[Any] | Mapping[str, Any]
Migration = Callable[["Database"], None]
T = TypeVar("T")
_IN_MEMORY = Path(":memory:")
_BATCH = 65_536
"""Rows that are read at a time."""
_REMEMBERED = 2_000
"""Results of the same tables that are remembered; of more, all are read again."""
_CHANGING = re.compile(
    r"\s*(?:with\b.*?\b)?(?:insert\s+into|update|delete\s+from)\s+\"?(\w+)", re.I | re.S
)
_COMPRESS = "set global zstd_min_string_length = 128"
"""Texts that are longer than that on average are compressed (DuckDB does so from 4,096 letters on):
what was said stands in events, in messages and in what was sent to models.
"""
_ATTACH = "attach if not exists '{0}' as agentkit (type duckdb, row_group_size 8192)"
"""At each checkpoint DuckDB writes the last group of rows of a changed table with a key anew, in
memory first, while all who write wait. Of its own accord that are up to 122,880 rows: 100 MB more
and 0.6 s at 110,000 chunks, a third more processor time for all of them.
"""
_USE = "use agentkit"
_SPILL = "set global temp_directory = '{0}.tmp'"
"""What a large statement cannot hold in memory goes beside the file; not into the folder in which
the process began.
"""


def to_array(column: pyarrow.ChunkedArray | pyarrow.Array) -> np.ndarray:
    """The numbers (n) of a column without nulls, in its type; pyarrow's `to_numpy` loads pandas."""
    import numpy as np

    parts = getattr(column, "chunks", [column])
    return np.concatenate([np.empty(0, column.type.to_pandas_dtype()), *map(np.from_dlpack, parts)])


class Database:
    """One open database file; share it between threads.

    Every method raises StoreError when the file cannot be used: DatabaseDamaged when it cannot be
    read, else for a full disk and the like. Nobody else in this process may open the file while it
    is open here, not even to read: to close it again would let other processes in.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = path.with_name(f"{path.name}.wal")
        self._write = threading.RLock()
        self._revisions: Counter[str] = Counter()
        self._known: set[str] = set()
        self._backup: Path | None = None
        self._changed = False
        """Whether a step has changed the file since the backup."""
        self.changes = 0
        """A number that rises before and after every commit: while it is the same, nothing is."""
        self.remembered = Remembered(self)
        self._open()
        self.execute(
            "create table if not exists migrations"
            " (series varchar, number integer, primary key (series, number))"
        )

    def execute(self, sql: str, values: Values = ()) -> None:
        """Run a statement that returns nothing."""
        if not self.in_transaction:
            self.changes += 1
        with self._translate_errors():
            self._cursor().execute(sql, _storable(values))
        self._note_change(_find_changed(sql))
        if not self.in_transaction:  # the log is written when it ends
            self._close_log()
            self.changes += 1

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """Insert one row; the keys are column names."""
        columns = ", ".join(row)
        marks = ", ".join("?" for _ in row)
        self.execute(f"insert into {table} ({columns}) values ({marks})", list(row.values()))

    def insert_arrow(self, table: str, rows: pyarrow.Table) -> None:
        """Insert many rows at once; the columns are matched by name."""
        import duckdb

        cursor = self._cursor()
        columns = ", ".join(rows.column_names)
        with self._translate_errors():
            cursor.register("incoming_rows", rows)
            try:
                cursor.execute(
                    f"insert into {table} ({columns}) select {columns} from incoming_rows"
                )
            except BaseException:
                # In a transaction that has failed nothing can be done: the reason is to be told.
                with suppress(duckdb.Error):
                    cursor.unregister("incoming_rows")
                raise
            cursor.unregister("incoming_rows")
        self._note_change(table)

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """All result rows as dicts."""
        with self._translate_errors():
            cursor = self._cursor().execute(sql, _storable(values))
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def row(self, sql: str, values: Values = ()) -> Row | None:
        """The first result row, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def value(self, sql: str, values: Values = ()) -> Any:
        """The first column of the first row, or None."""
        with self._translate_errors():
            # All rows are taken: a result that is not read to its end would hold up the next
            # statement of this thread.
            found = self._cursor().execute(sql, _storable(values)).fetchall()
        return found[0][0] if found else None

    def frame(self, sql: str, values: Values = ()) -> pandas.DataFrame:
        """The result as a pandas table."""
        with self._translate_errors():
            return self._cursor().execute(sql, _storable(values)).df()

    def column(self, sql: str, values: Values = ()) -> np.ndarray:
        """The first column as an array; unlike `arrow` it loads neither pyarrow nor pandas."""
        import numpy as np

        with self._translate_errors():
            columns = self._cursor().execute(sql, _storable(values)).fetchnumpy()
        return np.asarray(next(iter(columns.values())))

    def arrow(self, sql: str, values: Values = ()) -> pyarrow.Table:
        """The result as an Arrow table, for columns of vectors."""
        with self._translate_errors():
            return self._cursor().sql(sql, params=_storable(values) or None).to_arrow_table()

    def read_together(
        self,
        statements: Mapping[str, tuple[str, Values]],
        take: Callable[[pyarrow.RecordBatchReader], T],
    ) -> dict[str, T]:
        """What `take` makes of each result, batch by batch; all are of the same moment."""
        with self._translate_errors(), self._new_cursor() as cursor:
            cursor.execute("begin transaction read only")
            read = {}
            for name, (sql, values) in statements.items():
                found = cursor.sql(sql, params=_storable(values) or None)
                read[name] = take(found.to_arrow_reader(_BATCH))
            cursor.execute("commit")
        return read

    def copy_to(
        self, path: Path, form: Literal["csv", "parquet"], sql: str, values: Values = ()
    ) -> None:
        """Write the result into a file that is there, however large it is; its mode stays."""
        options = "format csv, header" if form == "csv" else "format parquet"
        name = str(path).replace("'", "''")
        with self._translate_errors():
            # Without a file of DuckDB's own beside it, which anybody could read.
            self._cursor().execute(
                f"copy ({sql}) to '{name}' ({options}, use_tmp_file false)", _storable(values)
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes of the block are kept together, durably, or not at all.

        Nested blocks join the outer one.
        """
        with self._write:
            if self.in_transaction:
                yield
                return
            with self._translate_errors():
                cursor = self._cursor()
                cursor.execute("begin")
            self._local.depth, self._local.touched = 1, set()
            try:
                with self._translate_errors():
                    yield
                    self.changes += 1
                    cursor.execute("commit")
                self._close_log()
                self.changes += 1
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
        """Say, within a transaction, that it changes what belongs to the series.

        The revision rises when it is committed.
        """
        assert self.in_transaction  # else a reader could keep what was there before for new
        self._local.touched.add(series)

    def revision(self, series: str) -> int:
        """A number that rises with every change to the series, or to the table of that name.

        What was read after asking for it is good until it rises.
        """
        return self._revisions[series]

    def _note_change(self, table: str) -> None:
        """Let the table's revision rise once its change is committed."""
        if self.in_transaction:
            self._local.touched.add(table)
        else:
            self._revisions[table] += 1

    def migrate(self, series: str, steps: Sequence[Migration]) -> None:
        """Run those of the numbered steps (the first is 1) that this file has not seen yet.

        Before the first one that changes a file with something in it, a backup is made. When a step
        fails, the file is as it was. Raises StoreError, and DatabaseDamaged when the file was
        written by a version with more steps; it is closed then.
        """
        self._known.add(series)
        done = self._versions().get(series, 0)
        if done > len(steps):
            self._refuse(f"{series} {done}, known {len(steps)}")
        if done == len(steps):
            return
        with self._write:
            self._back_up()
            try:
                for number, step in enumerate(steps[done:], start=done + 1):
                    with self.transaction():
                        step(self)
                        self.insert("migrations", {"series": series, "number": number})
                    self._changed = True
            except Exception as error:
                if self._backup is not None:
                    self._take_back(self._backup, error)
                raise  # a rollback was enough

    def refuse_newer(self) -> None:
        """Raise DatabaseDamaged when the file has tables that nobody here migrates, and close it.

        To be called when all have migrated, before anything else is written.
        """
        if unknown := sorted(set(self._versions()) - self._known):
            self._refuse(f"with {', '.join(unknown)}, which this one does not know")

    def bytes(self) -> int:
        """Size on the disk, the log of what is not yet in the file itself included."""
        log = self._log.stat().st_size if self._log.is_file() else 0
        return self.path.stat().st_size + log

    def close(self) -> None:
        """Close the file; later use raises an error."""
        with self._write:
            for cursor in list(self._cursors):
                cursor.close()
            self._connection.close()

    def _open(self) -> None:
        self._connection = _connect(self.path)
        self._is_private = self.path.is_file() and not private.is_wide(self.path)
        self._local = threading.local()
        # A cursor ends with its thread; a strong list would keep those of every thread that read.
        self._cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._new_cursor()
            self._cursors.add(cursor)
        return cursor

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        with self._translate_errors():
            cursor = self._connection.cursor()
            if self.path != _IN_MEMORY:
                cursor.execute(_USE)
        return cursor

    def _close_log(self) -> None:
        """DuckDB makes the log anew at times, for everybody: it is to be as private as the file."""
        if self._is_private:
            private.close_to_others(self._log)

    def _translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.path)

    def _versions(self) -> dict[str, int]:
        """By series, the last step that the file has seen."""
        rows = self.rows("select series, max(number) as number from migrations group by series")
        return {row["series"]: row["number"] for row in rows}

    def _refuse(self, found: str) -> NoReturn:
        self.close()
        raise DatabaseDamaged(
            f"{self.path} was written by a newer version of agentkit ({found}); update agentkit."
        )

    def _back_up(self) -> None:
        """Copy the file once, if there is something in it; it is closed and opened again."""
        if self._backup or self.path == _IN_MEMORY or self._is_empty():
            return
        versions = self._versions()
        self.execute("checkpoint")  # so that all of it is in the one file
        self.close()
        self._backup = copies.make(self.path, versions)
        self._open()

    def _is_empty(self) -> bool:
        tables = self.rows(
            "select table_name as name from duckdb_tables()"
            " where table_name <> 'migrations' and estimated_size > 0"
        )
        return not any(self.row(f'select 1 from "{table["name"]}" limit 1') for table in tables)

    def _take_back(self, backup: Path, error: Exception) -> NoReturn:
        """Close the file as it was before; raises StoreError."""
        self.close()
        try:
            if self._changed:
                copies.restore(backup, self.path)
        except OSError as failed:
            raise StoreError(
                f"{self.path} was changed halfway for this version of agentkit ({error}), and "
                f"could not be put back ({failed}). What was before lies in {backup}: make room "
                f"and copy it over {self.path}."
            ) from error
        raise StoreError(
            f"{self.path} could not be changed for this version of agentkit ({error}). It is as it "
            f"was before, and a copy of it lies in {backup}; go on with the version used so far."
        ) from error


class Remembered:
    """What was read of tables, until one of them changes: each page of each person needs the
    same.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[tuple[str, ...], tuple[int, dict[Hashable, Any]]] = {}

    def read(self, tables: Sequence[str], key: Hashable, read: Callable[[], T]) -> T:
        """What `read` gives, or gave for this key since one of these tables was changed.

        All who ask are given the same: it must not be changed.
        """
        if self._database.in_transaction:  # which may yet be taken back
            return read()
        of = tuple(tables)
        revision = sum(map(self._database.revision, of))
        kept = self._kept.get(of)
        if kept is None or kept[0] != revision or len(kept[1]) >= _REMEMBERED:
            kept = self._kept[of] = (revision, {})
        known = kept[1]
        if key not in known:
            known[key] = read()
        found: T = known[key]
        return found

    def rows(self, tables: Sequence[str], sql: str, values: Values = ()) -> list[Row]:
        """All result rows of a statement that reads these tables and no others."""
        read = partial(self._database.rows, sql, values)
        return self.read(tables, (sql, repr(values)), read)


def _find_changed(sql: str) -> str:
    """The table that a statement changes; empty for one that changes none."""
    found = _CHANGING.match(sql)
    return found[1].lower() if found else ""


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """End the transaction, unless it has ended with its failure, whose reason is to be told."""
    import duckdb

    with suppress(duckdb.Error):
        cursor.execute("rollback")


def _storable(values: Values) -> Values:
    """The values with `?` for half surrogate pairs.

    A model's reply may hold those, and the file cannot.
    """
    if isinstance(values, Mapping):
        return {name: _utf8(value) for name, value in values.items()}
    return [_utf8(value) for value in values]


def _utf8(value: object) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _attach(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection that knows the file by the name `agentkit`; all in this process have one
    instance of DuckDB for a file.
    """
    import duckdb

    if path == _IN_MEMORY:
        return duckdb.connect(str(path))
    connection = duckdb.connect(f":memory:{path.resolve()}")
    name = str(path).replace("'", "''")
    try:
        connection.execute(_ATTACH.format(name))
        connection.execute(_SPILL.format(name))
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    is_new = not path.exists()
    try:
        private.make_folder(path.parent)
        connection = _attach(path)
        connection.execute(_COMPRESS)
    except OSError as error:
        raise StoreError(
            f"The data folder {path.parent} cannot be used ({error.strerror}); "
            "choose another with AGENTKIT_DATA."
        ) from error
    except duckdb.Error as error:
        raise cannot_open(path, str(error)) from error
    if is_new:
        private.close_to_others(path)
    return connection
