"""The programs that record a run in a data folder which another process may hold: which of them
live.

Each keeps the file `recording/ID` in the folder locked while its run goes on; the kernel lets go of
the lock when the program dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path

from agentkit import private

FOLDER = "recording"


class Recorder:
    """Says that this program records a run; `close` it when the end of the run is stored."""

    def __init__(self, data: Path, run_id: str) -> None:
        """Where no such file can be made or locked, whoever opens the folder next takes the
        program for dead.
        """
        self._file = _file(data, run_id).absolute()
        self._lock = -1
        with suppress(OSError):
            private.make_folder(self._file.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._lock = os.open(self._file, flags, private.FILE)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _recorders.add(self)

    def close(self) -> None:
        """Say it no more."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Close what is open here, and leave the file as it is."""
        _recorders.discard(self)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def is_recorded(data: Path, run_id: str) -> bool:
    """Whether a program lives that records the run, this one included."""
    path = _file(data, run_id)
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without such locks
        return False
    else:
        path.unlink(missing_ok=True)  # what a dead program left
        return False
    finally:
        os.close(lock)


def _file(data: Path, run_id: str) -> Path:
    return data / FOLDER / run_id


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _let_go_of_all() -> None:
    for recorder in list(_recorders):
        recorder.let_go()


# The child of a fork has copies of the locks: with them, a program that died would seem to live.
os.register_at_fork(after_in_child=_let_go_of_all)
