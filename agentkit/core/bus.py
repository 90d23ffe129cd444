"""The context-local event bus: whoever listens around a piece of work hears what happens in it; and
a history of what was heard.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter

from agentkit.events import DocumentDone, DocumentProgress, Event, Recorded

Listener = Callable[[Event], None]
_PROGRESS = 2_000
"""So many events of progress, at least, are kept in a history."""

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("agentkit_listeners", default=())
_everywhere: list[Listener] = []


def emit(event: Event) -> None:
    """Tell every listener of this context, in the order in which they began to listen; then those
    everywhere.

    All hear it, also when one of them raises an error: what happened is stored all the same. The
    first error is raised when they have heard it.
    """
    errors: list[Exception] = []
    for listener in (*_listeners.get(), *_everywhere):
        try:
            listener(event)
        except Exception as error:  # noqa: BLE001 (it is raised below)
            errors.append(error)
    if errors:
        raise errors[0]


def has_listeners() -> bool:
    """Whether anybody listens; lets hot paths skip building events for nobody."""
    return bool(_listeners.get() or _everywhere)


def listeners() -> tuple[Listener, ...]:
    """Those that listen in this context."""
    return _listeners.get()


@contextmanager
def listening_everywhere(listener: Listener) -> Iterator[None]:
    """Let it hear the events of all contexts meanwhile: in a notebook each cell has one of its
    own.
    """
    _everywhere.append(listener)
    try:
        yield
    finally:
        _everywhere.remove(listener)


@contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Let these listeners hear all events of the enclosed work, beside those that listen
    already.
    """
    token = _listeners.set((*_listeners.get(), *listeners))
    try:
        yield
    finally:
        _listeners.reset(token)


class History:
    """Events in order, numbered from 1, with when they were heard.

    How far a document had got is forgotten once it got further, when there is much of that: an
    ingest of 100,000 documents tells of it 800,000 times. Not thread-safe: the owner locks.
    """

    def __init__(self) -> None:
        self._events: list[Recorded] = []
        self._progress, self._most_progress = 0, _PROGRESS
        self.last = 0
        """The number of the last event."""

    def add(self, event: Event) -> Recorded:
        """Add an event that happens now."""
        recorded = Recorded(self.last + 1, time.time(), event)
        self.take(recorded)
        return recorded

    def take(self, recorded: Recorded) -> None:
        """Add an event with its number, which is greater than those before."""
        self._events.append(recorded)
        self.last = recorded.seq
        if isinstance(recorded.event, DocumentProgress):
            self._progress += 1
            if self._progress > self._most_progress:
                self._forget_progress()

    def after(self, seq: int) -> list[Recorded]:
        """The events with a greater number."""
        return self._events[bisect_right(self._events, seq, key=attrgetter("seq")) :]

    def _forget_progress(self) -> None:
        """Forget that of documents that have got further since."""
        latest = {
            recorded.event.document_id: recorded.seq
            for recorded in self._events
            if isinstance(recorded.event, DocumentProgress | DocumentDone)
        }
        self._events = [
            recorded
            for recorded in self._events
            if not isinstance(recorded.event, DocumentProgress)
            or latest[recorded.event.document_id] == recorded.seq
        ]
        self._progress = sum(isinstance(one.event, DocumentProgress) for one in self._events)
        # So that looking through all takes a small share of the time, however many there are.
        self._most_progress = max(_PROGRESS, 2 * self._progress, len(self._events) // 2)
