"""DuckDB's errors in the words of our own: a damaged file, a full disk, a file that is in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentkit.errors import DatabaseDamaged, DatabaseInUse, StoreError

_WRITING = (
    "Could not write",
    "Could not truncate",
    "Could not sync",
    "fsync",
    "No space left",
    "Permission denied",
    "Read-only file system",
    "Too many open files",
    "Cannot open file",
)
_BROKEN = ("Corrupt", "Could not read", "nvalid unicode", "replaying WAL")
_CAUSE = "Original error: "


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What goes wrong in the block with the file and not with the statement, told as StoreError.

    A damaged file becomes DatabaseDamaged. Other errors of DuckDB, such as a conflict or a broken
    constraint, pass as they are.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        if (known := _meaning(path, error)) is None:
            raise
        raise known from error


def _meaning(path: Path, error: Exception) -> StoreError | None:
    import duckdb

    text = str(error)
    of_the_file = (
        duckdb.IOException,
        duckdb.FatalException,
        duckdb.InternalException,
        duckdb.SerializationException,
        UnicodeDecodeError,  # what was stored was UTF-8
    )
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreError(
            f"There is not enough memory for {path} ({reason(text)}); close other programs."
        )
    if isinstance(error, (*of_the_file, duckdb.TransactionException)) and _one_of(_WRITING, text):
        again = ", then start again" if isinstance(error, duckdb.FatalException) else ""
        return StoreError(
            f"{path} could not be written ({reason(text)}); "
            f"check free space and permissions{again}."
        )
    if isinstance(error, of_the_file) or type(error) is duckdb.Error or _one_of(_BROKEN, text):
        return damaged(path, text)
    return None


def damaged(path: Path, text: str) -> DatabaseDamaged:
    """The error for a file that cannot be read, with what DuckDB says of it."""
    return DatabaseDamaged(
        f"{path} is damaged ({reason(text)}). "
        "`python -m agentkit doctor` says what can be saved, and how."
    )


def cannot_open(path: Path, text: str) -> StoreError:
    """The error for a file that does not open."""
    if "Could not set lock" in text:
        holder = text.split("(PID ")[-1].split(")")[0] if "(PID " in text else ""
        by = f" by process {holder}" if holder else " by another process"
        return DatabaseInUse(
            f"{path} is in use{by} (the app, or another command). Stop that one first, "
            "or set AGENTKIT_DATA to another folder for a separate store."
        )
    if "newer version" in text:
        return DatabaseDamaged(
            f"{path} was written by a newer version of agentkit ({reason(text)}); update agentkit."
        )
    if "Permission denied" in text or "Read-only file system" in text:
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
    return cause.splitlines()[0].strip('"') if cause else "no reason given"


def _one_of(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)
