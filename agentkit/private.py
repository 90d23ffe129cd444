"""Files and folders that only their owner can read.

The data folder keeps others out; what is made in it is private by itself as well, so that it stays
so when it is moved.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
OTHERS = 0o077
"""The bits of a mode that are for the group and for everybody."""
_SEEN = 0
if os.name == "posix":
    _SEEN = OTHERS
"""Those of them that say anything on this system."""
_TREES = (
    "files",
    "indexes",
    "uploads",
    "fetched",
    "exports",
    "models",
    "kernels",
    "recording",
)
_TREE_ENDINGS = (".backups", ".indexes")
_FILES = (
    "agentkit.duckdb",
    "agentkit.duckdb.wal",
    "connections.json",
    "settings.json",
    "allowed-tools.json",
)
_SHIPPED = ("samples", "sample-questions.json")
"""What comes with the project, in its own data folder."""


def opener(path: str, flags: int) -> int:
    """For `open(..., opener=opener)`: a file that it makes is private from the beginning."""
    return os.open(path, flags, FILE)


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it that are missing; all of them private. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(FOLDER, exist_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a private file, in place of one that is there, in one step. Raises OSError."""
    make_folder(path.parent)
    # Made with mode 0600.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def close_to_others(path: Path) -> None:
    """Take from others what they may do with a file or folder.

    Left alone are links, files with several names (another may lie outside), what belongs to
    somebody else, and file systems that keep no modes.
    """
    if is_wide(path):
        with suppress(OSError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~OTHERS)


def is_wide(path: Path) -> bool:
    """Whether others may do anything with a file or folder; links are neither."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if not found.st_mode & _SEEN:
        return False
    return stat.S_ISDIR(found.st_mode) or _is_single_file(found)


def _is_single_file(found: os.stat_result) -> bool:
    """Whether it is a file with one name."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def close_files(folder: Path) -> None:
    """Take from others what they may do with a folder and the files in it, which a library made."""
    for path in _list_entries(folder):
        close_to_others(path)
    close_to_others(folder)


def take(folder: Path) -> None:
    """Take a data folder, if it is there, from others, with what agentkit keeps in it.

    In a place that is not ours alone, such as a home folder, only the latter.
    """
    with suppress(OSError):  # whoever uses the folder next is told
        if folder.is_dir():
            for path in _find_ours(folder.resolve()):
                close_to_others(path)


def open_to_others(folder: Path) -> list[Path]:
    """What others may still read or change of all that agentkit keeps in the data folder."""
    return list(filter(is_wide, _find_ours(folder.resolve())))


def keeps_modes(folder: Path) -> bool:
    """Whether the folder's file system lets a file be closed to others; raises OSError."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / "file"
        path.touch(FILE | OTHERS)
        close_to_others(path)
        return not is_wide(path)


def _find_ours(folder: Path) -> Iterator[Path]:
    """What agentkit keeps in a data folder, then the folder itself if it is ours.

    What lies in a folder that is closed is left out, and what is in a folder comes before it.
    """
    shared = _is_shared(folder)
    kept = _is_not_shipped
    if shared:
        kept = _is_known
    for path in filter(kept, _list_entries(folder)):
        if _is_tree(path):
            yield from _find_below(path)
        yield path
    if not shared:
        yield folder


def _is_shared(folder: Path) -> bool:
    """Whether much else lies in the folder: it is the home or working folder, or one above."""
    places = [Path.cwd()]
    with suppress(RuntimeError):  # nobody's home
        places.append(Path.home())
    if any(place.is_relative_to(folder) for place in places):
        return True
    return bool(folder.stat().st_mode & stat.S_ISVTX)


def _is_known(path: Path) -> bool:
    """Whether it has a name that only agentkit gives."""
    return path.name in _FILES or _is_tree(path)


def _is_not_shipped(path: Path) -> bool:
    return path.name not in _SHIPPED


def _is_tree(path: Path) -> bool:
    return path.name in _TREES or path.name.endswith(_TREE_ENDINGS)


def _find_below(folder: Path) -> Iterator[Path]:
    """All below a folder, but for what lies in one that is closed: nobody else comes there."""
    if is_wide(folder):
        for path in _list_entries(folder):
            yield from _find_below(path)
            yield path


def _list_entries(folder: Path) -> list[Path]:
    """What is in a folder; empty for a link, for a file, and where it cannot be listed."""
    if folder.is_symlink():
        return []
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
