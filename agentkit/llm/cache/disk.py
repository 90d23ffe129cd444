"""A cache in a SQLite file, for several threads and processes at once."""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from agentkit.errors import StoreError, WrongType
from agentkit.llm.cache.base import AbstractCache
from agentkit.llm.cache.values import decode, encode

log = logging.getLogger(__name__)

_WAIT_S = 10.0
_TABLE = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class DiskCache(AbstractCache):
    """Keeps values in `<folder>/replies.sqlite`, which the first `set` makes, readable by this user
    only.

    A damaged file is put aside as `replies.sqlite.damaged` by the next `set`. Only keys' hashes are
    stored. Pickled values are loaded only from a file in a folder that no other user can write.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / "replies.sqlite"

    def get(self, key: str, default: Any | None = None) -> Any | None:
        """The stored value; `default` when there is none, or when it cannot be read, which is
        logged as a warning.
        """
        try:
            if not self.path.exists():
                return default
            with self._open() as database:
                row = database.execute(
                    "SELECT value FROM replies WHERE key = ?", (_hash_key(key),)
                ).fetchone()
            if row:
                return decode(row[0], pickled=self._is_ours())
            return default
        except (OSError, sqlite3.Error, StoreError) as error:
            log.warning("An entry of the cache %s is skipped: %s", self.path, error)
            return default

    def set(self, key: str, value: object) -> None:
        """Store the value; where that fails, nothing is stored and a warning is logged."""
        try:
            data = encode(value, pickled=True)
            try:
                self._write(key, data)
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", None) not in _DAMAGE:
                    raise
                self._put_aside(error)
                self._write(key, data)
        except (OSError, sqlite3.Error, WrongType) as error:
            log.warning("A reply is not kept in the cache %s: %s", self.path, error)

    def close(self) -> None:
        """Nothing is held open: every access opens the file anew, which threads and forked
        processes may do at once.
        """

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with (
            closing(
                sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level="IMMEDIATE")
            ) as database,
            database,
        ):
            database.execute(_TABLE)
            yield database

    def _write(self, key: str, data: bytes) -> None:
        self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        os.close(
            os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        )  # conversations are nobody else's
        with self._open() as database:
            database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (_hash_key(key), data))

    def _put_aside(self, error: sqlite3.DatabaseError) -> None:
        damaged = self.path.with_name(self.path.name + ".damaged")
        log.warning(
            "The cache %s is damaged (%s); it is kept as %s and a new one begins.",
            self.path,
            error,
            damaged.name,
        )
        self.path.with_name(self.path.name + "-journal").unlink(
            missing_ok=True
        )  # else it would be applied to the new file
        self.path.replace(damaged)

    def _is_ours(self) -> bool:
        """Whether only we (or root) can have written the file; loading a pickle runs what its
        writer put into it.

        Whoever may write to the folder can lay a journal beside the file, which SQLite then writes
        into it.
        """
        if not hasattr(os, "getuid"):
            return True
        found = (self.path.stat(), self.path.parent.stat())
        return all(
            one.st_uid in (0, os.getuid()) and not one.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            for one in found
        )


def _hash_key(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
