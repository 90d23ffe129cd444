"""Events reach whoever listens around the work, in this context and in no other."""

from __future__ import annotations

import contextvars
import threading

import pytest

from agentkit.core import bus
from agentkit.events import Event, RunFinished, RunStarted


def test_without_listeners_nothing_happens() -> None:
    bus.emit(RunStarted("chat"))


def test_inner_and_outer_listeners_hear_in_the_order_in_which_they_began() -> None:
    heard: list[tuple[str, Event]] = []
    first, second = RunStarted("chat"), RunFinished()
    with bus.listening(lambda event: heard.append(("outer", event))):
        with bus.listening(lambda event: heard.append(("inner", event))):
            bus.emit(first)
        bus.emit(second)
    bus.emit(first)
    assert heard == [("outer", first), ("inner", first), ("outer", second)]


def test_a_listener_that_raises_keeps_no_other_from_hearing() -> None:
    heard: list[Event] = []

    def fail(event: Event) -> None:
        raise RuntimeError(f"{len(heard)} heard before")

    listening = bus.listening(fail, heard.append, fail, heard.append)
    with listening, pytest.raises(RuntimeError, match="0 heard before"):
        bus.emit(RunStarted("chat"))
    assert heard == [RunStarted("chat"), RunStarted("chat")]


def test_a_thread_hears_only_with_a_copied_context() -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        copied = contextvars.copy_context()
        for target in (
            lambda: bus.emit(RunStarted("alone")),
            lambda: copied.run(bus.emit, RunStarted("copied")),
        ):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert heard == [RunStarted("copied")]


def test_the_listeners_go_when_the_block_fails() -> None:
    heard: list[Event] = []
    try:
        with bus.listening(heard.append):
            raise RuntimeError("inside")
    except RuntimeError:
        bus.emit(RunStarted("after"))
    assert heard == []
