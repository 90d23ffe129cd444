"""The pure parts of `make bench-peers`: ratios, the page, and a peer that fails."""

from __future__ import annotations

import datetime
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.peers import catalogue, driver
from tests.bench.peers.catalogue import Side, Task
from tests.bench.peers.page import LeftOut, Measured, Taken, describe_machine, ratio, write

OURS, PEER = Side("agentkit", "ours"), Side("Other", "other", gains="it keeps nothing.")
WORKS = """
import json
print(json.dumps({"version": ""}), flush=True)
while input():
    print(json.dumps({"wall": 1, "processor": 1, "answer": 7}), flush=True)
"""
TASK = Task("find", "Finding", "Ten of many.", "ms", 1000, OURS, (PEER,), 3)

OWN = "## Embedding on other processors"


def page(measured: list[Measured], left_out: list[LeftOut], before: str = "") -> str:
    return write(measured, left_out, "A chip, 2 cores", 0.5, datetime.date(2026, 11, 24), before)


def measured(ours: list[float], theirs: list[float], task: Task = TASK) -> Measured:
    our, their = ([Taken(one, one) for one in some] for some in (ours, theirs))
    return Measured(task, PEER, "1.2", our, their, "0.99", "0.95")


def test_ratios_are_taken_round_by_round() -> None:
    """The second round met a busy machine, which both had to bear."""
    found = ratio([2.0, 30.0, 2.0, 4.0, 1.0], [1.0, 10.0, 1.0, 1.0, 1.0])
    assert found == (2.0, 2.0, 3.0)
    assert str(found) == "2 (2 to 3)"
    assert ratio([3.0], [2.0]) == (1.5, 1.5, 1.5)


def test_the_table_has_medians_in_the_units_of_the_task() -> None:
    table = page([measured([0.001, 0.002, 0.009], [0.002, 0.006, 0.018])], [])
    assert "| peer | ours, ms | peer, ms | ratio |" in table
    assert "| Other (1.2) | 2 | 6 | 2 (2 to 2.5) |" in table
    assert "A chip, 2 cores" in table
    assert "2026-11-24" in table
    assert "0.95" not in table  # this task is not judged


def test_what_was_measured_without_peers_stays() -> None:
    """On the page as it stands, what is written anew has the same sections once more."""
    before = (driver.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    own = before[before.index(OWN) : before.index("## Where a peer is faster")]
    once = page([measured([1.0], [2.0])], [], before)
    assert own in once
    assert page([measured([1.0], [2.0])], [], once) == once


def test_a_judged_task_has_both_qualities() -> None:
    judged = replace(TASK, quality="recall", judge=lambda *_: "")
    table = page([measured([1.0], [2.0], judged)], [])
    assert "| recall, ours | recall, peer |" in table
    assert table.count("| 0.99 | 0.95 |") == 1


def test_a_peer_that_is_faster_is_told_with_the_reason() -> None:
    def told(ours: float, theirs: float) -> str:
        return page([measured([ours], [theirs])], []).partition("## Where a peer is faster")[2]

    assert "Finding, Other (0.5 of our wall time" in told(2.0, 1.0)
    assert "it keeps nothing." in told(2.0, 1.0)
    assert "Other" not in told(1.0, 2.0)


def test_who_fails_is_left_out_and_told(tmp_path: Path) -> None:
    """Ours answers; one peer ends at once, another cannot be installed."""
    (tmp_path / "works.py").write_text(WORKS)
    (tmp_path / "ends.py").write_text("raise SystemExit('no such model')")
    peers = (replace(PEER, module="ends"), replace(PEER, module="none", environment="x"))
    ours, also = replace(OURS, module="works"), replace(PEER, module="works")

    def command(side: Side, _folder: Path) -> list[str]:
        if side.environment:
            raise driver.PeerFailed("it is not for this machine")
        return [sys.executable, str(tmp_path / f"{side.module}.py")]

    with driver.Group(tmp_path, command) as group:
        figures, failed = group.measure(replace(TASK, ours=ours, peers=(*peers, also)))

    assert [(one.peer.module, len(one.theirs)) for one in figures] == [("works", 3)]
    told = page(figures, failed)
    assert "- Finding, Other: `no such model`" in told
    assert "- Finding, Other: `it is not for this machine`" in told


def test_an_installation_that_fails_is_the_peers() -> None:
    with pytest.raises(driver.PeerFailed, match="nothing-here"):
        driver.run([sys.executable, "-c", "raise SystemExit('nothing-here')"])


def test_every_side_is_there_and_pins_its_packages() -> None:
    sides = Path(catalogue.__file__).parent / "sides"
    every = [task for group in catalogue.tasks(100) for task in group]
    for side in {side for task in every for side in (task.ours, *task.peers)}:
        assert (sides / f"{side.module}.py").is_file()
        assert bool(side.environment) is bool(side.pins)
        assert all("==" in pin for pin in side.pins)


def test_the_processor_is_named_with_what_decides_its_speed(tmp_path: Path) -> None:
    about = tmp_path / "cpuinfo"
    one = "cpu family : 26\nmodel : 2\nmodel name : A chip: fast\nflags : fpu amx_bf16 avx2 sse\n"
    about.write_text(f"processor : 0\n{one}\nprocessor : 1\nmodel name : Another\n")
    assert describe_machine(about).startswith("A chip: fast, family 26, model 2, avx2, amx_bf16, ")
    assert describe_machine(tmp_path / "none")
