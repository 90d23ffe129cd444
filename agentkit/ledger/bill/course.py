"""Where a budget is on course for, if things go on as they did since its day or month began."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from agentkit.ledger.bill.budgets import Standing

_LEAST = {"day": 1 / 24, "month": 1 / 31}
"""The share of a period that has to be over before anything is said of the rest of it."""


@dataclass(frozen=True, slots=True)
class Course:
    """A budget and what it comes to."""

    standing: Standing
    forecast: float | None
    """What will be spent at the end of its day or month; None while it is too early to say, and of
    a budget without an end.
    """
    comes_to: float
    """The same, or what is spent by now."""

    @property
    def is_warned(self) -> bool:
        """Whether it is nearly used up, or will be overdrawn."""
        standing = self.standing
        return standing.share >= standing.budget.warn_at or self.comes_to > standing.limit


def find_courses(standings: Sequence[Standing], now: datetime) -> list[Course]:
    """Where each of these is on course for at that time (UTC without zone)."""
    return list(map(partial(_find_course, now), standings))


def _find_course(now: datetime, standing: Standing) -> Course:
    window = standing.window
    whole = window.until - window.since
    passed = now - window.since
    share = passed / whole
    least = _LEAST.get(standing.budget.scope, math.inf)
    if share < least:
        return Course(standing, None, standing.used)
    forecast = standing.used / min(share, 1.0)
    return Course(standing, forecast, forecast)
