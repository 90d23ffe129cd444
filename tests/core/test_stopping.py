"""Stopping: set once, callbacks once, and never one for work that is already over."""

from __future__ import annotations

import threading

import pytest

from agentkit.core import stopping
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import Stopped


def test_outside_of_runs_nothing_stops() -> None:
    stopping.check()
    assert not stopping.current().is_set
    assert stopping.current() is not stopping.current()


def test_check_raises_once_the_signal_is_set() -> None:
    signal = StopSignal()
    with stoppable(signal):
        stopping.check()
        assert stopping.current() is signal
        signal.set()
        with pytest.raises(Stopped):
            stopping.check()
    stopping.check()


def test_a_callback_runs_once_and_only_while_its_block_runs() -> None:
    signal, calls = StopSignal(), list[str]()
    with signal.on_stop(lambda: calls.append("over")):
        pass
    with signal.on_stop(lambda: calls.append("inside")):
        signal.set()
        signal.set()
    assert calls == ["inside"]


def test_a_failing_callback_keeps_no_other_from_running() -> None:
    signal, calls = StopSignal(), list[str]()

    def fail() -> None:
        raise OSError("gone")

    first, last = (lambda: calls.append("first")), (lambda: calls.append("last"))
    with (
        signal.on_stop(first),
        signal.on_stop(fail),
        signal.on_stop(last),
        pytest.raises(OSError, match="gone"),
    ):
        signal.set()
    assert calls == ["first", "last"]


def test_a_callback_that_comes_late_runs_at_once() -> None:
    signal, calls = StopSignal(), list[str]()
    signal.set()
    with signal.on_stop(lambda: calls.append("late")):
        assert calls == ["late"]


def test_a_failing_late_callback_is_taken_off_again() -> None:
    signal = StopSignal()
    signal.set()

    def fail() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"), signal.on_stop(fail):
        pytest.fail("the block must not run")
    assert signal._callbacks == []


def test_stop_frees_a_thread_that_waits() -> None:
    signal, freed = StopSignal(), threading.Event()

    def wait() -> None:
        with signal.on_stop(freed.set):
            freed.wait(120)
            assert signal.wait(120)

    thread = threading.Thread(target=wait)
    thread.start()
    signal.set()
    thread.join(120)
    assert not thread.is_alive()
    assert freed.is_set()


def test_what_does_not_come_back_is_left_behind() -> None:
    signal, begun, go_on = StopSignal(), threading.Event(), threading.Event()
    late: list[str] = []

    def hang() -> str:
        begun.set()
        go_on.wait()
        late.append("came back")
        return "too late"

    def stop() -> None:
        begun.wait()
        signal.set()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped, match="left behind"):
        stopping.call_or_leave(hang)
    assert late == []
    go_on.set()
    stopper.join()


def test_what_ends_by_itself_when_it_is_stopped_gives_its_result() -> None:
    signal = StopSignal()

    def work() -> str:
        signal.wait(60)
        return "what there was"

    with stoppable(signal):
        stopper = threading.Timer(0.01, signal.set)
        stopper.start()
        assert stopping.call_or_leave(work) == "what there was"
        stopper.join()


def test_results_and_errors_come_through_and_outside_of_runs_nothing_else_is_done() -> None:
    def fail() -> None:
        raise KeyError("missing")

    assert stopping.call_or_leave(threading.current_thread) is threading.current_thread()
    with stoppable(StopSignal()):
        assert stopping.call_or_leave(lambda: 7) == 7
        with pytest.raises(KeyError, match="missing"):
            stopping.call_or_leave(fail)
