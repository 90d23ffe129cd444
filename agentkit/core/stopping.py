"""Stopping a run from another thread: the work looks now and then, or leaves a callback that frees
what it waits for.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import NoReturn, TypeVar

from agentkit.errors import Stopped

T = TypeVar("T")
_GRACE_S = 0.5
"""How long something may take to end by itself once it was told to stop."""


class StopSignal:
    """Set once, by whoever wants the work to end; callbacks run in that caller's thread."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether the work was told to stop."""
        return self._set.is_set()

    def set(self) -> None:
        """Tell the work to stop and run the callbacks, all of them even if one raises; a second
        call does nothing.
        """
        with self._lock:
            if self._set.is_set():
                return
            self._set.set()
            callbacks = list(self._callbacks)
        with ExitStack() as stack:
            for callback in reversed(callbacks):
                stack.callback(callback)

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; True when told to stop meanwhile."""
        return self._set.wait(seconds)

    @contextmanager
    def on_stop(self, callback: Callable[[], None]) -> Iterator[None]:
        """While the block runs, a stop calls `callback` (close the stream, kill the child); at once
        if already set.
        """
        with self._lock:
            already = self._set.is_set()
            self._callbacks.append(callback)
        try:
            if already:
                callback()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)


_current: ContextVar[StopSignal | None] = ContextVar("agentkit_stop", default=None)


def current() -> StopSignal:
    """The signal of the enclosing run; outside of runs one that nobody sets."""
    return _current.get() or StopSignal()


def check() -> None:
    """Raise Stopped when the enclosing run was told to stop."""
    signal = _current.get()
    if signal is not None and signal.is_set:
        raise Stopped("stopped by the user")


def call_or_leave(function: Callable[[], T]) -> T:
    """Call it and give its result; when the enclosing run is stopped, wait no longer than a moment.

    Then it is left behind, on a thread of its own, and what it gives later is thrown away. Raises
    Stopped for it, and what the function raises.
    """
    signal = _current.get()
    if signal is None:
        return function()
    outcome: list[Callable[[], T]] = []
    ended = threading.Event()

    def work() -> None:
        try:
            result = function()
            outcome.append(lambda: result)
        except BaseException as error:  # noqa: BLE001 (raised where it was called)
            outcome.append(partial(_raise, error))
        finally:
            ended.set()

    def give_up() -> None:
        ended.wait(_GRACE_S)
        ended.set()

    context = contextvars.copy_context()
    name = f"agentkit-{threading.current_thread().name}-tool"
    threading.Thread(target=context.run, args=(work,), name=name, daemon=True).start()
    with signal.on_stop(give_up):
        ended.wait()
    if not outcome:
        raise Stopped("stopped; the function did not come back and was left behind")
    return outcome[0]()


def _raise(error: BaseException) -> NoReturn:
    raise error


@contextmanager
def keeping(output: Callable[[], str]) -> Iterator[None]:
    """Let a stop in the block carry this output, before what it carries already."""
    try:
        yield
    except Stopped as stopped:
        stopped.output = output() + stopped.output
        raise


@contextmanager
def stoppable(signal: StopSignal) -> Iterator[None]:
    """Make `signal` the one that the enclosed work obeys."""
    token = _current.set(signal)
    try:
        yield
    finally:
        _current.reset(token)
