"""What hits show of chunks, in a SQLite file: DuckDB takes some milliseconds to look up ten rows, longer than the search itself.

A cache beside the indexes: it holds the number of the last change in it, catches up with the database, and is built again when
it is missing or damaged.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from agentkit import private
from agentkit.retrieval.store.chunk_table import IndexRow

log = logging.getLogger(__name__)

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_IOERR_SHORT_READ)
"""SQLite's codes for a file that is cut or changed, no database, or one of another layout."""


class ShownChunks:
    """Chunks by their ids; share it between threads. A damaged file is begun anew, wherever that is noticed.

    What writes raises OSError, for a full disk above all: what was committed is there still, or `change` is 0.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self.change = 0
        """The number of the last change that is contained; 0 when it is empty."""
        with self._writing():
            private.make_folder(file.parent)
            self._connection = self._connected()
            try:
                self._prepare()
            except sqlite3.Error as error:
                if not _is_damage(error):
                    raise
                self._begin_anew(error)

    def ids(self) -> set[int]:
        """Ids of all chunks, for checks; none of a damaged file, see `mend`."""
        with self._lock, suppress(sqlite3.Error):
            return {number for (number,) in self._connection.execute("select id from chunks")}
        return set()

    def mend(self) -> bool:
        """Read all of the file, and begin anew if it is damaged; gives whether it was."""
        with self._lock:
            try:
                found = str(self._connection.execute("pragma quick_check").fetchone()[0])
            except sqlite3.Error as error:
                found = str(error)
            if found != "ok":
                with suppress(sqlite3.Error):  # no space: it is tried again the next time
                    self._begin_anew(found)
        return found != "ok"

    def get(self, ids: Sequence[int]) -> dict[int, IndexRow]:
        """Those of the chunks that are there; none when the file turns out to be damaged."""
        marks = ", ".join("?" * len(ids))
        with self._lock:
            try:
                rows = self._connection.execute(f"select id, shown from chunks where id in ({marks})", ids).fetchall()
                return {number: json.loads(shown) for number, shown in rows}
            except (sqlite3.Error, ValueError) as error:
                with suppress(sqlite3.Error):
                    self._begin_anew(error)
                return {}

    def add(self, rows: Sequence[IndexRow]) -> None:
        """Add chunks under new ids; kept by `commit`."""
        with self._lock, self._writing():
            given = ((row["id"], json.dumps(row, ensure_ascii=False)) for row in rows)
            self._connection.executemany("insert or replace into chunks values (?, ?)", given)

    def remove(self, ids: Sequence[int]) -> None:
        """Remove chunks; ids that are not there are passed over. Kept by `commit`."""
        with self._lock, self._writing():
            self._connection.executemany("delete from chunks where id = ?", ((number,) for number in ids))

    def commit(self, change: int) -> None:
        """Make all since the last commit durable, as containing every change up to that number."""
        with self._lock, self._writing():
            self._connection.execute("update state set change = ?", [change])
            self._connection.commit()
            self.change = change

    def roll_back(self) -> None:
        """Forget what came since the last commit."""
        with self._lock, suppress(sqlite3.Error):  # of a file that could not even be begun anew there is nothing to forget
            self._connection.rollback()

    def clear(self) -> None:
        """Begin anew with nothing."""
        with self._lock, self._writing():
            self._empty()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")  # a crash of the machine costs the last commits, nothing else
        self._connection.execute("create table if not exists chunks (id integer primary key, shown text not null)")
        self._connection.execute("create table if not exists state (change integer not null)")
        self._connection.execute("insert into state select 0 where not exists (select 1 from state)")
        self._connection.commit()
        self.change = int(self._connection.execute("select change from state").fetchone()[0])

    def _begin_anew(self, reason: object) -> None:
        log.warning("%s is damaged (%s) and begun anew.", self._file, reason)
        self._empty()

    def _empty(self) -> None:
        self.change = 0
        self._connection.close()
        for file in self._file.parent.glob(f"{self._file.name}*"):
            file.unlink()
        self._connection = self._connected()
        self._prepare()

    def _connected(self) -> sqlite3.Connection:
        with suppress(OSError):  # if it cannot be made, SQLite says why
            self._file.touch(private.FILE)  # SQLite gives its other files the mode of this one
        return sqlite3.connect(self._file, check_same_thread=False)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """What SQLite says as OSError; after damage the file is begun anew."""
        try:
            yield
        except sqlite3.Error as error:
            if _is_damage(error):
                with suppress(sqlite3.Error):
                    self._begin_anew(error)
            raise OSError(f"SQLite: {error}") from error


def _is_damage(error: sqlite3.Error) -> bool:
    """Also of a connection that is closed, since the file could not be begun anew."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) in _DAMAGE
