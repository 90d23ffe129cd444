"""Runs that other processes record here: when such a process dies, its run is interrupted."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial

from agentkit.events import Recorded, RunFailed, RunFinished, RunStarted, RunStopped

_EVERY_S = 2.0


class Attendance:
    """Looks now and then whether the processes are there whose runs go on."""

    def __init__(self, interrupt: Callable[[str], None]) -> None:
        """`interrupt` is told the ids of runs whose process has died."""
        self._interrupt = interrupt
        self._attending: dict[str, Callable[[], bool]] = {}
        self._turn = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def hear(self, run_id: str, pid: int, events: Sequence[Recorded]) -> None:
        """A process had these events of a run stored."""
        for one in events:
            if isinstance(one.event, RunStarted):
                self.expect(run_id, partial(_lives, pid))
            elif isinstance(one.event, (RunFinished, RunFailed, RunStopped)):
                self._attending.pop(run_id, None)

    def expect(self, run_id: str, lives: Callable[[], bool]) -> None:
        """A run goes on as long as its process, which is asked by `lives`."""
        with self._turn:
            self._attending[run_id] = lives
            if self._thread is None:
                name = "agentkit-attendance"
                self._thread = threading.Thread(target=self._look, name=name, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Look no more; the runs go on, and whoever holds the folder next hears of their end."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_EVERY_S):
            for run_id, lives in list(self._attending.items()):
                if not lives():
                    self._attending.pop(run_id, None)
                    self._interrupt(run_id)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
