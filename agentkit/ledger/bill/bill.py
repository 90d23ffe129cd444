"""What is to be paid in one data folder: prices, budgets and what was spent, and the purse of each
run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from agentkit.database import Database
from agentkit.ledger.bill.budgets import Budget, Budgets, Scope, Standing, find_period
from agentkit.ledger.bill.own_prices import PriceBook
from agentkit.ledger.spending import Spending, SpentCall, Wanted, Window, is_within
from agentkit.ledger.store import Ledger, utc_now


class Bill:
    """Prices that people entered, budgets, and the sums that they are checked against."""

    def __init__(self, ledger: Ledger) -> None:
        ledger.database.migrate("bill", _MIGRATIONS)
        self.spending = ledger.spending
        self.prices = PriceBook(ledger.database)
        self.budgets = Budgets(ledger.database)

    def purse(self, owner: str, chat_id: str = "", run_id: str = "") -> Purse:
        """What a run of that owner may spend."""
        return Purse(self.budgets, self.spending, owner, chat_id, run_id)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the budgets say of a call before it is made."""

    standings: Sequence[Standing]
    """With the call."""
    refused: Standing | None
    """The budget that it would go beyond."""


class Purse:
    """The budgets seen from one owner's run, which may belong to a chat.

    `clock` gives the time in UTC without zone. When it goes back, the budgets of the day before
    hold again, with what was spent then.
    """

    def __init__(
        self,
        budgets: Budgets,
        spending: Spending,
        owner: str,
        chat_id: str = "",
        run_id: str = "",
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._budgets, self._spending = budgets, spending
        self._owner, self._chat_id, self._run_id = owner, chat_id, run_id
        self._clock = clock
        self._told: set[tuple[str, str]] = set()

    def holds(self) -> bool:
        """Whether there is any budget for it."""
        return bool(self._find_applying())

    def standings(self) -> list[Standing]:
        """Its budgets as they stand now."""
        now = self._clock()
        return list(map(partial(self._stand, now), self._find_applying()))

    def reserve(self, call_id: str, tokens: int, dollars: float | None) -> Outcome:
        """Keep free what a call will take at least, until it is stored or released; not where that
        is beyond one of the budgets.
        """
        now = self._clock()
        before = list(map(partial(self._find, now), self._find_applying()))
        wanted = list(map(partial(_want, dollars), before))
        call = SpentCall(call_id, self._owner, self._chat_id, self._run_id, now, tokens, dollars)
        totals = self._spending.reserve(call, wanted)
        after = list(map(_use, before, totals))
        within = list(map(is_within, totals, wanted))
        if all(within):
            return Outcome(after, None)
        return Outcome(after, after[within.index(False)])

    def release(self, call_id: str) -> None:
        """Give back what is reserved for a call that was not stored."""
        self._spending.release(call_id)

    def is_new(self, budget_id: str, what: str) -> bool:
        """Whether this has not been told of a budget so far; from now on it has."""
        is_new = (budget_id, what) not in self._told
        self._told.add((budget_id, what))
        return is_new

    def _find_applying(self) -> list[Budget]:
        known: dict[Scope, str] = {"question": self._run_id, "chat": self._chat_id}
        theirs = self._budgets.entries(self._owner)
        return [one for one in theirs if known.get(one.scope) != ""]

    def _stand(self, now: datetime, budget: Budget) -> Standing:
        found = self._find(now, budget)
        spent = self._spending.measure(found.window)
        return replace(found, used=spent.of(budget.unit), unpriced=spent.unpriced)

    def _find(self, now: datetime, budget: Budget) -> Standing:
        since, until = find_period(budget, now)
        windows = {
            "question": Window(run_id=self._run_id),
            "chat": Window(chat_id=self._chat_id),
        }
        window = windows.get(budget.scope, Window(budget.owner, since=since, until=until))
        limit = self._budgets.find_limit(budget, self._chat_id, since)
        return Standing(budget, limit, window, 0.0)


def _use(standing: Standing, used: float) -> Standing:
    return replace(standing, used=used)


def _want(dollars: float | None, standing: Standing) -> Wanted:
    """What it may hold; a budget in dollars has nothing against a call that is free, or whose price
    nobody knows.
    """
    counts = standing.budget.unit == "tokens" or bool(dollars)
    limit = standing.limit if counts else math.inf
    return Wanted(standing.window, standing.budget.unit, limit)


def create_tables(database: Database) -> None:
    """Version 1 of the tables."""
    for statement in _TABLES:
        database.execute(statement)


_TABLES = (
    """create table own_prices (
        id varchar primary key, provider varchar not null, model varchar not null,
        input_price double not null, output_price double not null,
        cache_read_price double not null, cache_write_price double not null,
        from_day date, until_day date, entered_at timestamp not null, removed_at timestamp)""",
    """create table repricings (
        id varchar primary key, owner varchar not null, applied_at timestamp not null,
        undone_at timestamp, calls bigint not null, before double, after double)""",
    """create table repriced_calls (
        repricing varchar not null, call_id varchar not null, attempt integer not null,
        before double, after double)""",
    """create table budgets (
        id varchar primary key, scope varchar not null, owner varchar not null,
        unit varchar not null, amount double not null, warn_at double not null,
        zone varchar not null, may_raise boolean not null, entered_by varchar not null,
        entered_at timestamp not null, removed_at timestamp)""",
    """create table budget_raises (
        budget varchar not null, chat_id varchar not null, amount double not null,
        since timestamp, raised_at timestamp not null)""",
)
_MIGRATIONS = (create_tables,)
