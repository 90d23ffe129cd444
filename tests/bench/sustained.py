"""Events of several runs at once at a steady pace, and whether the ledger has all of them.

By hand, ten minutes of 200 a second: `python -m tests.bench.sustained --minutes 10`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from agentkit.database import Database
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    RunFinished,
    RunStarted,
    SpeakerSelected,
    TokenDelta,
    ToolCalled,
    ToolReturned,
    Usage,
)
from agentkit.ledger import Ledger, LedgerWriter, RunKey, queries
from agentkit.messages import new_id
from tests.bench.bench_support import processor

OWNER, RUNS, A_SECOND = "ann", 4, 200
TEXT = "The warranty of a pump ends two years after it was delivered. " * 5
ASKED = [{"role": "user", "content": TEXT}]
AT = 1_770_000_000.0
_TOLD, _STORED = 7, 6
"""Events of a step, and those of them that are kept: pieces of a reply are not."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What was told to the ledger, and what it has."""

    told: int
    events: int
    calls: int
    messages: int
    gaps: int
    """Runs whose events are not all there, each once and in order."""
    behind_s: float
    """How far the last event came after its time."""


def steps(number: int) -> Iterator[Event]:
    """A call with a streamed reply, what was said, and a tool."""
    call, tool = new_id(), new_id()
    yield SpeakerSelected("chat_manager", "Writer", "auto", number)
    yield ModelCalled(
        call, "Writer", "server", "small", messages=[{"role": "user", "content": TEXT}]
    )
    yield TokenDelta(TEXT[:40], "Writer", call)
    yield ModelReplied(call, "Writer", "server", "small", text=TEXT, usage=Usage(100, output=20))
    yield MessageSent(new_id(), None, "Writer", "team", "assistant", TEXT)
    yield ToolCalled(tool, "Writer", "look_up", "{}")
    yield ToolReturned(tool, "Writer", "look_up", True, TEXT, 0.1)


def tell(ledger: Ledger, key: RunKey, rounds: int, wait: Callable[[int], None]) -> int:
    """Write the events of a run, each when its time has come; returns how many are to be stored."""
    writer = LedgerWriter(ledger, key)
    events = [event for number in range(rounds) for event in steps(number)]
    told = [RunStarted("chat", "a run"), *events, RunFinished()]
    for number, event in enumerate(told, start=1):
        wait(number)
        writer.write(Recorded(number, AT + number, event))
    return sum(not isinstance(event, TokenDelta) for event in told)


def sustain(ledger: Ledger, rounds: int, pace: float = 0.0) -> Kept:
    """Tell the ledger of some runs at once, with `pace` events a second in all that are stored; 0
    for as fast as it goes.
    """
    chat = ledger.create_chat(OWNER, "t", "answer", "small", "")
    keys = [RunKey(new_id(), OWNER, chat.id, new_id()) for _ in range(RUNS)]
    began = time.monotonic()
    each = RUNS / pace * _STORED / _TOLD if pace else 0.0

    def wait(number: int) -> None:
        if each:
            time.sleep(max(0.0, began + number * each - time.monotonic()))

    with ThreadPoolExecutor(RUNS) as pool:
        told = list(pool.map(lambda key: tell(ledger, key, rounds, wait), keys))
    last = (rounds * _TOLD + 2) * each
    behind = time.monotonic() - began - last if each else 0.0
    return _count(ledger, keys, sum(told), behind)


def _count(ledger: Ledger, keys: list[RunKey], told: int, behind: float) -> Kept:
    stored = {
        key.id: [one.seq for one in queries.events(ledger, OWNER, key.id, with_requests=False)]
        for key in keys
    }  # as a page reads them
    gaps = sum(len(set(seqs)) * RUNS != told or seqs != sorted(seqs) for seqs in stored.values())
    events, calls, messages = (
        ledger.database.value(f"select count(*) from {name}")
        for name in ("events", "llm_calls", "messages")
    )
    return Kept(told, events, calls, messages, gaps, behind)


def main() -> None:
    """Tell for some minutes what the ledger has to keep, and fail when something is lost."""
    parser = argparse.ArgumentParser(description="Events at a steady pace.")
    parser.add_argument("--minutes", type=float, default=10.0)
    given = parser.parse_args()
    rounds = round(given.minutes * 60 * A_SECOND / RUNS / _STORED)
    with tempfile.TemporaryDirectory() as name:
        ledger = Ledger(Database(Path(name) / "agentkit.duckdb"))
        busy = time.process_time()
        kept = sustain(ledger, rounds, A_SECOND)
        busy = time.process_time() - busy
        size = ledger.database.bytes() / 1e6
        ledger.database.close()
    sys.stdout.write(f"{processor()} at load {os.getloadavg()[0]:.1f}: {kept}; {size:.0f} MB; ")
    sys.stdout.write(f"{busy / kept.told * 1000:.2f} ms of processor time an event\n")
    sys.exit(kept.gaps or kept.told != kept.events)


if __name__ == "__main__":
    main()
