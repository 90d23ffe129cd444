"""A million calls: how long the usage page takes, its first figures, each tab and a changed filter,
on one core: `python -m tests.bench.bench_usage`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import sums
from agentkit.settings import Settings
from agentkit.ui.shared import state
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page
from tests.bench import month
from tests.bench.bench_support import processor

TIMES = 5
TABS = (
    "Overview",
    "Calls",
    "Bill",
    "Speed",
    "Errors",
    "Tools",
    "Look-ups",
    "Compression",
    "People",
)


def measure(what: str, work: Callable[[], object]) -> None:
    """Print the median of some runs, by the clock and on the processor."""
    took = []
    for _ in range(TIMES):
        began, busy = time.perf_counter(), time.process_time()
        work()
        took.append((time.perf_counter() - began, time.process_time() - busy))
    clock, busy_s = (statistics.median(one) * 1000 for one in zip(*took, strict=True))
    print(f"{what}: {clock:.0f} ms; {busy_s:.0f} ms of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(description="The usage page over many calls.")
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--texts", action="store_true", help="with the events of the calls")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(data=Path(name) / "data", owner=OWNER, usage_of_all=True)
        workspace = ScriptableWorkspace(settings)
        database = workspace.database
        month.fill(database, given.calls, datetime(2026, 1, 1), texts=given.texts)  # noqa: DTZ001
        size = database.bytes() / 1e9
        print(f"{processor()}; {given.calls:,} calls, {size:.2f} GB")
        database.execute("set threads = 1")
        every = CallFilter(OWNER, everyone=True)
        measure("first figures", lambda: sums.measure(workspace.ledger, every))
        state.use(workspace)
        for tab in TABS:
            app = open_page("usage", days="All", tab=tab)
            measure(f"page, {tab}", app.run)
        for values in ({"model": "gpt-5"}, {"team": "group"}, {"status": "failed"}):
            app = open_page("usage", days="All", **values)
            measure(f"page, {values}", app.run)
        state.close()


if __name__ == "__main__":
    main()
