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

Written by `make bench-peers` on {day}, on {machine}, {system}; load before it began: {load:.1f}.

Each library runs in a process and an environment of its own, on the same data. In each round all do
the task once, one after the other, in turned order; the first round is not counted. A ratio is the
peer's time by ours of the same round: **above 1 agentkit is faster**. Figures are medians of the
rounds, in brackets the quartiles of the ratio. On a busy machine the wall time has the other
programs in it; the processor time, of all threads, less so.
"""

_OTHER_PROCESSORS = """\
## Embedding on other processors

What our embedder computes in follows from what the processor can do (`avx512_bf16` or `amx_bf16`:
bfloat16, else float32), never from a clock. Processor time for the 32 texts above (7,602 tokens),
measured on an AMD EPYC of family 26, model 2, beside other work: as it is; with float32 asked for;
and with both kept to AVX2 (`ONEDNN_MAX_CPU_ISA`, for sentence-transformers `ATEN_CPU_CAPABILITY`
and `MKL_ENABLE_INSTRUCTIONS` as well).

| computed with | ours, s | sentence-transformers, s | ratio | ours, GFLOP/s | the most |
| --- | --- | --- | --- | --- | --- |
| AVX-512, bfloat16 | 0.55 | 2.52 | 4.6 | 327 | 494 |
| AVX-512, float32 | 1.01 | 2.52 | 2.5 | 177 | 267 |
| AVX2, float32 | 1.50 | 2.51 | 1.7 | 119 | 134 |

The most is what a core reaches there in a loop of nothing but multiply-adds. With AVX2 alone ours
is at nine tenths of it, so 2.7 times, which were 192 GFLOP/s, cannot be had in float32: only
numbers of fewer bits would do it, and their vectors are others. sentence-transformers takes as
long with AVX2 as with AVX-512, and has 71 GFLOP/s. What is called AMD EPYC may be of either kind: a
least cosine of 1.00000 between both tells that float32 was computed (as where 1.5 times was
measured before), one of 0.9999x that it was bfloat16.

## Searches at the same time, and while others add

Four threads that search 50,000 chunks by meaning and words, the question's embedding included, do
1.8 times as many as one (1.77 to 2.03 in six rounds) where two cores are theirs alone. A search
takes 5.4 ms of processor time, half of it in the searching thread and half in the model's, so twice
as many are the most on two cores. On a busy machine four threads get a greater part of the
processors than one, and more is measured there (3 times, load 15), or less, where one thread has a
core for itself: 1.3 was such a figure. `setsid -w python -m tests.bench.bench_lookup` as root lets
the bench go first for its rounds.

While 5,000 chunks come to the 50,000, measured in the same way, with the time for which a search's
own thread waited for a processor taken off:

| | before, two runs | now, four runs |
| --- | --- | --- |
| longest search | 31.6, 54 ms | 15.7, 18.6, 19.7, 25 ms |
| 95 of 100 take less than | 14.3 to 14.6 ms | 7.6 to 8.7 ms |
| searches made meanwhile | 204 to 279 | 330 to 465 |

What was waited for before: the rows that hits show, while others were read from the database and
written; the graph, also by who needed vectors alone; and the database, which every search asked
whether something was removed. By the clock some searches still take more than 20 ms (24 to 47 the
longest, load 8): the searching thread, the adding one and the graph's two share two cores, and
Python lets one of them run for 5 ms before another.

Searches wait while new vectors are added to the graph, some at a time. On an AMD EPYC (family 26,
model 2, 2 cores), 5,000 more of 384 dimensions, processor time of one such step; on a busy machine
a step takes as much longer as the machine is shared:

| vectors before | a step, median / longest | all 5,000 | recall@10 |
| --- | --- | --- | --- |
| 20,000, 32 at a time (before) | 7.6 / 13.5 ms | 1.22 s | 0.991 |
| 20,000, 12 at a time | 2.8 / 6.8 ms | 1.18 s | 0.991 |
| 100,000, 12 at a time | 4.0 / 6.5 ms | 1.72 s | 0.995 |

## Memory while taking in

`bench_ingest.py memory`, small documents of one chunk, with a fake embedder instead of the model,
same processor, load 15 to 20:

| documents | peak memory | processor time a document |
| --- | --- | --- |
| 1,000 | 187 MB | 3.7 ms |
| 10,000 | 304 MB | 3.9 ms |
| 100,000 | 937 MB | 3.6 ms |

So memory is not flat: 7 KB for each further document of one chunk. 1.7 KB of them are the graph,
which hnswlib has in memory whole (384 numbers of 4 bytes, and links); vectors that came since the
last save take 1.5 KB more. What takes the rest is not known yet.

## What is not embedding

Processor time of an ingest that is not embedding, same processor, without the process that reads
files: a PDF of 100 pages 12 to 13 % where the model that tells languages was loaded (0.3 s), which
it no longer is for a document that begins plainly English or German; 300 sample texts 22
%, of which cutting into chunks and keeping the originals take most.

## The first page

From starting the server until the first page is drawn the server computes for 2.5 to 2.7 s on this
processor, 1.5 to 1.65 s of it until it answers at all, and its children for 0.2 to 0.6 s (three
starts, load 20). So less than 2 s is not reached here: what is loaded and drawn has to become less.
The wall time told nothing, as the main thread alone waited 16 to 39 s for a processor.

## A search by the command line

Without torch, the model converted: 1.7 s of processor time, 321 MB (median and most of five, load
16; between 1.2 and 1.5 s with less beside it). The limits are 1.5 s and 350 MB.
"""
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
) -> str:
    """The whole page."""
    system = f"{platform.system()}, Python {platform.python_version()}"
    told = {"day": today.isoformat(), "machine": machine, "system": system, "load": load}
    parts = [_INTRODUCTION.format(**told)]
    parts += [_table(task, list(rows)) for task, rows in groupby(measured, lambda one: one.task)]
    parts.append(_OTHER_PROCESSORS)
    parts.append(_list("Where a peer is faster, and why", map(_win, filter(_wins, measured))))
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
