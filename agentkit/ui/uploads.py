"""Uploaded files go to disk at once, so that the session does not hold them in memory."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol, cast

from agentkit import private
from agentkit.messages import new_id
from agentkit.retrieval import Source
from agentkit.settings import Settings


class Uploaded(Protocol):
    """A file as Streamlit hands it over: its name (a path for folders) and its bytes."""

    name: str

    def seek(self, offset: int, /) -> int:
        """Go to a place in the bytes."""
        ...


def to_disk(files: Iterable[Uploaded], settings: Settings) -> list[Source]:
    """Copy the files under `<data>/uploads` and name them as sources; the same name again means a new version."""
    folder = settings.data / "uploads" / new_id()
    sources = []
    for number, file in enumerate(files):
        name = PurePosixPath(file.name.replace("\\", "/")).as_posix().lstrip("/")
        path = folder / str(number) / Path(name).name
        private.make_folder(path.parent)
        file.seek(0)
        with open(path, "wb", opener=private.opener) as copy:
            shutil.copyfileobj(cast("BinaryIO", file), copy)
        sources.append(Source(name, path, f"upload:{name}"))
    return sources
