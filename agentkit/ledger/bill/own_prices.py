"""Prices that people entered, such as of gateways and of servers of their own, with the days for
which they count.

An entry is never changed: another one takes its place, so that all there ever were can be seen.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import astuple, dataclass
from datetime import date, datetime
from operator import attrgetter

from agentkit.core.rates import Rates
from agentkit.database import Database, Row
from agentkit.errors import NotFound, StoreError, WrongArgument
from agentkit.ledger.store import utc_now
from agentkit.messages import new_id

_SERIES = "own prices"
_MOST = 1_000_000.0
"""US dollars for a million tokens."""
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")
"""What servers add to the name of a model that was asked for without its date."""


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """What a million tokens cost, on the days (UTC) from `from_day` to `until_day`, both included;
    None for any.
    """

    provider: str
    """The host of the server, or an id of the price list such as `openai`."""
    model: str
    """Empty for every model of the server."""
    rates: Rates
    from_day: date | None = None
    until_day: date | None = None
    id: str = ""
    entered_at: datetime | None = None
    """UTC without zone, as `removed_at`."""
    removed_at: datetime | None = None

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day on which it counts."""
        first = self.from_day or date.min
        last = self.until_day or date.max
        return first, last

    @property
    def is_in_force(self) -> bool:
        """Whether nobody has removed it."""
        return self.removed_at is None

    def fits(self, provider: str, day: date) -> bool:
        """Whether it counts at a server on that day."""
        first, last = self.days
        return self.provider == provider and first <= day <= last


class PriceBook:
    """The prices that people entered, in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: tuple[int, list[OwnPrice]] = (-1, [])

    def enter(self, given: OwnPrice) -> OwnPrice:
        """Keep a price from now on; raises WrongArgument for one that cannot be."""
        _check(given)
        rates = given.rates
        row = {
            "id": new_id(),
            "provider": given.provider.strip(),
            "model": given.model.strip(),
            "input_price": rates.input,
            "output_price": rates.output,
            "cache_read_price": rates.cache_read,
            "cache_write_price": rates.cache_write,
            "from_day": given.from_day,
            "until_day": given.until_day,
            "entered_at": utc_now(),
        }
        with self._database.transaction():
            self._database.insert("own_prices", row)
            self._database.touch(_SERIES)
        return _read({**row, "removed_at": None})

    def remove(self, price_id: str) -> None:
        """Let it count no more; it stays in the history. Raises NotFound."""
        if price_id not in map(attrgetter("id"), self.entries()):
            raise NotFound("This price is not in force any more; look at the list once more.")
        with self._database.transaction():
            self._database.execute(
                "update own_prices set removed_at = ? where id = ?", [utc_now(), price_id]
            )
            self._database.touch(_SERIES)

    def entries(self) -> list[OwnPrice]:
        """Those in force, the newest first."""
        return list(filter(attrgetter("is_in_force"), self.history()))

    def history(self) -> list[OwnPrice]:
        """All that were ever entered, the newest first."""
        revision = self._database.revision(_SERIES)
        if self._known[0] != revision:
            rows = self._database.rows("select * from own_prices order by entered_at desc, id")
            self._known = (revision, [_read(row) for row in rows])
        return self._known[1]

    def find(self, model: str, provider: str, at: datetime) -> Rates | None:
        """What counts at that moment (UTC): an entry for the model before one for all models of
        the server, and of several the newest; None for none.

        No answer is lost for its price: where the database fails, or was closed, those known last
        count.
        """
        day = at.date()
        with suppress(StoreError):
            self.history()
        oldest_first = reversed(list(filter(attrgetter("is_in_force"), self._known[1])))
        known = {one.model: one.rates for one in oldest_first if one.fits(provider, day)}
        of_all = known.get("")
        of_undated = known.get(_DATED.sub("", model), of_all)
        return known.get(model, of_undated)


def _check(given: OwnPrice) -> None:
    """Raise WrongArgument for what cannot be."""
    if not given.provider.strip():
        raise WrongArgument("The price names no server; choose whose price it is.")
    for amount in astuple(given.rates):
        _check_amount(amount)
    first, last = given.days
    if last < first:
        raise WrongArgument(f"The price ends on {last}, before it begins on {first}.")


def _check_amount(amount: float) -> None:
    """Raise WrongArgument for anything but dollars."""
    if not math.isfinite(amount) or not 0 <= amount <= _MOST:
        raise WrongArgument(
            f"A price of {amount!r} dollars for a million tokens cannot be; enter a number from 0"
            f" to {_MOST:,.0f}."
        )


def _read(row: Row) -> OwnPrice:
    rates = Rates(
        row["input_price"],
        row["output_price"],
        row["cache_read_price"],
        row["cache_write_price"],
    )
    return OwnPrice(
        row["provider"],
        row["model"],
        rates,
        row["from_day"],
        row["until_day"],
        row["id"],
        row["entered_at"],
        row["removed_at"],
    )
