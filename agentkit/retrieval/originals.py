"""The uploaded files themselves, kept by their content, and the sources that they come from."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agentkit import private
from agentkit.errors import DocumentError, DocumentTooLarge, EmptyDocument, StoreError
from agentkit.retrieval.types import Source

_BLOCK = 1 << 20
_SKIPPED = frozenset({"node_modules", "__pycache__"})


class Originals:
    """Files at `<folder>/<first two digits>/<sha256>`."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def path(self, sha256: str) -> Path:
        """Where the content is kept."""
        return self._folder / sha256[:2] / sha256

    def keep(self, source: Source) -> tuple[str, int]:
        """Copy a file durably; gives its sha256 and its size in bytes. Raises DocumentError when it cannot be taken."""
        try:
            size = source.path.stat().st_size
            self._check(source, size)
            digest = hashlib.sha256()
            with source.path.open("rb") as opened:
                while block := opened.read(_BLOCK):
                    digest.update(block)
            sha256 = digest.hexdigest()
        except OSError as error:
            raise DocumentError(
                f"{source.name} cannot be read at {source.path} ({error.strerror or error}); "
                "check the path and the permissions, then retry."
            ) from error
        if not self.path(sha256).exists():
            self._copy(source, sha256)
        return sha256, size

    def remove(self, contents: Iterable[str]) -> None:
        """Delete these contents."""
        for sha256 in contents:
            self.path(sha256).unlink(missing_ok=True)

    def _check(self, source: Source, size: int) -> None:
        if not source.path.is_file():
            raise DocumentError(f"{source.name} at {source.path} is not a file; give files, or a folder to take all files in it.")
        if size > self._max_bytes:
            raise DocumentTooLarge(
                f"{source.name} has {size / 2**20:,.1f} MB, more than the {self._max_bytes // 2**20} MB allowed; "
                "split it, or raise AGENTKIT_MAX_FILE_MB."
            )
        if not size:
            raise EmptyDocument(f"{source.name} is empty (0 bytes); check that it was saved and copied completely.")

    def _copy(self, source: Source, sha256: str) -> None:
        target = self.path(sha256)
        temporary = target.with_name(f"{uuid.uuid4().hex}.tmp")
        digest = hashlib.sha256()
        try:
            private.make_folder(target.parent)
            with (
                source.path.open("rb") as opened,
                open(temporary, "wb", opener=private.opener) as written,
            ):
                while block := opened.read(_BLOCK):
                    digest.update(block)
                    written.write(block)
                written.flush()
                os.fsync(written.fileno())
            if digest.hexdigest() != sha256:
                raise DocumentError(f"{source.name} changed while it was read; retry when nothing writes to it any more.")
            temporary.replace(target)
        except OSError as error:
            raise StoreError(
                f"{source.name} cannot be copied into {self._folder} ({error.strerror or error}); "
                "check free space and permissions."
            ) from error
        finally:
            temporary.unlink(missing_ok=True)


def sources_from_paths(paths: Sequence[Path]) -> list[Source]:
    """The files at these paths and in these folders, each once, under names that tell them apart.

    Hidden files and folders and those of tools are left out of folders. A path that does not exist becomes a source
    too, so that taking it in fails with a message, like any other bad file.
    """
    found: dict[Path, str] = {}
    for given in paths:
        path = Path(given).expanduser()
        if path.is_dir():
            for file in _files(path, set()):
                found.setdefault(file.resolve(), file.relative_to(path).as_posix())
        else:
            found.setdefault(path.resolve(), path.name or str(path))
    names = _unique(found)
    return [Source(_storable(names[path]), path, _storable(str(path))) for path in found]


def _storable(name: str) -> str:
    """The name with bytes that are no UTF-8, which a file system may hold and a database cannot, escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _files(folder: Path, above: set[Path]) -> Iterator[Path]:
    """Files below the folder in order of name; a link to a folder above is not followed again."""
    real = folder.resolve()
    if real in above:
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name in _SKIPPED:
            continue
        if entry.is_dir():
            yield from _files(entry, above | {real})
        elif entry.is_file():
            yield entry


def _unique(found: dict[Path, str]) -> dict[Path, str]:
    """Names that occur twice get their parent folders put before them until they differ."""
    names = dict(found)
    for depth in range(1, 32):
        counts: dict[str, int] = {}
        for name in names.values():
            counts[name] = counts.get(name, 0) + 1
        twice = [path for path, name in names.items() if counts[name] > 1]
        if not twice:
            break
        for path in twice:
            inside = len(Path(found[path]).parts)
            names[path] = Path(*path.parts[-(inside + depth) :]).as_posix()
    return names
