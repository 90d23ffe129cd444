"""Calls that are priced anew: the change is shown first, what is known stays known, and all of it
can be taken back.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from agentkit.core.rates import Rates
from agentkit.errors import NotFound
from agentkit.events import ModelReplied, Usage
from agentkit.ledger import Ledger, queries
from agentkit.ledger.bill.bill import Bill
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.ledger.bill.repricing import Price, find_changes, list_repricings, price_anew, undo
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.spending import Window
from tests.ledger.conftest import NOON, OWNER, call, record

ALL = CallFilter(OWNER)
USAGE = Usage(input=1_000_000)


@pytest.fixture
def price(bill: Bill) -> Price:
    """By what was entered alone."""

    def find(model: str, provider: str, usage: Usage, at: datetime) -> float | None:
        rates = bill.prices.find(model, provider, at)
        return rates.cost(usage) if rates else None

    return find


def enter(bill: Bill, dollars: float, from_day: date | None = None) -> None:
    bill.prices.enter(OwnPrice("server", "small", Rates(dollars, 0, 0, 0), from_day))


def costs(ledger: Ledger) -> list[float | None]:
    rows = ledger.database.rows("select cost from llm_calls order by finished_at, id")
    return [row["cost"] for row in rows]


def told(ledger: Ledger, run_id: str) -> list[float | None]:
    events = [one.event for one in queries.events(ledger, OWNER, run_id)]
    return [one.cost for one in events if isinstance(one, ModelReplied)]


def test_the_change_is_shown_made_and_taken_back(ledger: Ledger, bill: Bill, price: Price) -> None:
    run = record(ledger, [call(USAGE), call(USAGE, cost=1.0), call(USAGE, model="unknown")])
    later = NOON + timedelta(days=2)
    record(ledger, [call(USAGE, cost=1.0)], at=later)
    assert find_changes(ledger, ALL, price) == []
    assert price_anew(ledger, ALL, price) is None
    enter(bill, 2.0)
    enter(bill, 4.0, later.date())
    (change,) = find_changes(ledger, ALL, price)
    assert (change.calls, change.before, change.unknown, change.after) == (3, 2.0, 1, 8.0)
    assert costs(ledger).count(None) == 2, "nothing is changed so far"

    made = price_anew(ledger, ALL, price)
    assert made is not None
    assert (made.calls, made.before, made.after) == (3, 2.0, 8.0)
    assert sorted(filter(None, costs(ledger))) == [2.0, 2.0, 4.0]
    assert sorted(told(ledger, run), key=str) == [2.0, 2.0, None]
    assert queries.totals(ledger, ALL).cost == 8.0
    assert ledger.spending.measure(Window(OWNER)).dollars == 8.0
    assert price_anew(ledger, ALL, price) is None

    undo(ledger, OWNER, made.id)
    assert sorted(filter(None, costs(ledger))) == [1.0, 1.0]
    assert sorted(told(ledger, run), key=str) == [1.0, None, None]
    assert ledger.spending.measure(Window(OWNER)).dollars == 2.0
    (stored,) = list_repricings(ledger, OWNER)
    assert stored.undone_at is not None
    with pytest.raises(NotFound):
        undo(ledger, OWNER, made.id)
    with pytest.raises(NotFound):
        undo(ledger, "somebody else", made.id)


def test_what_was_free_or_chosen_away_keeps_what_it_has(
    ledger: Ledger, bill: Bill, price: Price
) -> None:
    enter(bill, 2.0)
    cached = replace(call(USAGE, cost=0.0), status="cached")
    record(ledger, [cached, call(Usage(), cost=0.0)])
    record(ledger, [call(USAGE)], owner="somebody else")
    early = NOON.replace(tzinfo=None) - timedelta(days=1)
    record(ledger, [call(USAGE)])
    assert find_changes(ledger, replace(ALL, until=early), price) == []
    made = price_anew(ledger, ALL, price)
    assert made is not None
    assert made.calls == 1
    assert made.applied_at.replace(tzinfo=UTC) <= datetime.now(UTC)
