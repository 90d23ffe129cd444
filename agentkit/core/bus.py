"""The context-local event bus: whoever listens around a piece of work hears what happens in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from agentkit.events import Event

Listener = Callable[[Event], None]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("agentkit_listeners", default=())


def emit(event: Event) -> None:
    """Tell every listener of this context, in the order in which they began to listen."""
    for listener in _listeners.get():
        listener(event)


def heard() -> bool:
    """Whether anybody listens; lets hot paths skip building events for nobody."""
    return bool(_listeners.get())


@contextmanager
def listening(*listeners: Listener) -> Iterator[None]:
    """Let these listeners hear all events of the enclosed work, beside those that listen already."""
    token = _listeners.set((*_listeners.get(), *listeners))
    try:
        yield
    finally:
        _listeners.reset(token)
