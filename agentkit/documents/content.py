"""The bytes of a file that is to be read, taken by the program itself: the process that reads opens no files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from agentkit.documents.document import Limits
from agentkit.errors import DamagedDocument, DocumentTooLarge, EmptyDocument


def content_of(path: Path, name: str, limits: Limits) -> bytes:
    """All of the file at `path`, which the user calls `name`.

    Raises DocumentTooLarge, EmptyDocument, and DamagedDocument for what is no file or cannot be opened.
    """
    try:
        data, size = _taken(path, name, limits.max_bytes)
    except (OSError, ValueError) as error:  # the latter for a path that the system does not know as one
        why = getattr(error, "strerror", None) or error
        raise DamagedDocument(f"{name} cannot be opened ({why}). Check that you may read it.") from error
    if len(data) > limits.max_bytes:
        raise DocumentTooLarge(
            f"{name} has {size / 2**20:,.1f} MB, more than {limits.max_bytes / 2**20:,.1f} MB."
            " Split it into smaller files, or raise AGENTKIT_MAX_FILE_MB."
        )
    if not data.strip(b" \t\r\n\0"):
        raise EmptyDocument(f"{name} is empty. Check that it was saved, and add it again.")
    return data


def _taken(path: Path, name: str, most: int) -> tuple[bytes, int]:
    """The bytes, at most one more than `most`, and how many there are."""
    # A pipe would keep who opens it waiting for its other end.
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise DamagedDocument(f"{name} is no file. Add the files in it, or a copy of it.")
        with open(opened, "rb", closefd=False) as file:
            data = file.read(most + 1)
        return data, max(len(data), os.fstat(opened).st_size)
    finally:
        os.close(opened)
