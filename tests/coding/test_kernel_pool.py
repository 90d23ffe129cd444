"""The kernels of a process: how many are alive, who ends, and who is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.coding.chat_kernel import pool as pools
from agentkit.coding.chat_kernel.kernel import CellResult, KernelEnd
from agentkit.coding.chat_kernel.pool import KernelPool
from agentkit.coding.chat_kernel.process import KernelProcess
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import ExecutionError, Stopped
from tests.coding.conftest import SMALL

SLEEP = "print('begun', flush=True)\nimport time\ntime.sleep(1000)"


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Chats:
    """A pool with a folder for each chat."""

    def __init__(self, folder: Path, most: int) -> None:
        self.clock = Clock()
        self.ended: list[tuple[str, str]] = []
        self.pool = KernelPool(most, 1_800, SMALL, self.clock, self._note)
        self.folder = folder

    def _note(self, chat: str, end: KernelEnd) -> None:
        self.ended.append((chat, end.reason))

    def run(self, chat: str, code: str) -> CellResult:
        self.clock.now += 1
        return self.pool.run_cell(chat, self.folder / chat, code)

    def begin(self, chat: str, code: str) -> tuple[threading.Thread, list[CellResult]]:
        """Run a cell in a thread of its own; it is at work when this returns."""
        begun, results = threading.Event(), list[CellResult]()

        def work() -> None:
            folder = self.folder / chat
            results.append(self.pool.run_cell(chat, folder, code, lambda _: begun.set()))

        thread = threading.Thread(target=work)
        thread.start()
        assert begun.wait(60)
        return thread, results


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Chats]:
    chats = Chats(tmp_path, 2)
    with chats.pool:
        yield chats


def test_four_are_alive_and_the_least_recently_used_ends(tmp_path: Path) -> None:
    chats = Chats(tmp_path, pools.MOST_ALIVE)
    with chats.pool as pool:
        for chat in "abcd":
            assert chats.run(chat, f"x = '{chat}'").ok
        assert chats.run("a", "x").text() == "'a'\n"
        assert pool.alive() == ["b", "c", "d", "a"]
        assert chats.run("e", "1").ok
        assert pool.alive() == ["c", "d", "a", "e"]
        assert chats.ended == [("b", "least_used")]
        end = pool.last_end("b")
        assert end is not None
        assert end.reason == "least_used"
        again = chats.run("b", "'x' in dir()")
        assert again.began_after == end
        assert "other chats needed its place" in again.text()
        assert again.text().endswith("False\n")
        assert chats.ended == [("b", "least_used"), ("c", "least_used")]
        assert chats.run("a", "x").text() == "'a'\n"


def test_idle_kernels_end_and_are_told(two: Chats) -> None:
    two.run("a", "x = 1")
    two.clock.now = 1_000
    two.run("b", "x = 2")
    assert two.pool.end_idle() == []
    two.clock.now += 801
    assert two.pool.end_idle() == ["a"]
    assert (two.pool.alive(), two.ended) == (["b"], [("a", "idle")])
    after = two.run("a", "1")
    assert after.began_after is not None
    assert after.began_after.reason == "idle"


def test_looking_at_variables_does_not_count_as_use(two: Chats) -> None:
    two.run("a", "x = 1")
    assert [one.name for one in two.pool.variables("a")] == ["x"]
    assert two.pool.variables("never") == ()
    two.clock.now += 1_801
    assert two.pool.variables("a")
    assert two.pool.end_idle() == ["a"]
    assert two.pool.variables("a") == ()


def test_a_kernel_at_work_is_neither_idle_nor_ended_for_another(two: Chats) -> None:
    worker, results = two.begin("a", SLEEP)
    two.run("b", "x = 1")
    two.clock.now += 10_000
    two.run("c", "x = 1")
    assert two.pool.end_idle() == []
    assert two.ended == [("b", "least_used")]
    assert sorted(two.pool.alive()) == ["a", "c"]
    two.pool.end("a")
    worker.join(60)
    assert [result.end and result.end.reason for result in results] == ["ended"]


def test_who_finds_no_room_waits_and_obeys_a_stop(two: Chats) -> None:
    workers = [two.begin(chat, SLEEP)[0] for chat in "ab"]
    signal = StopSignal()
    stopper = threading.Timer(0.3, signal.set)
    stopper.start()
    with stoppable(signal), pytest.raises(Stopped):
        two.run("c", "1")
    stopper.join()
    waiting = threading.Thread(target=two.run, args=("c", "x = 'came'"))
    waiting.start()
    two.pool.end("a")
    waiting.join(60)
    assert two.run("c", "x").text() == "'came'\n"
    two.pool.end("b")
    for worker in workers:
        worker.join(60)


def test_chats_at_once_are_apart(two: Chats) -> None:
    count = "import time\ntotal = 0\nfor i in range(20):\n    total += {0}\n    time.sleep(.01)\n"
    texts: dict[str, str] = {}

    def work(chat: str, step: int) -> None:
        texts[chat] = two.run(chat, f"{count.format(step)}print(total)").text()

    threads = [threading.Thread(target=work, args=each) for each in (("a", 1), ("b", 100))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {"a": "20\n", "b": "2000\n"}


def test_cells_are_run_again_in_order(two: Chats) -> None:
    cells = ["x = 1", "x += 1", "1 / 0", "x += 1"]
    results = two.pool.run_cells("a", two.folder / "a", cells)
    assert [result.status for result in results] == ["ok", "ok", "error"]
    assert two.run("a", "x").text() == "2\n"


def test_a_chat_that_was_ended_begins_anew(two: Chats) -> None:
    two.run("a", "x = 1")
    two.pool.end("a")
    assert two.pool.alive() == []
    end = two.pool.last_end("a")
    assert end is not None
    assert end.reason == "ended"
    again = two.run("a", "x")
    assert (again.status, again.began_after) == ("error", end)
    two.pool.end("never")


def test_the_kernels_of_a_folder_are_forgotten_and_others_live_on(two: Chats) -> None:
    two.run("a", "x = 1")
    two.run("b", "x = 1")
    two.pool.forget(two.folder / "a")
    assert two.pool.alive() == ["b"]
    assert two.pool.last_end("a") is None
    assert two.run("a", "'x' in dir()").began_after is None
    two.pool.forget(two.folder)
    assert two.pool.alive() == []


def test_a_kernel_that_is_dead_already_is_killed_all_the_same(tmp_path: Path) -> None:
    process = KernelProcess(tmp_path, SMALL)
    try:
        for _ in range(3):
            process.kill()
            while process.alive:
                pass
    finally:
        process.end()


def test_a_cell_dies_with_the_folder_that_is_forgotten(two: Chats) -> None:
    worker, results = two.begin("a", SLEEP)
    two.pool.forget(two.folder / "a")
    worker.join(60)
    assert [result.status for result in results] == ["died"]
    assert two.pool.alive() == []


def test_a_closed_pool_runs_nothing_and_leaves_nothing(two: Chats) -> None:
    worker, results = two.begin("a", SLEEP)
    two.run("b", "1")
    two.pool.close()
    worker.join(60)
    assert [result.status for result in results] == ["died"]
    assert two.pool.alive() == []
    with pytest.raises(ExecutionError, match="closed"):
        two.run("b", "1")


def test_a_kernel_that_died_leaves_its_place(two: Chats) -> None:
    two.run("a", "x = 1")
    assert two.run("b", "import os; os._exit(1)").status == "died"
    assert two.pool.alive() == ["a"]
    two.run("c", "1")
    assert two.ended == []


def test_a_process_has_one_pool() -> None:
    assert pools.shared_pool() is pools.shared_pool()
    assert (pools.MOST_ALIVE, pools.IDLE_S) == (4, 30 * 60)
