"""What may take how long, and waiting, without a look at the clock on the wall: the machine may be
busy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agentkit.core.stopping import StopSignal


@contextmanager
def processor_time(most_s: float) -> Iterator[None]:
    """Fails when the block takes this process that many seconds of its processors, all threads
    together.

    Neither waiting nor other processes count. Choose some ten times what it takes.
    """
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < most_s, f"{took:.1f} s of processor time, at most {most_s:g} s"


class Clock(StopSignal):
    """Keeps what was to be waited for, in seconds, and goes on at once."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def wait(self, seconds: float) -> bool:
        """Wait for nothing."""
        self.waited.append(seconds)
        return self.is_set
