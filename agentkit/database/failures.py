"""DuckDB's errors in the words of our own: a damaged file, a full disk, a file that is in use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentkit.errors import DatabaseDamaged, DatabaseInUse, StoreError

_WRITING = re.compile(
    "Could not write"
    "|Could not truncate"
    "|Could not sync"
    "|fsync"
    "|No space left"
    "|Permission denied"
    "|Read-only file system"
    "|Too many open files"
    "|Cannot open file"
)
_BROKEN = re.compile("Corrupt|Could not read|nvalid unicode|replaying WAL")
_NO_ACCESS = re.compile("Permission denied|Read-only file system")
_HOLDER = re.compile(r"\(PID ([^)]+)")
_CAUSE = "Original error: "
_OVER = "has been invalidated"
"""Of a file that can only be closed from then on."""


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise what goes wrong in the block with the file, and not with the statement, as StoreError.

    A damaged file becomes DatabaseDamaged. Other errors of DuckDB, such as a conflict or a broken
    constraint, pass as they are.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        translated = _translate(path, error)
        if translated is None:
            raise
        raise translated from error


def _translate(path: Path, error: Exception) -> StoreError | None:
    import duckdb

    text = str(error)
    if isinstance(error, duckdb.ConnectionException):
        return StoreError(f"{path} was closed ({reason(text)}); open it again.")
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreError(
            f"There is not enough memory for {path} ({reason(text)}); close other programs."
        )

    of_the_file = (
        duckdb.IOException,
        duckdb.FatalException,
        duckdb.InternalException,
        duckdb.SerializationException,
        UnicodeDecodeError,  # what was stored was UTF-8
    )
    of_writing = (*of_the_file, duckdb.TransactionException)
    if isinstance(error, of_writing) and _WRITING.search(text):
        again = ""
        if isinstance(error, duckdb.FatalException) or _OVER in text:
            again = ", then start again"
        return StoreError(
            f"{path} could not be written ({reason(text)}); "
            f"check free space and permissions{again}."
        )
    if isinstance(error, of_the_file) or type(error) is duckdb.Error or _BROKEN.search(text):
        return make_damaged(path, text)
    return None


def make_damaged(path: Path, text: str) -> DatabaseDamaged:
    """The error for a file that cannot be read, with what DuckDB says of it."""
    return DatabaseDamaged(
        f"{path} is damaged ({reason(text)}). "
        "`python -m agentkit doctor` says what can be saved, and how."
    )


def cannot_open(path: Path, text: str) -> StoreError:
    """The error for a file that does not open."""
    if "Could not set lock" in text:
        holders = _HOLDER.findall(text)
        by = f"process {holders[-1]}" if holders else "another process"
        return DatabaseInUse(
            f"{path} is in use by {by} (the app, or another command). Stop that one first, "
            "or set AGENTKIT_DATA to another folder for a separate store."
        )
    if "newer version" in text:
        return DatabaseDamaged(
            f"{path} was written by a newer version of agentkit ({reason(text)}); update agentkit."
        )
    if _NO_ACCESS.search(text):
        return StoreError(
            f"{path} cannot be opened ({reason(text)}); check its permissions, "
            "or choose another folder with AGENTKIT_DATA."
        )
    return DatabaseDamaged(
        f"{path} cannot be opened as a database ({reason(text)}); restore it from a backup or "
        "move it away. `python -m agentkit doctor` says what there is."
    )


def reason(text: str) -> str:
    """The line of DuckDB's words that names the cause."""
    cause = text.split(_CAUSE, 1)[-1]
    if cause:
        return cause.splitlines()[0].strip('"')
    return "no reason given"
