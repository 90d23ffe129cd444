"""A clock that jumps while a run goes on, back by a day or ahead by years: nothing is lost, counted
twice or shown as taking less than no time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agentkit.events import (
    Event,
    HumanAnswered,
    HumanInputRequested,
    Recorded,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
    Usage,
)
from agentkit.ledger import Ledger, LedgerWriter, RunKey, queries, trace
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import sums, work
from agentkit.messages import new_id
from agentkit.workspace.usage_sql import UsageSql
from tests.ledger.conftest import NOON, OWNER, call

JUMPS = {
    "back by a day": -timedelta(days=1),
    "back to the beginning of time": datetime(1970, 1, 1, 12, tzinfo=UTC) - NOON,
    "ahead by eighty years": timedelta(days=365 * 80),
}
ALL = CallFilter(OWNER)


@pytest.fixture(params=JUMPS)
def run_id(ledger: Ledger, request: pytest.FixtureRequest) -> str:
    """A run in whose midst the clock jumps, and back again before its last call."""
    key, jumped = RunKey(new_id(), OWNER), NOON + JUMPS[request.param]
    told: list[tuple[datetime, Event]] = [
        (NOON, RunStarted("chat", "a run")),
        (NOON + timedelta(seconds=2), call(Usage(100, output=10), cost=0.25)),
        (NOON + timedelta(seconds=2), HumanInputRequested("q", "Writer", "May it?")),
        (NOON + timedelta(seconds=3), ToolCalled("t", "Writer", "look_up", "{}")),
        (jumped, HumanAnswered("q", "approve")),
        (jumped, ToolReturned("t", "Writer", "look_up", True, "found", 0.5)),
        (jumped + timedelta(seconds=1), call(Usage(50, output=5), cost=0.5)),
        (NOON + timedelta(seconds=9), call(Usage(10, output=1), cost=0.125)),
        (jumped + timedelta(seconds=12), RunFinished()),
    ]
    writer = LedgerWriter(ledger, key)
    for number, (at, event) in enumerate(told, start=1):
        writer.write(Recorded(number, at.timestamp(), event))
    return key.id


def test_totals_are_the_same_however_they_are_split(ledger: Ledger, run_id: str) -> None:
    found = sums.measure(ledger, ALL)
    assert (found.calls, found.cost, found.prompt_tokens) == (3, 0.875, 160)
    for hours in (1, 24, 24 * 7):
        series = sums.over_time(ledger, ALL, "cost", "model", "Europe/Berlin", hours, 2)
        assert series.value.sum() == 0.875
    assert sums.by_hour_of_week(ledger, ALL, "cost", "UTC").value.sum() == 0.875
    usage = UsageSql(ledger.database)
    sql = "select sum(cost) as cost, (select min(seconds) from runs) as seconds from calls"
    (row,) = usage.views(OWNER).sql(sql).to_pylist()
    usage.close()
    assert row["cost"] == 0.875
    assert row["seconds"] >= 0


def test_nothing_takes_less_than_no_time(ledger: Ledger, run_id: str) -> None:
    assert work.people(ledger, ALL)["seconds"].min() >= 0
    (run,) = queries.runs(ledger, OWNER)
    assert run["seconds"] >= 0
    told = queries.events(ledger, OWNER, run_id)
    assert [one.seq for one in told] == list(range(1, 10))
    made = trace.build_trace(told)
    assert all(span.seconds >= 0 for span in made.spans)
    assert all(seconds >= 0 for seconds in made.critical_s().values())
