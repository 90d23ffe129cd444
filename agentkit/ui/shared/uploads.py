"""Uploaded files go to disk at once, so that the session does not hold them in memory.

They are stored by number. What they were called is data, whatever it is, and never a path.
"""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterable
from pathlib import PurePosixPath
from typing import BinaryIO, Protocol, cast

from agentkit import private
from agentkit.errors import StoreError, explain_os
from agentkit.messages import new_id
from agentkit.retrieval import Source
from agentkit.settings import Settings


class Uploaded(Protocol):
    """A file as Streamlit hands it over: its name (a path for folders) and its bytes."""

    name: str

    def seek(self, offset: int, /) -> int:
        """Go to a place in the bytes."""
        ...

    def read(self, size: int = -1, /) -> bytes:
        """The bytes from there on."""
        ...


def to_disk(files: Iterable[Uploaded], settings: Settings) -> list[Source]:
    """Copy the files under `<data>/uploads` and name them as sources.

    The same name again means a new version; two files of one name at once are two documents.
    Raises StoreError when the data folder cannot be written; nothing is left there then.
    """
    folder = settings.data / "uploads" / new_id()
    sources: dict[str, Source] = {}
    try:
        private.make_folder(folder)
        for number, file in enumerate(files):
            path = folder / str(number)
            file.seek(0)
            with open(path, "wb", opener=private.opener) as copy:
                shutil.copyfileobj(cast("BinaryIO", file), copy)
            name = _make_unused_name(file.name, sources)
            sources[name] = Source(name, path, f"upload:{name}")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise StoreError(
            f"The files cannot be copied into {folder.parent} ({explain_os(error)}); "
            "check free space and permissions."
        ) from error
    return list(sources.values())


def _make_unused_name(given: str, taken: Container[str]) -> str:
    """The name, a path for folders, with a number if it is taken."""
    plain = PurePosixPath(given.replace("\\", "/")).as_posix().lstrip("/")
    stem, ending = plain, PurePosixPath(plain).suffix
    number = 1
    while plain in taken:
        number += 1
        plain = f"{stem.removesuffix(ending)} ({number}){ending}"
    return plain
