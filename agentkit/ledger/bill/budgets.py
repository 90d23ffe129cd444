"""Budgets: what may be spent for a question, in a chat, in a day or a month, by one owner or by all
together.

A budget is never changed: another one takes its place, so that all there ever were can be seen.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agentkit.database import Database
from agentkit.errors import NotFound, WrongArgument
from agentkit.ledger.spending import FAR_AHEAD, LONG_AGO, Window
from agentkit.ledger.store import utc_now
from agentkit.messages import new_id
from agentkit.reasons import Unit

Scope = Literal["question", "chat", "day", "month"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
WARN_AT = 0.8
_SERIES = "budgets"
_MOST = 10**15
_NEXT = {"day": timedelta(days=1), "month": timedelta(days=32)}
"""Some time in the period after one that begins now."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent at most."""

    scope: Scope
    unit: Unit
    amount: float
    owner: str = ""
    """Whose calls count; empty for those of all, together."""
    warn_at: float = WARN_AT
    """The share at which it counts as nearly used up."""
    zone: str = "UTC"
    """The time zone of its days and months, an IANA name."""
    may_raise: bool = True
    """Whether who asks may raise it for all chats; for one chat it always can be raised."""
    id: str = ""
    entered_by: str = ""
    entered_at: datetime | None = None
    """UTC without zone, as `removed_at`."""
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A budget at one moment, for one chat if it is looked at from there."""

    budget: Budget
    limit: float
    """With what it was raised by for the chat."""
    window: Window
    used: float
    unpriced: int = 0
    """Calls whose price is unknown, which a budget in dollars cannot count."""

    @property
    def share(self) -> float:
        """How much of it is used up; above 1 it is overdrawn."""
        return self.used / self.limit


class Budgets:
    """The budgets of one data folder, in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: tuple[int, list[Budget]] = (-1, [])
        self._raised: dict[str, tuple[int, dict[tuple[str, datetime], float]]] = {}

    def enter(self, given: Budget, by: str = "") -> Budget:
        """Keep a budget from now on, in place of the one with the same scope, owner and unit;
        raises WrongArgument for one that cannot be.
        """
        _check(given)
        new = replace(given, id=new_id(), entered_by=by, entered_at=utc_now(), removed_at=None)
        with self._database.transaction():
            self._database.execute(
                """update budgets set removed_at = ? where removed_at is null
                and scope = ? and owner = ? and unit = ?""",
                [new.entered_at, new.scope, new.owner, new.unit],
            )
            self._database.insert("budgets", asdict(new))
            self._database.touch(_SERIES)
        return new

    def remove(self, budget_id: str) -> None:
        """Let it hold no more; it stays in the history. Raises NotFound."""
        self.find(budget_id)
        with self._database.transaction():
            self._database.execute(
                "update budgets set removed_at = ? where id = ?", [utc_now(), budget_id]
            )
            self._database.touch(_SERIES)

    def find(self, budget_id: str) -> Budget:
        """The budget of that id, if it is in force; raises NotFound."""
        for budget in self.entries():
            if budget.id == budget_id:
                return budget
        raise NotFound("This budget is not in force any more; look at the list once more.")

    def entries(self, owner: str | None = None) -> list[Budget]:
        """Those in force, of which some hold for an owner if one is given."""
        return list(filter(partial(_holds_for, owner), self.history()))

    def history(self) -> list[Budget]:
        """All that were ever entered, those of shorter times first, and the newest of each."""
        revision = self._database.revision(_SERIES)
        if self._known[0] != revision:
            rows = self._database.rows("select * from budgets order by entered_at desc, id")
            found = [Budget(**row) for row in rows]
            found.sort(key=lambda one: SCOPES.index(one.scope))
            self._known = (revision, found)
        return self._known[1]

    def raise_for_chat(self, budget_id: str, chat_id: str, limit: float, now: datetime) -> None:
        """Let a chat go up to that limit: for good with a budget of questions or chats, else until
        the day or month is over. Raises NotFound, WrongArgument.
        """
        budget = self.find(budget_id)
        _check_amount(limit)
        since = find_period(budget, now)[0]
        row = {"budget": budget_id, "chat_id": chat_id, "amount": limit - budget.amount}
        with self._database.transaction():
            self._database.execute(
                "delete from budget_raises where budget = ? and chat_id = ?", [budget_id, chat_id]
            )
            added = {"since": since, "raised_at": utc_now()}
            self._database.insert("budget_raises", {**row, **added})
            self._database.touch(_SERIES)

    def raise_for_all(self, budget_id: str, limit: float, by: str) -> Budget:
        """A budget in the place of this one, with that limit; raises NotFound, WrongArgument for
        one that may not be raised so.
        """
        budget = self.find(budget_id)
        if not budget.may_raise:
            raise WrongArgument("This budget can be raised on the Settings page alone.")
        return self.enter(replace(budget, amount=limit), by)

    def find_limit(self, budget: Budget, chat_id: str, since: datetime) -> float:
        """What may be spent of it in the period that began then, seen from a chat."""
        added = self._read_raises(chat_id).get((budget.id, since), 0.0)
        return budget.amount + max(added, 0.0)

    def _read_raises(self, chat_id: str) -> dict[tuple[str, datetime], float]:
        """By what a chat may go beyond each budget, in the period that began then."""
        revision = self._database.revision(_SERIES)
        known = self._raised.get(chat_id)
        if known is None or known[0] != revision:
            rows = self._database.rows("select * from budget_raises where chat_id = ?", [chat_id])
            raised = {(row["budget"], row["since"]): float(row["amount"]) for row in rows}
            known = self._raised[chat_id] = (revision, raised)
        return known[1]


def _holds_for(owner: str | None, budget: Budget) -> bool:
    """Whether it is in force, and for an owner if one is given."""
    if budget.removed_at is not None:
        return False
    return owner is None or budget.owner in ("", owner)


def find_period(budget: Budget, now: datetime) -> tuple[datetime, datetime]:
    """When its day or month begins and ends, UTC without zone; any time for other budgets."""
    if budget.scope not in _NEXT:
        return LONG_AGO, FAR_AHEAD
    begin = _find_begin(budget, now)
    return begin, _find_begin(budget, begin + _NEXT[budget.scope] + timedelta(hours=2))


def _find_begin(budget: Budget, moment: datetime) -> datetime:
    """When the period of a moment began."""
    zone = ZoneInfo(budget.zone)
    there = moment.replace(tzinfo=UTC).astimezone(zone).date()
    first = there
    if budget.scope == "month":
        first = there.replace(day=1)
    return datetime.combine(first, time(), zone).astimezone(UTC).replace(tzinfo=None)


def _check(given: Budget) -> None:
    """Raise WrongArgument for what cannot be."""
    if given.scope not in SCOPES:
        raise WrongArgument(f"There are no budgets of a {given.scope!r}; give one of {SCOPES}.")
    if given.unit not in get_args(Unit):
        raise WrongArgument(f"A budget in {given.unit!r} cannot be; give tokens or dollars.")
    _check_amount(given.amount)
    if not 0 < given.warn_at <= 1:
        raise WrongArgument(
            f"A budget cannot be nearly used up at {given.warn_at!r}; it is a share, at most 1."
        )
    try:
        ZoneInfo(given.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise WrongArgument(f"There is no time zone {given.zone!r}.") from error


def _check_amount(amount: float) -> None:
    """Raise WrongArgument for anything but an amount above 0."""
    if not math.isfinite(amount) or not 0 < amount <= _MOST:
        raise WrongArgument(
            f"A budget of {amount!r} cannot be; enter a number above 0, at most {_MOST:,}."
        )
