"""How often pages look at an answer that is being written: less often the more this process has to do."""

from __future__ import annotations

import threading
import time

FASTEST_S, SLOWEST_S = 0.125, 1.0
_BUSY, _IDLE = 0.5, 0.24
"""Shares of one core: above the first pages look half as often, below the second twice as often."""
_LOOK_S = 2.0
"""What a share is measured over; it is long enough for the work of changing the pace not to count much."""


class Pace:
    """Doubles and halves the time between two looks by the processor time that the process takes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = FASTEST_S
        self._since = (time.monotonic(), time.process_time())

    def seconds(self) -> float:
        """Seconds between two looks from now on; to be asked at every look."""
        with self._lock:
            now = (time.monotonic(), time.process_time())
            passed, took = now[0] - self._since[0], now[1] - self._since[1]
            if passed >= _LOOK_S:
                self._since = now
                if passed < 2 * _LOOK_S:  # else nobody has looked for a while
                    self._seconds = after(self._seconds, took / passed)
            return self._seconds


def after(seconds: float, share: float) -> float:
    """The next pace when the process took so large a share of a core with the last one."""
    if share > _BUSY:
        return min(2 * seconds, SLOWEST_S)
    return max(seconds / 2, FASTEST_S) if share < _IDLE else seconds


_PACE = Pace()
seconds = _PACE.seconds
