"""The context-local event bus: whoever listens around a piece of work hears what happens in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from agentkit.events import Event

Listener = Callable[[Event], None]

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
