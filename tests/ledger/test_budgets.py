"""Own prices and budgets as they are kept: what counts when, what cannot be, and what a clock that
jumps does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from agentkit.core.rates import FREE, Rates
from agentkit.errors import NotFound, WrongArgument
from agentkit.events import Usage
from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill, Purse
from agentkit.ledger.bill.budgets import Budget, Scope, Standing, find_period
from agentkit.ledger.bill.course import find_courses
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.ledger.spending import Window
from tests.ledger.conftest import OWNER, call, record

DEAR = Rates(10.0, 40.0, 1.0, 12.0)
CHEAP = Rates(1.0, 4.0, 0.1, 1.0)
GATEWAY = "gateway.example:8000"
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC).replace(tzinfo=None)


def at(day: int) -> datetime:
    return datetime(2026, 3, day, 12, tzinfo=UTC)


def test_a_million_of_each_bucket_costs_its_price() -> None:
    usage = Usage(input=1_000_000, cache_read=2_000_000, cache_write=500_000, output=1, reasoning=1)
    assert DEAR.cost(usage) == pytest.approx(10 + 2 + 6 + 2 * 40 / 1_000_000)


def test_a_price_counts_on_its_days_for_its_model_before_all_others(bill: Bill) -> None:
    book = bill.prices
    assert book.find("m", GATEWAY, at(1)) is None
    book.enter(OwnPrice(GATEWAY, "", FREE))
    old = book.enter(OwnPrice(GATEWAY, "m", DEAR, until_day=date(2026, 3, 5)))
    book.enter(OwnPrice(GATEWAY, "m", CHEAP, from_day=date(2026, 3, 6)))
    assert [book.find("m", GATEWAY, at(day)) for day in (1, 5, 6)] == [DEAR, DEAR, CHEAP]
    assert book.find("m-2026-01-31", GATEWAY, at(6)) == CHEAP, "servers add a date to the name"
    assert book.find("other", GATEWAY, at(6)) == FREE
    assert book.find("m", "another.example", at(6)) is None
    book.remove(old.id)
    assert book.find("m", GATEWAY, at(5)) == FREE
    assert [one.removed_at is None for one in book.history()].count(False) == 1
    with pytest.raises(NotFound):
        book.remove(old.id)


@pytest.mark.parametrize("amount", [-1.0, math.nan, math.inf, 1e9])
def test_a_price_that_cannot_be_is_refused(bill: Bill, amount: float) -> None:
    with pytest.raises(WrongArgument):
        bill.prices.enter(OwnPrice(GATEWAY, "m", Rates(1.0, amount, 1.0, 1.0)))
    assert bill.prices.history() == []


def test_a_price_needs_a_server_and_days_in_order(bill: Bill) -> None:
    with pytest.raises(WrongArgument, match="no server"):
        bill.prices.enter(OwnPrice(" ", "m", DEAR))
    with pytest.raises(WrongArgument, match="before it begins"):
        bill.prices.enter(
            OwnPrice(GATEWAY, "m", DEAR, date(2026, 3, 5), date(2026, 3, 4)),
        )


@pytest.mark.parametrize(
    "wrong",
    [
        Budget("day", "dollars", -1.0),
        Budget("day", "dollars", math.nan),
        Budget("year", "dollars", 1.0),  # type: ignore[arg-type]  # what a program may give
        Budget("day", "euros", 1.0),  # type: ignore[arg-type]  # what a program may give
        Budget("day", "dollars", 1.0, warn_at=1.5),
        Budget("day", "dollars", 1.0, zone="Nowhere/Land"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(bill: Bill, wrong: Budget) -> None:
    with pytest.raises(WrongArgument):
        bill.budgets.enter(wrong)
    assert bill.budgets.history() == []


def test_a_budget_takes_the_place_of_the_one_before_it(bill: Bill) -> None:
    budgets = bill.budgets
    budgets.enter(Budget("month", "dollars", 100.0), OWNER)
    budgets.enter(Budget("day", "dollars", 5.0, owner=OWNER), OWNER)
    new = budgets.enter(Budget("month", "dollars", 120.0), OWNER)
    assert [(one.scope, one.amount) for one in budgets.entries()] == [("day", 5.0), ("month", 120)]
    assert [one.id for one in budgets.entries("somebody else")] == [new.id]
    assert len(budgets.history()) == 3
    budgets.remove(new.id)
    with pytest.raises(NotFound):
        budgets.find(new.id)


@pytest.mark.parametrize(
    ("scope", "zone", "begin", "hours"),
    [
        ("day", "UTC", "2026-03-10T00:00", 24),
        ("day", "Europe/Berlin", "2026-03-09T23:00", 24),
        ("month", "UTC", "2026-03-01T00:00", 31 * 24),
        ("month", "Europe/Berlin", "2026-02-28T23:00", 31 * 24 - 1),  # summer time begins
    ],
)
def test_days_and_months_are_those_of_a_zone(
    scope: Scope, zone: str, begin: str, hours: int
) -> None:
    budget = Budget(scope, "tokens", 1.0, zone=zone)
    since, until = find_period(budget, NOON)
    assert since.isoformat(timespec="minutes") == begin
    assert until - since == timedelta(hours=hours)


def test_the_day_of_a_longer_night_is_whole() -> None:
    autumn = datetime(2026, 10, 25, 12, tzinfo=UTC).replace(tzinfo=None)
    since, until = find_period(Budget("day", "tokens", 1.0, zone="Europe/Berlin"), autumn)
    assert until - since == timedelta(hours=25)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def test_a_clock_that_jumps_has_the_budget_of_the_day_that_it_says(
    bill: Bill, ledger: Ledger
) -> None:
    clock = Clock(NOON)
    bill.budgets.enter(Budget("day", "tokens", 100.0))
    purse = Purse(bill.budgets, bill.spending, OWNER, clock=clock)

    def store(call_id: str, tokens: int) -> bool:
        outcome = purse.reserve(call_id, tokens, None)
        if outcome.refused is None:
            purse.release(call_id)
            record(ledger, [call(Usage(input=tokens))], at=clock.now.replace(tzinfo=UTC))
        return outcome.refused is None

    assert store("1", 90)
    assert not store("2", 20)
    clock.now = NOON + timedelta(days=1)
    assert store("3", 60), "another day"
    clock.now = NOON
    assert not store("4", 20), "the day before is used up, as it was"
    assert store("5", 10)
    clock.now = NOON + timedelta(days=400)
    assert store("6", 100)
    clock.now = NOON + timedelta(days=1)
    (standing,) = purse.standings()
    assert (standing.used, standing.share) == (60, 0.6)


def test_a_chat_goes_beyond_a_budget_that_was_raised_for_it_that_day(bill: Bill) -> None:
    clock = Clock(NOON)
    budget = bill.budgets.enter(Budget("day", "tokens", 100.0))
    mine = Purse(bill.budgets, bill.spending, OWNER, "mine", clock=clock)
    other = Purse(bill.budgets, bill.spending, OWNER, "other", clock=clock)
    assert mine.reserve("1", 120, None).refused is not None
    bill.budgets.raise_for_chat(budget.id, "mine", 150.0, NOON)
    refused = other.reserve("2", 120, None).refused
    assert refused is not None
    assert (refused.used, refused.limit) == (120, 100)
    assert mine.reserve("1", 120, None).refused is None
    mine.release("1")
    clock.now = NOON + timedelta(days=1)
    assert mine.reserve("1", 120, None).refused is not None, "a new day has its own"
    bill.budgets.raise_for_all(budget.id, 200.0, OWNER)
    assert other.reserve("2", 120, None).refused is None


def test_who_may_not_raise_it_for_all_raises_it_for_a_chat_only(bill: Bill) -> None:
    budget = bill.budgets.enter(Budget("chat", "tokens", 100.0, may_raise=False))
    with pytest.raises(WrongArgument, match="Settings"):
        bill.budgets.raise_for_all(budget.id, 200.0, OWNER)
    bill.budgets.raise_for_chat(budget.id, "mine", 150.0, NOON)
    later = Purse(bill.budgets, bill.spending, OWNER, "mine")
    assert later.reserve("1", 120, None).refused is None, "a chat's own budget is raised for good"


def test_a_budget_of_one_owner_leaves_the_others_alone(bill: Bill) -> None:
    bill.budgets.enter(Budget("month", "dollars", 1.0, owner=OWNER))
    assert Purse(bill.budgets, bill.spending, OWNER).reserve("1", 1, 2.0).refused is not None
    assert not Purse(bill.budgets, bill.spending, "somebody else").holds()


def test_all_together_share_a_budget_of_all(bill: Bill) -> None:
    bill.budgets.enter(Budget("month", "dollars", 3.0))
    first = Purse(bill.budgets, bill.spending, OWNER)
    second = Purse(bill.budgets, bill.spending, "somebody else")
    assert first.reserve("1", 1, 2.0).refused is None
    assert second.reserve("2", 1, 2.0).refused is not None
    assert second.reserve("2", 1, 1.0).refused is None


def test_free_and_unpriced_calls_go_on_when_the_money_is_used_up(bill: Bill) -> None:
    bill.budgets.enter(Budget("month", "dollars", 1.0))
    purse = Purse(bill.budgets, bill.spending, OWNER)
    assert purse.reserve("1", 1, 1.0).refused is None
    assert purse.reserve("2", 1, 0.0).refused is None
    assert purse.reserve("3", 1, None).refused is None
    assert purse.reserve("4", 1, 0.01).refused is not None


@pytest.mark.parametrize(
    ("scope", "passed", "used", "forecast"),
    [
        ("month", timedelta(days=15, hours=12), 60.0, 120.0),
        ("month", timedelta(hours=3), 60.0, None),  # too early to say
        ("day", timedelta(hours=6), 30.0, 120.0),
        ("day", timedelta(minutes=5), 30.0, None),
        ("month", timedelta(days=31), 60.0, 60.0),
        ("chat", timedelta(0), 60.0, None),
    ],
)
def test_a_budget_is_on_course_for_what_it_would_come_to(
    scope: Scope, passed: timedelta, used: float, forecast: float | None
) -> None:
    budget = Budget(scope, "dollars", 100.0)
    since, until = find_period(budget, NOON)
    standing = Standing(budget, 100.0, Window(since=since, until=until), used)
    now = NOON if scope == "chat" else since + passed
    (course,) = find_courses([standing], now)
    assert course.forecast == (None if forecast is None else pytest.approx(forecast))
    assert course.is_warned == (forecast is not None and forecast > 100)
    (late,) = find_courses([replace(standing, used=80.0)], now)
    assert late.is_warned
