"""Keeps what must not happen to one collection at the same time apart: taking documents in, and
changing its index version.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentkit.core import stopping

_LOOK_S = 0.1


class CollectionLock:
    """Many may pass for a collection at once, or one alone. Whoever waits can be told to stop."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: Counter[str] = Counter()
        self._alone: set[str] = set()

    @contextmanager
    def shared(self, collection_id: str) -> Iterator[None]:
        """While the block runs nobody is alone in the collection; raises Stopped while it waits."""
        with self._changed:
            self._wait(lambda: collection_id not in self._alone)
            self._inside[collection_id] += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside[collection_id] -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, collection_id: str) -> Iterator[None]:
        """While the block runs nobody else is in the collection; raises Stopped while it waits."""
        with self._changed:
            self._wait(lambda: collection_id not in self._alone and not self._inside[collection_id])
            self._alone.add(collection_id)
        try:
            yield
        finally:
            with self._changed:
                self._alone.discard(collection_id)
                self._changed.notify_all()

    def _wait(self, free: Callable[[], bool]) -> None:
        while not free():
            stopping.check()
            self._changed.wait(_LOOK_S)
