"""The uploaded files themselves, kept by their content, and the sources that they come from."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit import private
from agentkit.core import stopping
from agentkit.errors import (
    DamagedDocument,
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    StoreError,
    explain_os,
)
from agentkit.retrieval.names import storable
from agentkit.retrieval.types import Source

if TYPE_CHECKING:
    from agentkit.retrieval.store.store import Store

_BLOCK = 1 << 20
_AT_ONCE = 1_000
"""Contents that are deleted while nobody else writes to the database."""
_SKIPPED = frozenset({"node_modules", "__pycache__"})


class Originals:
    """Files at `files/<first two digits>/<sha256>` in the data folder."""

    def __init__(self, data: Path, max_bytes: int) -> None:
        self.folder = data / "files"
        self._data = data
        self._max_bytes = max_bytes

    def path(self, sha256: str) -> Path:
        """Where the content is kept."""
        return self.folder / sha256[:2] / sha256

    def keep(self, source: Source) -> tuple[str, int]:
        """Keep a file durably; gives its sha256 and its size in bytes.

        It is copied and left as it is; one in the folder of uploads is not written once more, but
        gets a second name. Raises DocumentError when it cannot be taken.
        """
        try:
            size = source.path.stat().st_size
            self._check(source, size)
            sha256 = _sha256(source.path)
        except (OSError, ValueError) as error:  # ValueError for a path with a NUL in it
            raise DocumentError(
                f"{source.name} cannot be read at {_format_path(source.path)} ({_reason(error)}); "
                "check the path and the permissions, then retry."
            ) from error
        if source.path.parent.parent == self.folder and source.path.name != sha256:
            raise DamagedDocument(
                f"The kept original of {source.name}, {source.path}, is not any more what was "
                "taken in; take the file in once more from where you have it."
            )
        if self.damage(sha256):
            self._place(source, sha256)
        return sha256, size

    def damage(self, sha256: str) -> str:
        """Why the kept content is not what was taken in; empty when it is. Reads all of it."""
        path = self.path(sha256)
        if not path.is_file():
            return "it is missing"
        try:
            found = _sha256(path)
        except OSError as error:
            return f"it cannot be read ({_reason(error)})"
        if found == sha256:
            return ""
        return "its content has changed"

    def remove_unused(self, store: Store, contents: set[str]) -> None:
        """Delete those of the contents that no document needs; none is registered meanwhile."""
        listed = sorted(contents)
        for start in range(0, len(listed), _AT_ONCE):
            with store.database.transaction():
                for sha256 in store.find_unused(set(listed[start : start + _AT_ONCE])):
                    self.path(sha256).unlink(missing_ok=True)

    def _check(self, source: Source, size: int) -> None:
        if source.path.is_dir():
            next(source.path.iterdir(), None)  # says why it is given instead of what is in it
        if not source.path.is_file():
            raise DocumentError(
                f"{source.name} at {_format_path(source.path)} is not a file; "
                "give files, or a folder to take all files in it."
            )
        if size > self._max_bytes:
            raise DocumentTooLarge(
                f"{source.name} has {size / 2**20:,.1f} MB, more than the"
                f" {self._max_bytes // 2**20} MB allowed; split it, or raise AGENTKIT_MAX_FILE_MB."
            )
        if not size:
            raise EmptyDocument(
                f"{source.name} is empty (0 bytes); check that it was saved and copied completely."
            )

    def _place(self, source: Source, sha256: str) -> None:
        target = self.path(sha256)
        temporary = target.with_name(f"{uuid.uuid4().hex}.tmp")
        try:
            private.make_folder(target.parent)
            if not self._link(source.path, temporary):
                _copy(source, temporary, sha256)
            temporary.replace(target)
        except OSError as error:
            raise StoreError(
                f"{source.name} cannot be copied into {self.folder} ({explain_os(error)}); "
                "check free space and permissions."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    @cached_property
    def _own(self) -> tuple[Path, ...]:
        """Where files lie that agentkit has written itself, and nobody changes."""
        return tuple((self._data / name).resolve() for name in ("uploads", "fetched"))

    def _link(self, path: Path, name: Path) -> bool:
        """Give a file of our own another name, once its bytes are on the disk; False if it needs a
        copy.
        """
        there = path.resolve()
        if not any(there.is_relative_to(folder) for folder in self._own):
            return False
        with there.open("rb") as opened:
            os.fsync(opened.fileno())
        try:
            os.link(there, name)
        except OSError:  # it is on another file system, or on one without second names
            return False
        return True


def _copy(source: Source, target: Path, sha256: str) -> None:
    digest = hashlib.sha256()
    with source.path.open("rb") as opened, open(target, "wb", opener=private.opener) as written:
        while block := opened.read(_BLOCK):
            digest.update(block)
            written.write(block)
        written.flush()
        os.fsync(written.fileno())
    if digest.hexdigest() != sha256:
        raise DocumentError(
            f"{source.name} changed while it was read; retry when nothing writes to it any more."
        )


def _sha256(path: Path) -> str:
    """Of the file's content; raises OSError, and Stopped."""
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while block := opened.read(_BLOCK):
            stopping.check()
            digest.update(block)
    return digest.hexdigest()


def _format_path(path: Path) -> str:
    """The path as a message can hold it, which is kept in a table."""
    return storable(str(path)).replace("\0", r"\0")


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def sources_from_paths(paths: Sequence[Path]) -> list[Source]:
    """The files at these paths and in these folders, each once, under names that tell them apart.

    Hidden files and folders and those of tools are left out of folders. A path that does not exist
    and a folder that cannot be listed become sources too, so that taking them in fails with a
    message, like any other bad file.
    """
    found: dict[Path, str] = {}
    for given in paths:
        for file, name in _named_files(_expand(Path(given))):
            found.setdefault(_resolve(file), name)
    names = _unique(found)
    return [Source(names[path], path, str(path)) for path in found]


def _named_files(path: Path) -> Iterator[tuple[Path, str]]:
    """The file at the path, or all files in the folder there, with their names."""
    if not _is_folder(path):
        yield path, path.name or str(path)
        return
    for file in _files(path):
        yield file, file.relative_to(path).as_posix()


def _expand(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # the home folder of somebody who is not known here
        return path


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL in it, or a loop of links
        return path.absolute()


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long, for example
        return False


def _files(folder: Path) -> Iterator[Path]:
    """Files below the folder in order of name; a link to a folder above is not followed again.

    What cannot be looked at counts as a file: reading it says why.
    """
    waiting: list[tuple[Path, frozenset[tuple[int, int]]]] = [(folder, frozenset())]
    while waiting:
        path, above = waiting.pop()
        if not _is_folder(path):
            yield path
            continue
        try:
            found = path.stat()
            entries = sorted(path.iterdir(), reverse=True)
        except OSError:
            yield path
            continue
        inside = above | {(found.st_dev, found.st_ino)}
        if inside != above:
            waiting += [(entry, inside) for entry in entries if _is_wanted(entry)]


def _is_wanted(entry: Path) -> bool:
    if entry.name.startswith(".") or entry.name in _SKIPPED:
        return False
    try:
        return entry.is_dir() or entry.is_file()
    except OSError:
        return True


def _unique(found: dict[Path, str]) -> dict[Path, str]:
    """Names that occur twice get their parent folders put before them until they differ."""
    names = dict(found)
    for depth in range(1, 32):
        counts = Counter(names.values())
        twice = [path for path, name in names.items() if counts[name] > 1]
        if not twice:
            break
        for path in twice:
            inside = len(Path(found[path]).parts)
            names[path] = Path(*path.parts[-(inside + depth) :]).as_posix()
    return names
