"""A SELECT over Arrow streams, answered in a process that has nothing else: no database of ours, no
other file, no network, no environment, little memory, and an end.

DuckDB's own limits hold within that process; where one does not (a function over one huge list is
not interrupted), the system ends it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from agentkit.errors import SqlRefused, StoreError

Form = Literal["arrow", "csv", "json", "parquet"]
"""A stream of Arrow; CSV with a header; one JSON object a line; Parquet."""
_ROOT = Path(__file__).resolve().parents[3]
_NURSERY = "agentkit.database.asked.nursery"
_START_S = 60.0
"""How long a busy machine may take to start Python; the time of the statement comes on top."""
_IDLE_S = 300.0
_ATTEMPTS = 2
BEGUN = b"."
"""Said with descriptors, which need a byte to go with."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the answer to a statement may take."""

    seconds: float = 5.0
    memory_mb: int = 512
    threads: int = 2
    rows: int | None = 10_000
    """Rows of the result at most; None for all."""
    file_mb: int = 4_096
    """What the result takes as a file at most."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a result."""

    rows: int
    more: bool = False
    """Whether the result has more rows than were asked for."""


class Answers:
    """Has SELECTs answered, each in a process of its own; share it between threads.

    Those processes are copies of one that waits with its libraries loaded, and has seen neither a
    statement nor a table. It starts with the first statement, and ends when for `idle_s` seconds
    none came.
    """

    def __init__(self, idle_s: float = _IDLE_S) -> None:
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._waiting: _Waiting | None = None
        self._timer: threading.Timer | None = None
        self._now = 0
        """How many statements are answered at the moment."""

    @property
    def is_warm(self) -> bool:
        """Whether the process that waits is there."""
        return self._waiting is not None

    def start(self) -> None:
        """Have the process start that waits; raises StoreError when none can."""
        with self._lock:
            if self._waiting is None:
                self._waiting = _start()
            self._begin_timer()

    def close(self) -> None:
        """End the process that waits; it starts again when something is asked."""
        with self._lock:
            self._end()

    def answer(
        self, sql: str, tables: Mapping[str, BinaryIO], out: BinaryIO, form: Form, limits: Limits
    ) -> Written:
        """Write the result of a statement that was found to be a SELECT into an open file.

        `tables` are files with a stream of Arrow by the names that the statement has for them.
        Raises SqlRefused when the statement fails or takes too much, and StoreError when no process
        starts.
        """
        asked = {"sql": sql, "form": form, "limits": asdict(limits), "tables": list(tables)}
        files = [out.fileno(), *(file.fileno() for file in tables.values())]
        with self._asking():
            for _ in range(_ATTEMPTS):
                self.start()
                with _open_channel() as (channel, theirs):
                    if self._hand_over(theirs) and _put(channel, asked, files):
                        return _read(channel, limits)
                self.close()  # whatever ended it
        raise StoreError("No process could be started to answer SQL; is there memory for it?")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Within the block the process that waits does not end for want of questions."""
        with self._lock:
            self._now += 1
            self._end_timer()
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1
                self._begin_timer()

    def _hand_over(self, channel: socket.socket) -> bool:
        """Have the process that waits make a copy to be asked over the channel, if there is one."""
        with self._lock, suppress(OSError):
            if self._waiting is not None:
                socket.send_fds(self._waiting.control, [BEGUN], [channel.fileno()])
                channel.close()  # the copy's end of it is the only one now
                return True
        return False

    def _begin_timer(self) -> None:
        """End the process when from now on nothing is asked for a while."""
        self._end_timer()
        if self._now or self._waiting is None:
            return
        self._timer = threading.Timer(self._idle_s, self.close)
        self._timer.name, self._timer.daemon = "agentkit-sql-idle", True
        self._timer.start()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _end(self) -> None:
        self._end_timer()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.control.close()
            waiting.process.kill()
            waiting.process.wait()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A process that makes copies of itself, and the socket over which it is asked to."""

    process: subprocess.Popen[bytes]
    control: socket.socket


def _start() -> _Waiting:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-P", "-W", "ignore", "-m", _NURSERY, str(theirs.fileno())]
    with theirs:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise StoreError(f"No process could be started to answer SQL ({error}).") from error
    return _Waiting(process, ours)


@contextmanager
def _open_channel() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a channel, closed afterwards."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def _put(channel: socket.socket, asked: dict[str, Any], files: Sequence[int]) -> bool:
    """Ask over the channel; whether somebody heard it."""
    channel.settimeout(_START_S)
    with suppress(OSError):
        socket.send_fds(channel, [BEGUN], files)
        channel.sendall(json.dumps(asked).encode())
        channel.shutdown(socket.SHUT_WR)
        return bool(channel.recv(1))
    return False


def _read(channel: socket.socket, limits: Limits) -> Written:
    """What the process told at its end; one that was killed told nothing."""
    began = time.monotonic()
    channel.settimeout(limits.seconds + _START_S)
    try:
        with channel.makefile("rb") as telling:
            said = json.loads(telling.read())
    except (OSError, ValueError):
        kind = "late" if time.monotonic() - began >= limits.seconds else "killed"
        raise SqlRefused(_describe(kind, "", limits)) from None
    if "error" in said:
        raise SqlRefused(_describe(said["error"], said["detail"], limits))
    return Written(said["rows"], said["more"])


def _describe(kind: str, detail: str, limits: Limits) -> str:
    reasons = {
        "late": f"The SQL was stopped after {limits.seconds:g} s; narrow it, or sum up earlier.",
        "memory": f"The SQL needs more than {limits.memory_mb:,} MB of memory; narrow it.",
        "large": (
            f"The result has more than {limits.file_mb:,} MB; narrow it, or name fewer columns."
        ),
        "killed": (
            "The SQL was ended, as it took more time or memory than it may"
            f" ({limits.seconds:g} s, {limits.memory_mb:,} MB); narrow it."
        ),
    }
    return reasons.get(kind, f"The SQL cannot be answered: {detail}.")
