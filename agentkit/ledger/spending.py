"""What was spent, as running sums: asked of the database once, then kept up with each call that is
stored, so that a budget is checked without a look at a million calls.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agentkit.core.address import ON_THIS_MACHINE
from agentkit.core.given import pick_filled
from agentkit.database import Database

_KEPT = 256  # sums that are kept; the others are asked for anew
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC).replace(tzinfo=None)
FAR_AHEAD = datetime(9999, 12, 31, tzinfo=UTC).replace(tzinfo=None)
"""Before and after any call, UTC without zone."""


@dataclass(frozen=True, slots=True)
class SpentCall:
    """A call that is stored, or that is under way."""

    id: str
    owner: str
    chat_id: str
    """Empty where it belongs to none, as `run_id`."""
    run_id: str
    at: datetime
    """UTC without zone."""
    tokens: int
    dollars: float | None
    """None when the price is unknown."""
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Window:
    """Which calls are summed up; what is empty is any."""

    owner: str = ""
    chat_id: str = ""
    run_id: str = ""
    since: datetime = LONG_AGO
    """UTC without zone, as `until`, which is excluded."""
    until: datetime = FAR_AHEAD

    def holds(self, call: SpentCall) -> bool:
        """Whether a call is meant."""
        pairs = (
            (self.owner, call.owner),
            (self.chat_id, call.chat_id),
            (self.run_id, call.run_id),
        )
        is_theirs = all(wanted in ("", found) for wanted, found in pairs)
        return is_theirs and self.since <= call.at < self.until


@dataclass(slots=True)
class Spent:
    """Sums over calls."""

    tokens: int = 0
    dollars: float = 0.0
    """Of those whose price is known."""
    unpriced: int = 0
    """Calls with tokens whose price is unknown."""

    def of(self, unit: str) -> float:
        """So many tokens or dollars."""
        return float({"tokens": self.tokens, "dollars": self.dollars}[unit])

    def add(self, call: SpentCall) -> None:
        """Count a call too."""
        self.tokens += call.tokens
        self.dollars += call.dollars or 0.0
        self.unpriced += call.dollars is None and call.tokens > 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a window may hold at most, for a call that is to be made."""

    window: Window
    unit: str
    limit: float


class Spending:
    """The sums of one data folder, for all its owners; may be used by several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        """Nothing but a read of the database waits for anything while it is held."""
        self._sums: OrderedDict[Window, Spent] = OrderedDict()
        self._storing: set[str] = set()
        """Attempts that are being stored, which no sum has yet."""
        self._under_way: dict[str, SpentCall] = {}

    def measure(self, window: Window) -> Spent:
        """What was spent there, with what is known of the calls under way."""
        with self._lock:
            return self._measure(window)

    def reserve(self, call: SpentCall, wanted: Sequence[Wanted]) -> list[float]:
        """Keep free what a call takes at least, if it is within everything that is wanted; gives
        what each window would hold with it.
        """
        with self._lock:
            totals = [self._total_with(call, one) for one in wanted]
            if all(map(is_within, totals, wanted)):
                self._under_way[call.id] = call
            return totals

    def release(self, call_id: str) -> None:
        """Forget a call that was under way and has not been stored."""
        with self._lock:
            self._under_way.pop(call_id, None)

    def forget(self) -> None:
        """Ask the database anew, as calls were changed there."""
        with self._lock:
            self._sums.clear()

    @contextmanager
    def storing(self, calls: Sequence[SpentCall]) -> Iterator[None]:
        """Count these calls once the block has stored them; if it fails, they stay uncounted."""
        with self._lock:
            self._storing.update(map(_name_attempt, calls))
        try:
            yield
        except BaseException:
            self._end_storing(calls, ())
            raise
        self._end_storing(calls, calls)

    def _end_storing(self, calls: Sequence[SpentCall], stored: Sequence[SpentCall]) -> None:
        with self._lock:
            for call in stored:
                self._count(call)
            self._storing.difference_update(map(_name_attempt, calls))

    def _count(self, call: SpentCall) -> None:
        self._under_way.pop(call.id, None)
        for window, spent in self._sums.items():
            if window.holds(call):
                spent.add(call)

    def _total_with(self, call: SpentCall, wanted: Wanted) -> float:
        spent = self._measure(wanted.window)
        spent.add(call)
        return spent.of(wanted.unit)

    def _measure(self, window: Window) -> Spent:
        stored = self._find_sum(window)
        spent = Spent(stored.tokens, stored.dollars, stored.unpriced)
        for call in filter(window.holds, self._under_way.values()):
            spent.add(call)
        return spent

    def _find_sum(self, window: Window) -> Spent:
        known = self._sums.get(window)
        if known is None:
            known = self._sums[window] = self._ask(window)
            while len(self._sums) > _KEPT:
                self._sums.popitem(last=False)
        self._sums.move_to_end(window)
        return known

    def _ask(self, window: Window) -> Spent:
        """The sum in the database, without the calls that will be counted when they are stored."""
        conditions: dict[str, Any] = {
            "owner = ?": window.owner,
            "chat_id = ?": window.chat_id,
            "run_id = ?": window.run_id,
            "not list_contains(?, id || '/' || attempt)": list(self._storing),
        }
        given = pick_filled(conditions)
        where = " and ".join(["not imported", "finished_at >= ?", "finished_at < ?", *given])
        row = self._database.row(
            f"{_SUMS} where {where}", [window.since, window.until, *given.values()]
        )
        assert row is not None  # an aggregate without groups always gives one row
        return Spent(**row)


def is_within(total: float, wanted: Wanted) -> bool:
    """Whether so much may be spent; sums of prices may miss it by a rounding error."""
    return total <= wanted.limit * (1 + 1e-9)


def _name_attempt(call: SpentCall) -> str:
    return f"{call.id}/{call.attempt}"


_TOKENS = "input_tokens + cache_read_tokens + cache_write_tokens + output_tokens + reasoning_tokens"
_SUMS = f"""select coalesce(sum({_TOKENS}), 0)::bigint as tokens,
    coalesce(sum(cost), 0)::double as dollars,
    count(*) filter (cost is null and {_TOKENS} > 0
    and not regexp_full_match(provider, '{ON_THIS_MACHINE}')) as unpriced from llm_calls"""
