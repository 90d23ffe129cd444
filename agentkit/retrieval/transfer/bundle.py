"""The file that a collection travels in: a zip archive with a manifest that says what is in it.

Its members are files as they were given, and tables that are not packed, so the archive can be
read at any place and holds no more than its own size. Older exports have packed tables: what those
may unpack to is bounded by the size of the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from agentkit.core import stopping
from agentkit.errors import ConfigError, StoreError, explain_os
from agentkit.retrieval import names

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

SUFFIX = ".agentkit.zip"
DOCUMENTS, CHUNKS = "documents.parquet", "chunks.parquet"
_FORMAT, _NUMBER = "agentkit collection", 1
_MANIFEST, _ORIGINALS = "manifest.json", "originals/"
_MANIFEST_BYTES, _MANIFEST_BYTES_A_MEMBER = 4 * 2**20, 512
_MOST_MEMBERS = 1_000_000
_UNPACKED_BYTES, _UNPACKED_TIMES = 16 * 2**20, 20
_AGAIN = "Export the collection again, or use another copy."
_BLOCK = 1 << 20
_MEMBER = re.compile(rf"{re.escape(DOCUMENTS)}|{re.escape(CHUNKS)}|{_ORIGINALS}[0-9a-f]{{64}}")
_DAMAGE = (
    zipfile.BadZipFile,
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,
    OverflowError,
    struct.error,
)
"""What reading other bytes than an archive of ours can end in."""


def file_name(collection: str) -> str:
    """A name for the file of that collection that every system can store."""
    return names.file_name(collection, SUFFIX, default="collection")


class Writer:
    """Adds members to a new file; the manifest comes last."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members: dict[str, dict[str, Any]] = {}

    @contextmanager
    def member(self, name: str) -> Iterator[Sink]:
        """A new member; what the block writes is its content."""
        with self._archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as opened:
            sink = Sink(opened)
            yield sink
        self._members[name] = {"bytes": sink.tell(), "sha256": sink.sha256}

    def copy(self, name: str, source: IO[bytes]) -> str:
        """A new member with all that can be read from `source`; gives its sha256. Raises
        Stopped.
        """
        with self.member(name) as sink:
            for block in _blocks(source):
                sink.write(block)
        return sink.sha256

    def original(self, sha256: str, source: IO[bytes]) -> None:
        """The file of a document; raises StoreError when it is not what its sha256 says."""
        if self.copy(_ORIGINALS + sha256, source) != sha256:
            raise StoreError(
                f"The kept original {getattr(source, 'name', sha256)} is damaged: its content has"
                " changed. Restore it from a backup, or delete its document, then export again."
            )

    def finish(self, content: Mapping[str, object]) -> None:
        """Write the manifest: this content, and what was added."""
        manifest = {"format": _FORMAT, "number": _NUMBER, **content, "members": self._members}
        self._archive.writestr(
            zipfile.ZipInfo(_MANIFEST), json.dumps(manifest, ensure_ascii=False, indent=1)
        )


class Sink(io.RawIOBase):
    """Passes on what is written, counts and hashes it."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target, self._digest, self._size = target, hashlib.sha256(), 0

    @property
    def sha256(self) -> str:
        """Of all that was written."""
        return self._digest.hexdigest()

    def writable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Bytes written."""
        return self._size

    def write(self, data: ReadableBuffer, /) -> int:
        """Pass the bytes on, all of them."""
        view = memoryview(data)
        self._target.write(view)
        self._digest.update(view)
        self._size += view.nbytes
        return view.nbytes


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A file at `path`, in place of one that is there: whole when the block ends well, else
    nothing. Raises StoreError.
    """
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as opened:
            with zipfile.ZipFile(opened, "w") as archive:
                yield Writer(archive)
            opened.flush()
            os.fsync(opened.fileno())
        temporary.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} could not be written ({explain_os(error)}); check free space and"
            " permissions, or choose another place."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


class Bundle:
    """Such a file, opened: it is whole, and every member is what the manifest says."""

    def __init__(self, name: str, opened: BinaryIO) -> None:
        self.name = name
        """What messages call it."""
        self._file = opened
        self._archive = zipfile.ZipFile(opened)
        self._infos = self._list_members()
        self.manifest = self._read_manifest()
        """What Writer.finish was given, and `members`."""
        self._check_members()

    @property
    def most_unpacked(self) -> int:
        """Bytes that one of its tables may have in memory."""
        return _UNPACKED_BYTES + _UNPACKED_TIMES * os.fstat(self._file.fileno()).st_size

    @property
    def originals(self) -> dict[str, int]:
        """The files of documents that are in it: their sizes in bytes by their sha256."""
        return {
            name.removeprefix(_ORIGINALS): info.file_size
            for name, info in self._infos.items()
            if name.startswith(_ORIGINALS)
        }

    def size(self, name: str) -> int:
        """Bytes of a member."""
        return self._infos[name].file_size

    def original(self, sha256: str) -> Iterator[bytes]:
        """The file of a document in blocks; raises Stopped."""
        with self._archive.open(self._infos[_ORIGINALS + sha256]) as opened:
            yield from _blocks(opened)

    def table(self, name: str) -> BinaryIO:
        """The bytes of a member, to be read at any place."""
        info = self._infos[name]
        self._file.seek(
            info.header_offset + 26
        )  # where the lengths of the name and of what follows it stand
        lengths = struct.unpack("<HH", self._file.read(4))
        return io.BufferedReader(
            _Window(self._file, info.header_offset + 30 + sum(lengths), info.file_size)
        )

    def refuse(self, why: str, advice: str = _AGAIN) -> ConfigError:
        """The error that says why this file cannot be imported."""
        return ConfigError(f"{self.name} cannot be imported: {why} {advice}")

    def _list_members(self) -> dict[str, zipfile.ZipInfo]:
        listed = self._archive.infolist()
        infos = {info.filename: info for info in listed}
        if len(infos) > _MOST_MEMBERS:
            raise self.refuse(f"it has {len(infos):,} members, at most {_MOST_MEMBERS:,} are read.")
        if len(infos) != len(listed):
            raise self.refuse("it has several members of the same name.")
        if _MANIFEST not in infos:
            raise ConfigError(
                f"{self.name} is a zip archive, but not an exported collection; choose a file that"
                f" ends in {SUFFIX}."
            )
        for info in listed:
            form = (info.compress_type, info.flag_bits & 1, info.compress_size)
            if form != (zipfile.ZIP_STORED, 0, info.file_size):
                raise self.refuse(
                    f"its member {info.filename!r} is compressed or encrypted; it was packed by"
                    " another program."
                )
        return infos

    def _read_manifest(self) -> dict[str, Any]:
        most = _MANIFEST_BYTES + _MANIFEST_BYTES_A_MEMBER * len(self._infos)
        if (size := self.size(_MANIFEST)) > most:
            raise self.refuse(f"its manifest has {size:,} bytes, more than it can need.")
        found = json.loads(self._archive.read(_MANIFEST))
        if (
            not isinstance(found, dict)
            or found.get("format") != _FORMAT
            or not isinstance(found.get("number"), int)
        ):
            raise ConfigError(
                f"{self.name} is a zip archive, but not an exported collection; choose a file that"
                f" ends in {SUFFIX}."
            )
        if found["number"] > _NUMBER:
            raise ConfigError(
                f"{self.name} was made by a newer version of agentkit (format {found['number']},"
                f" known {_NUMBER}); update agentkit."
            )
        return found

    def _sha256(self, info: zipfile.ZipInfo) -> str:
        digest = hashlib.sha256()
        with self._archive.open(info) as opened:
            for block in _blocks(opened):
                digest.update(block)
        return digest.hexdigest()

    def _check_members(self) -> None:
        """Raise ConfigError unless the members are those of the manifest, of its sizes and hashes,
        and no others.
        """
        named = self.manifest["members"]
        infos = dict(self._infos)
        infos.pop(_MANIFEST, None)
        self._check_names(set(infos), set(named))
        there = os.fstat(self._file.fileno()).st_size
        told = sum(info.file_size for info in infos.values())
        if told > there:
            raise self.refuse("its members overlap.")
        for name, info in infos.items():
            self._check_content(name, info, named[name])

    def _check_names(self, there: set[str], named: set[str]) -> None:
        strange = sorted(name for name in there | named if not _MEMBER.fullmatch(name))
        if strange:
            raise self.refuse(f"it has a member {strange[0]!r}, which does not belong into it.")
        missing = sorted((there | {DOCUMENTS, CHUNKS}) ^ named) or sorted(named - there)
        if missing:
            raise self.refuse(f"{missing[0]} is missing in it, or in its manifest.")

    def _check_content(self, name: str, info: zipfile.ZipInfo, said: Mapping[str, object]) -> None:
        """Raise ConfigError unless the member is what the manifest says, and its name."""
        expected = said["sha256"]
        if said["bytes"] != info.file_size or expected != self._sha256(info):
            raise self.refuse(f"{name} is damaged: it is not what was exported.")
        if name.startswith(_ORIGINALS) and name != f"{_ORIGINALS}{expected}":
            raise self.refuse(f"{name} is not the file that its name says.")


@contextmanager
def reading(path: Path, called: str = "") -> Iterator[Bundle]:
    """The file, checked; messages call it by its name, or as it is `called`.

    Raises ConfigError when it is not an exported collection, damaged, or from a newer version.
    """
    called = called or path.name
    try:
        opened = path.open("rb")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); check the path and the permissions."
        ) from error
    with opened:
        try:
            bundle = Bundle(called, opened)
        except _DAMAGE as error:
            raise ConfigError(
                f"{called} is not an exported collection, or is damaged or cut short ({error}); "
                f"choose a file that ends in {SUFFIX}, or use another copy."
            ) from error
        yield bundle


class _Window(io.RawIOBase):
    """A part of an open file, read as if it were a file itself."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._place = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._place = max(
            0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        )
        return self._place

    def readinto(self, buffer: Any, /) -> int:
        self._file.seek(self._start + self._place)
        data = self._file.read(max(0, min(len(buffer), self._size - self._place)))
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    while block := source.read(_BLOCK):
        stopping.check()
        yield block
