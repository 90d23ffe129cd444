"""Where a budget is on course for, if things go on as they did since its day or month began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentkit.ledger.bill.budgets import Standing
from agentkit.ledger.spending import FAR_AHEAD

_LEAST = {"day": 1 / 24, "month": 1 / 31}
"""The share of a period that has to be over before anything is said of the rest of it."""


@dataclass(frozen=True, slots=True)
class Course:
    """A budget and what it comes to."""

    standing: Standing
    ends_at: datetime | None
    """When its day or month is over, UTC without zone; None for a budget without one."""
    forecast: float | None
    """What will be spent by then; None while it is too early to say, or there is no end."""

    @property
    def is_warned(self) -> bool:
        """Whether it is nearly used up, or will be overdrawn."""
        budget = self.standing.budget
        will_be_over = self.forecast is not None and self.forecast > self.standing.limit
        return self.standing.share >= budget.warn_at or will_be_over


def find_courses(standings: Sequence[Standing], now: datetime) -> list[Course]:
    """Where each of these is on course for at that time (UTC without zone)."""
    return [_find_course(one, now) for one in standings]


def _find_course(standing: Standing, now: datetime) -> Course:
    window = standing.window
    if window.until == FAR_AHEAD:
        return Course(standing, None, None)
    whole = (window.until - window.since).total_seconds()
    share = (now - window.since).total_seconds() / whole
    if share < _LEAST[standing.budget.scope]:
        return Course(standing, window.until, None)
    return Course(standing, window.until, standing.used / min(share, 1.0))
