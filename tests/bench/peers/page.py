"""What was measured, as a page of tables."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tests.bench.peers.catalogue import Side, Task

_INTRODUCTION = """\
# Against others

The tables of peers are written by `make bench-peers`; what stands from *Embedding on other
processors* to *A search by the command line* was measured apart from that, and stays as it is.
Written on {day}, on {machine}, {system}; load before it began: {load:.1f}.

Each library runs in a process and an environment of its own, on the same data. In each round all do
the task once, one after the other, in turned order; the first round is not counted. A ratio is the
peer's time by ours of the same round: **above 1 agentkit is faster**. Figures are medians of the
rounds, in brackets the quartiles of the ratio. On a busy machine the wall time has the other
programs in it; the processor time, of all threads, less so.
"""

_OWN, _WINS = "## Embedding on other processors", "## Where a peer is faster, and why"
"""Between them stands what was measured without peers."""
_TELLING_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
"""What decides how fast models are computed."""


class Taken(NamedTuple):
    """Seconds of one round."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Measured:
    """A peer's rounds and ours."""

    task: Task
    peer: Side
    version: str
    ours: Sequence[Taken]
    theirs: Sequence[Taken]
    our_quality: str = ""
    their_quality: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A peer that has failed, and what it said."""

    task: Task
    peer: Side
    why: str


class Ratio(NamedTuple):
    """The median of the rounds, and the quartiles."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        low, middle, high = (figures(one) for one in (self.low, self.middle, self.high))
        return f"{middle} ({low} to {high})"


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Of the rounds, each by each."""
    found = [one / other for one, other in zip(theirs, ours, strict=True)]
    if len(found) == 1:
        return Ratio(*found * 3)
    low, middle, high = statistics.quantiles(found, n=4, method="inclusive")
    return Ratio(middle, low, high)


def figures(number: float) -> str:
    """With as many places as tell something."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def write(
    measured: Sequence[Measured],
    left_out: Sequence[LeftOut],
    machine: str,
    load: float,
    today: datetime.date,
    before: str,
) -> str:
    """The whole page; what was measured without peers is taken over from the page before."""
    system = f"{platform.system()}, Python {platform.python_version()}"
    told = {"day": today.isoformat(), "machine": machine, "system": system, "load": load}
    parts = [_INTRODUCTION.format(**told)]
    parts += [_table(task, list(rows)) for task, rows in groupby(measured, lambda one: one.task)]
    parts.append(f"{_OWN}{before.partition(_OWN)[2].partition(_WINS)[0]}".rstrip() + "\n")
    parts.append(_list(_WINS.removeprefix("## "), map(_win, filter(_wins, measured))))
    parts.append(_list("Left out", map(_failure, left_out)))
    return "\n".join(parts)


def _table(task: Task, rows: Sequence[Measured]) -> str:
    head = ["peer", f"ours, {task.unit}", f"peer, {task.unit}", "ratio"]
    head += ["ours, processor", "peer, processor", "ratio, processor"]
    if task.judge:
        head += [f"{task.quality}, ours", f"{task.quality}, peer"]
    lines = [head, ["---"] * len(head), *(_row(one)[: len(head)] for one in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {task.title}\n\n{task.about}\n\n{table}\n"


def _row(one: Measured) -> list[str]:
    cells = [f"{one.peer.name} ({one.version})"]
    for clock in (_wall, _processor):
        ours, theirs = [clock(r) for r in one.ours], [clock(r) for r in one.theirs]
        middles = (statistics.median(some) * one.task.per_unit for some in (ours, theirs))
        cells += [*map(figures, middles), str(ratio(theirs, ours))]
    return [*cells, one.our_quality, one.their_quality]


def _wall(taken: Taken) -> float:
    return taken.wall


def _processor(taken: Taken) -> float:
    return taken.processor


def _by(one: Measured, clock: Callable[[Taken], float]) -> float:
    return ratio([clock(r) for r in one.theirs], [clock(r) for r in one.ours]).middle


def _wins(one: Measured) -> bool:
    return min(_by(one, _wall), _by(one, _processor)) < 1


def _win(one: Measured) -> str:
    times = f"{figures(_by(one, _wall))} of our wall time"
    times += f", {figures(_by(one, _processor))} of our processor time"
    why = f"{one.peer.gains or 'not known why.'} {one.task.beside}".strip()
    return f"{one.task.title}, {one.peer.name} ({times}): {why}"


def _failure(one: LeftOut) -> str:
    return f"{one.task.title}, {one.peer.name}: `{one.why.replace('`', '')}`"


def _list(title: str, lines: Iterable[str]) -> str:
    listed = "\n".join(f"- {line}" for line in lines) or "None."
    return f"## {title}\n\n{listed}\n"


def describe_machine(about: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name, which one of that name it is, what it computes with, and how many cores
    there are: virtual machines tell of many processors as `AMD EPYC`.
    """
    known = _read_first_processor(about)
    name = known.get("model name") or platform.processor() or platform.machine()
    parts = [name]
    if "cpu family" in known:
        parts.append(f"family {known['cpu family']}, model {known.get('model', '?')}")
    flags = set(known.get("flags", "").split())
    parts += [flag for flag in _TELLING_FLAGS if flag in flags]
    return ", ".join([*parts, f"{os.cpu_count()} cores"])


def _read_first_processor(about: Path) -> dict[str, str]:
    """What Linux tells of it."""
    if not about.is_file():
        return {}
    lines = about.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    halves = (line.partition(":") for line in lines)
    return {name.strip(): told.strip() for name, _, told in halves}
