"""Copies of a database file from before its tables were changed, in a folder beside it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentkit import private
from agentkit.errors import StoreError, explain_os

KEPT = 3
"""So many of the newest stay."""
_UNFINISHED = "unfinished.tmp"


@dataclass(frozen=True, slots=True)
class Backup:
    """A whole database file as it was; put in the place of the other one, it is what answers."""

    path: Path
    """Its name says the tables' versions, as `agentkit.ledger-1.retrieval-2.<when>.duckdb`."""
    bytes: int
    changed_at: datetime
    """When what is in it was changed last, in UTC."""


def backups(path: Path) -> list[Backup]:
    """The copies of the database file `path`, oldest first."""
    found = [(copy, copy.stat()) for copy in _copies(path)]
    return [
        Backup(copy, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
        for copy, status in found
    ]


def make(path: Path, versions: Mapping[str, int]) -> Path:
    """Copy the file, which nobody has open; gives where the copy lies. Older ones beyond KEPT go.

    A copy that was made of the same content before is given again: a change that fails at every
    start must not push out the copies of better days. Raises StoreError, and then nothing changed.
    """
    found = path.stat()
    for known in backups(path):
        copied = known.path.stat()
        if (copied.st_size, copied.st_mtime_ns) == (found.st_size, found.st_mtime_ns):
            return known.path
    folder = _folder(path)
    target = folder / _name(path, versions)
    try:
        private.make_folder(folder)
        copy(path, target, folder / _UNFINISHED)
    except OSError as error:
        free = shutil.disk_usage(path.parent).free
        raise StoreError(
            f"No backup of {path} could be made in {folder} ({explain_os(error)}), so its "
            f"tables were not changed for this version. It takes {found.st_size / 2**20:,.1f} MB, "
            f"and {free / 2**20:,.1f} MB are free: make room, or correct the permissions, then "
            "start again."
        ) from error
    for old in _copies(path)[:-KEPT]:
        with suppress(OSError):
            old.unlink()
    return target


def restore(backup: Path, path: Path) -> None:
    """Put a copy of the backup in the place of the file, which nobody has open; raises OSError."""
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)  # it belongs to the file that goes
    copy(backup, path, path.with_name(f"{path.name}.restored"))


def copy(source: Path, target: Path, temporary: Path) -> None:
    """A durable copy that is whole or not there, with the time of the source; raises OSError."""
    try:
        with (
            source.open("rb") as opened,
            open(temporary, "wb", opener=private.opener) as written,
        ):
            shutil.copyfileobj(opened, written, 1 << 20)
            written.flush()
            os.fsync(written.fileno())
        found = source.stat()
        os.utime(temporary, ns=(found.st_atime_ns, found.st_mtime_ns))
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _settle(target.parent)


def _folder(path: Path) -> Path:
    return path.with_name(f"{path.name}.backups")


def _name(path: Path, versions: Mapping[str, int]) -> str:
    parts = [f"{series}-{number}" for series, number in sorted(versions.items())]
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S")
    return ".".join([path.stem, *parts, f"{when}{path.suffix}"])


def _copies(path: Path) -> list[Path]:
    """By the time in their names."""
    found = [one for one in _folder(path).glob(f"*{path.suffix}") if one.is_file()]
    return sorted(found, key=lambda one: one.stem.rpartition(".")[2])


def _settle(folder: Path) -> None:
    """Make the names in a folder durable."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
