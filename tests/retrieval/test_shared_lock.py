"""Readers at the same time, one writer in turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agentkit.retrieval.index.shared_lock import SharedLock


@contextmanager
def running(*works: Callable[[], None]) -> Iterator[None]:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


def test_readers_pass_together() -> None:
    lock, together = SharedLock(), threading.Barrier(3)

    def read() -> None:
        with lock.reading():
            together.wait()

    with running(read, read), lock.reading():
        together.wait()


def test_a_writer_is_alone() -> None:
    lock = SharedLock()
    values = [0, 0]
    seen: list[tuple[int, int]] = []

    def read() -> None:
        for _ in range(2_000):
            with lock.reading():
                seen.append((values[0], values[1]))

    with running(read, read):
        for number in range(500):
            with lock.writing():
                values[0] = number
                values[1] = number
    assert all(one == other for one, other in seen)
    assert values == [499, 499]


def test_a_reader_waits_for_one_turn_of_a_writer_at_most() -> None:
    lock = SharedLock()
    entered: list[int] = []

    def read() -> None:
        with lock.reading():
            entered.append(turn)

    for turn in range(100):
        thread = threading.Thread(target=read)
        with lock.writing():
            thread.start()
            while not lock._waiting:
                time.sleep(0)
            assert len(entered) == turn
        with lock.writing():
            assert len(entered) == turn + 1, "it was let in between"
        thread.join()


def test_a_writer_gets_its_turn_among_readers_that_go_on_and_on() -> None:
    lock, written = SharedLock(), threading.Event()

    def read() -> None:
        while not written.is_set():
            with lock.reading():
                pass

    with running(read, read, read):
        for _ in range(100):
            with lock.writing():
                pass
        written.set()


def test_what_raises_lets_go() -> None:
    lock = SharedLock()
    for hold in (lock.reading, lock.writing, lock.reading):
        try:
            with hold():
                raise KeyError
        except KeyError:
            pass
    with lock.writing():
        pass
