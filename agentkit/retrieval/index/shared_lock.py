"""A lock for what many read at the same time and one changes in small steps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Readers pass together; a writer is alone. There is one writer at a time: who may write is
    settled elsewhere.

    A reader waits for one turn of the writer at most, the writer for the readers that were there
    before it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._turn = 0
        """Turns of the writer that are over."""
        self._owed = 0
        """Readers that wait since an earlier turn; they go before the next one."""
        self._waiting = 0
        """Readers that have come since the last turn and wait."""
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While the block runs nothing is changed. Not to be nested."""
        with self._changed:
            if self._writing:
                self._wait_a_turn()
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While the block runs nobody reads."""
        with self._changed:
            self._changed.wait_for(lambda: not self._owed)
            self._writing = True
            self._changed.wait_for(lambda: not self._readers)
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._turn += 1
                self._owed, self._waiting = self._waiting, 0
                self._changed.notify_all()

    def _wait_a_turn(self) -> None:
        came, self._waiting = self._turn, self._waiting + 1
        self._changed.wait_for(lambda: self._turn > came)
        self._owed -= 1
