"""A million calls: how long the usage page takes, its first figures, each tab and a changed filter,
on one core, and SQL over a million calls of one person: `python -m tests.bench.bench_usage`.

With `--texts` there are five million events, and all that was said, as runs store it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from agentkit.database.asked import read_columns
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import sums
from agentkit.settings import Settings
from agentkit.ui.shared import state
from agentkit.ui.usage.sql_examples import EXAMPLES
from agentkit.workspace.usage_sql import VIEWS, UsageSql
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page
from tests.bench import month
from tests.bench.bench_support import processor

TIMES = 5
FIRST = datetime(2026, 1, 1)  # noqa: DTZ001 (UTC without zone)
ASKING = month.PEOPLE[0]
COLUMNS = {view.name: [one.name for one in view.columns] for view in VIEWS.values()}
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
    measure_page(given.calls, given.texts)
    measure_sql(given.calls)


def measure_page(calls: int, texts: bool) -> None:
    """The usage page of all people."""
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(data=Path(name) / "data", owner=OWNER, usage_of_all=True)
        workspace = ScriptableWorkspace(settings)
        database = workspace.database
        month.fill(database, calls, FIRST, texts=texts, said=texts)
        events, size = database.value("select count(*) from events"), database.bytes() / 1e9
        print(f"{processor()}; {calls:,} calls, {events:,} events, {size:.2f} GB; load {_load()}")
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


def measure_sql(calls: int) -> None:
    """The SQL box of one person who made all calls."""
    with tempfile.TemporaryDirectory() as name:
        workspace = ScriptableWorkspace(Settings(data=Path(name) / "data", owner=ASKING))
        usage = workspace.usage_sql
        month.fill(workspace.database, calls, FIRST, owners=1, texts=False)
        usage.ask(ASKING, "select 1 as started")[0].close()
        for what, sql in {**EXAMPLES, "Everything": "select * from calls"}.items():
            views = list(read_columns(sql, COLUMNS))
            first = _ask(usage, sql, changed=True)
            again = statistics.median(_ask(usage, sql)[0] for _ in range(TIMES))
            print(
                f"SQL, {what} ({', '.join(views)}): first {first[0]:.0f} ms ({first[1]:.0f} of our"
                f" processor time), kept {first[2]:.1f} MB; again {again:.0f} ms"
            )
        print(f"load {_load()}")
        workspace.close()


def _ask(usage: UsageSql, sql: str, changed: bool = False) -> tuple[float, float, float]:
    """Milliseconds by the clock and of this process, and MB that are kept of the views."""
    if changed:
        usage.forget()
    began, busy = time.perf_counter(), time.process_time()
    usage.ask(ASKING, sql)[0].close()
    took, busy = time.perf_counter() - began, time.process_time() - busy
    return took * 1000, busy * 1000, usage.bytes() / 1e6


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
