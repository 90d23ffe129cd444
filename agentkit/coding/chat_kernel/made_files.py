"""The files in a kernel's working folder, looked at from outside while nothing runs in it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentkit.coding import folders
from agentkit.errors import NotFound

MOST_FILES = 1_000
_PATH_MOST = 4_000
"""Characters of a folder's path below the top; files in deeper ones are not told."""
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

Snapshot = dict[str, tuple[int, int, int]]
"""Of each file: which one it is, bytes, and when it was changed."""


@dataclass(frozen=True, slots=True)
class MadeFile:
    """A file that a cell made or changed."""

    name: str
    """Path below the working folder."""
    bytes: int
    changed: bool = False
    """Whether it was there before."""


def list_files(folder: Path) -> Snapshot:
    """The plain files below a folder, at most 25,000; links, pipes and sockets are left out."""
    found: Snapshot = {}
    with suppress(OSError):
        for here, names, above, _ in folders.walk(folder):
            if not names or len(found) > 25 * MOST_FILES or len(above) > _PATH_MOST:
                continue
            place = "".join(f"{level.name}/" for level in above)
            if len(place) <= _PATH_MOST:
                found.update(_list_here(here, names, place))
    return found


def _list_here(here: int, names: list[str], place: str) -> Snapshot:
    found: Snapshot = {}
    for name in names:
        with suppress(OSError):
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                found[place + name] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def compare(before: Snapshot, after: Snapshot) -> tuple[MadeFile, ...]:
    """What was made or changed, sorted by name; names that cannot be read as text are left out."""
    made = [
        MadeFile(name, figures[1], name in before)
        for name, figures in sorted(after.items())
        if before.get(name) != figures and name.isprintable()
    ]
    return tuple(made[:MOST_FILES])


def remove_files(folder: Path, names: list[str]) -> None:
    """Remove what a cell has made; nothing runs in the folder."""
    for name in names:
        with suppress(OSError):
            *way, last = name.split("/")
            here = _enter(folder, way)
            try:
                os.unlink(last, dir_fd=here)
            finally:
                os.close(here)


def read_file(folder: Path, name: str, most_bytes: int) -> bytes:
    """The content of a plain file below the folder. Links are not followed, wherever they stand in
    the name. Raises NotFound for anything else, and for larger files.
    """
    way = name.split("/")
    try:
        if not name or {"", ".", ".."} & set(way):
            raise OSError("no name of a file")
        here = _enter(folder, way[:-1])
        try:
            handle = os.open(way[-1], _OPEN, dir_fd=here)
        finally:
            os.close(here)
    except (OSError, ValueError) as error:
        raise NotFound(f"the kernel's folder has no file {name!r}.") from error
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            raise NotFound(f"{name!r} is not a plain file of at most {most_bytes:,} bytes.")
        return file.read(most_bytes)


def _enter(folder: Path, way: list[str]) -> int:
    """Open a folder, step by step, links refused."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for name in way:
        try:
            inner = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    return here
