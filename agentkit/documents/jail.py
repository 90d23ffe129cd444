"""Reading in a child process with limits: a bomb, a hang or a hostile file costs one file, never
the program.
"""

from __future__ import annotations

import math
import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentkit import errors
from agentkit.documents import wire
from agentkit.documents.decoding import clean
from agentkit.documents.document import DocumentText, Limits
from agentkit.documents.refusals import AGAIN
from agentkit.documents.starting import Process, start
from agentkit.errors import (
    AgentkitError,
    DamagedDocument,
    DocumentError,
    DocumentTooLarge,
    EmptyDocument,
    NotFound,
    ReadingTimedOut,
    Stopped,
)

Span = tuple[int, int]
"""Characters of a text: from, to."""
_FILES_PER_CHILD = 200
_PICTURE_BYTES = 2**27
_MESSAGE_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A picture as models are shown it."""

    content: bytes
    kind: str
    """`png` or `jpg`."""
    width: int
    height: int
    """In pixels."""


class Jail:
    """A child process that reads one file after the other; started when needed, replaced when it
    dies or gets old.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._using = threading.Lock()
        self._changing = threading.Lock()
        self._child: Process | None = None
        self._served = 0
        self._stopped = False
        self._deadline = _Deadline(limits.timeout_s, self._kill)

    def read(self, path: Path, name: str) -> DocumentText:
        """Read the file at `path`, called `name` in messages; raises a DocumentError, or Stopped
        after `stop`.
        """
        header, body = self._ask({"do": "read"}, path, name)
        try:
            return wire.unpack(header, body)
        except ValueError as error:
            self.close()
            raise _explain_crash(name) from error

    def render(
        self,
        path: Path,
        name: str,
        page: int,
        highlight: Span | None = None,
        width: int = 1_000,
        strongly: Sequence[Span] = (),
    ) -> bytes:
        """PNG of a PDF's page (from 1), `width` pixels wide.

        `highlight` is a span of that page's section text, to be marked lightly, and `strongly` are
        those in it to be marked as what matters most.
        """
        marks = {"highlight": highlight, "strongly": list(strongly)}
        return self._ask({"do": "render", "page": page, "width": width, **marks}, path, name)[1]

    def picture(self, path: Path, name: str) -> Prepared:
        """The picture in the file at `path`, as models are shown it; see `picturing`."""
        header, content = self._ask({"do": "picture"}, path, name)
        width, height = header["size"]
        return Prepared(content, str(header["kind"]), int(width), int(height))

    def stop(self) -> None:
        """Kill the child, from any thread; a read under way and all later ones raise Stopped."""
        self._stopped = True
        self._kill()

    def close(self) -> None:
        """End the child; the next read would start another."""
        with self._using:
            self._retire()
            self._deadline.close()

    def __enter__(self) -> Jail:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(
        self, request: Mapping[str, object], path: Path, name: str
    ) -> tuple[dict[str, Any], bytes]:
        data = content_of(path, name, self.limits)
        with self._using:
            child = self._ready_child()
            self._deadline.begin()
            try:
                wire.send(
                    child.requests, {**request, "name": name, "limits": asdict(self.limits)}, data
                )
                header, body = wire.receive(
                    child.replies, 4 * self.limits.max_chars + _PICTURE_BYTES
                )
            except (EOFError, OSError, ValueError) as error:
                raise self._explain_death(name, self._deadline.end()) from error
            if self._deadline.end() or header.get("error") == "MemoryError":
                self._retire()
        if "error" in header:
            raise _to_error(header, name, self.limits)
        return header, body

    def _ready_child(self) -> Process:
        if self._served >= _FILES_PER_CHILD or (self._child and not self._child.lives):
            self._retire()
        with self._changing:
            if self._stopped:
                raise Stopped("reading was stopped")
            if self._child is None:
                self._child = start(self.limits.memory_mb)
                self._served = 0
        self._served += 1
        return self._child

    def _kill(self) -> None:
        with self._changing:
            if self._child is not None:
                self._child.kill()

    def _explain_death(self, name: str, late: bool) -> AgentkitError:
        """The child has gone in the middle of a request: why, in the user's words."""
        code = self._retire()
        if self._stopped:
            return Stopped("reading was stopped")
        if late or code == -getattr(signal, "SIGXCPU", 0):
            return ReadingTimedOut(
                f"{name} was not read within {self.limits.timeout_s:g} s."
                " Split it into smaller files, or raise AGENTKIT_READ_TIMEOUT_S."
            )
        if code in {-getattr(signal, "SIGSEGV", 11), -getattr(signal, "SIGBUS", 7)}:
            return _explain_crash(name)
        return _explain_memory(name, self.limits)

    def _retire(self) -> int | None:
        """End the child, if there is one, and give its exit code."""
        with self._changing:
            child, self._child = self._child, None
        if child is None:
            return None
        return child.bury()


class _Deadline:
    """Calls `expire` when something takes too long. It is one thread for all requests: to start
    one for each takes longer than to read a small file.
    """

    def __init__(self, seconds: float, expire: Callable[[], None]) -> None:
        self._seconds, self._expire = seconds, expire
        self._changed = threading.Condition()
        self._watched = False
        self._due = math.inf
        self._late = False

    def begin(self) -> None:
        """Something begins that is to end in time."""
        with self._changed:
            self._due, self._late = time.monotonic() + self._seconds, False
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="agentkit-deadline", daemon=True).start()

    def end(self) -> bool:
        """It has ended; gives whether `expire` was called. From here on that is never done."""
        with self._changed:
            self._due = math.inf
            return self._late

    def close(self) -> None:
        """End the thread; the next `begin` starts another."""
        with self._changed:
            self._watched = False
            self._changed.notify_all()

    def _watch(self) -> None:
        with self._changed:
            while self._watched:
                left = self._due - time.monotonic()
                if left <= 0:
                    self._due, self._late = math.inf, True
                    self._expire()
                    continue
                # What begins meanwhile is due later than that, so nobody has to wake it.
                self._changed.wait(min(left, self._seconds))


def read_document(path: Path, name: str, limits: Limits) -> DocumentText:
    """Read one file in a jail of its own; for several files use one Jail."""
    with Jail(limits) as jail:
        return jail.read(path, name)


def render_page(
    path: Path,
    name: str,
    page: int,
    highlight: Span | None = None,
    limits: Limits | None = None,
    width: int = 1_000,
    strongly: Sequence[Span] = (),
) -> bytes:
    """PNG of a PDF's page (from 1) with places marked; see `Jail.render`."""
    with Jail(limits or Limits()) as jail:
        return jail.render(path, name, page, highlight, width, strongly)


def prepare_picture(path: Path, name: str, limits: Limits) -> Prepared:
    """A picture as models are shown it; raises a DocumentError, see `picturing`."""
    with Jail(limits) as jail:
        return jail.picture(path, name)


def content_of(path: Path, name: str, limits: Limits) -> bytes:
    """All of the file at `path`, which the user calls `name`: the process that reads opens no
    files.

    Raises DocumentTooLarge, EmptyDocument, and DamagedDocument for folders and for what cannot
    be opened.
    """
    try:
        data, size = _read_file(path, name, limits.max_bytes)
    except (
        OSError,
        ValueError,
    ) as error:  # the latter for a path that the system does not know as one
        why = getattr(error, "strerror", None) or error
        raise DamagedDocument(
            f"{name} cannot be opened ({why}). Check that you may read it."
        ) from error
    if len(data) > limits.max_bytes:
        raise DocumentTooLarge(
            f"{name} has {size / 2**20:,.1f} MB, more than {limits.max_bytes / 2**20:,.1f} MB."
            " Split it into smaller files, or raise AGENTKIT_MAX_FILE_MB."
        )
    if not data.strip(b" \t\r\n\0"):
        raise EmptyDocument(f"{name} is empty. Check that it was saved, and add it again.")
    return data


def _read_file(path: Path, name: str, most: int) -> tuple[bytes, int]:
    """The bytes, at most one more than `most`, and how many there are."""
    # A pipe would keep who opens it waiting for its other end.
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedDocument(f"{name} is not a file. Add the files in it, or a copy of it.")
        with open(opened, "rb", closefd=False) as file:
            data = file.read(min(most, found.st_size) + 1)  # room for `most` takes time to get
            if len(data) > found.st_size:
                data += file.read(most + 1 - len(data))
        return data, max(len(data), os.fstat(opened).st_size)
    finally:
        os.close(opened)


def _to_error(header: Mapping[str, object], name: str, limits: Limits) -> AgentkitError:
    kind = getattr(errors, str(header["error"]), None)
    if header["error"] == "MemoryError" or not (
        isinstance(kind, type) and issubclass(kind, (DocumentError, NotFound))
    ):
        return _explain_memory(name, limits)
    return kind(clean(str(header.get("message", "")))[:_MESSAGE_CHARS])


def _explain_crash(name: str) -> DamagedDocument:
    return DamagedDocument(f"{name} makes its reader crash, so it is probably damaged. {AGAIN}")


def _explain_memory(name: str, limits: Limits) -> DocumentTooLarge:
    return DocumentTooLarge(
        f"{name} needs more memory to be read than the {limits.memory_mb:,} MB allowed, or is"
        " damaged. Split it into smaller files, save it again, or raise AGENTKIT_READ_MEMORY_MB."
    )
