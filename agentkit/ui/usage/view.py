"""What the usage page shows: which calls, over which steps of time, measured and grouped how."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import sums
from agentkit.ledger.usage.local import day_of, step_of
from agentkit.ledger.usage.sums import By, Measure
from agentkit.ui.shared import state
from agentkit.ui.text import times
from agentkit.ui.usage import address

DAYS = {"Today": 1, "7 days": 7, "30 days": 30, "90 days": 90}
_HOURS_FOR = timedelta(days=3)
_DAYS_FOR = timedelta(days=120)


@dataclass(frozen=True, slots=True)
class View:
    """What is shown."""

    calls: CallFilter
    first: datetime
    """When the calls begin (UTC without zone), and end."""
    last: datetime
    hours: int
    """Of one step of time: 1, 24, or 168 for a week."""
    measure: Measure
    by: By
    zone: str

    @property
    def is_narrow(self) -> bool:
        """Whether it is about few days, or about some calls of them."""
        return self.hours == 1 or any(address.get(name) for name in address.NARROWING)

    @property
    def steps(self) -> list[int]:
        """All steps, by the hours from 1970 to their beginnings on the viewer's clocks."""
        ends = self.last - timedelta(seconds=1)
        first, last = (step_of(_hour(one), self.hours) for one in (self.first, ends))
        return list(range(first, max(first, last) + 1, self.hours))

    def label(self, step: int) -> str:
        """What stands below a step: `13 Nov`, or `14:00` where there are hours."""
        day = day_of(step)
        named = f"{day.day} {day:%b}" + ("" if self._is_of_one_year else f" {day:%Y}")
        if self.hours > 1:
            return named
        hour = f"{step % 24:02d}:00"
        return hour if self.last - self.first <= timedelta(days=1) else f"{named} {hour}"

    def name_step(self) -> str:
        """How long a step is."""
        return {1: "hour", 24: "day"}.get(self.hours, "week")

    def span(self, first: int, last: int) -> tuple[str, str]:
        """From the first to the last of two steps, as it stands in the address."""
        if self.hours == 1:
            return (_write_hour(first), _write_hour(last))
        return day_of(first).isoformat(), day_of(last + self.hours - 24).isoformat()

    @property
    def _is_of_one_year(self) -> bool:
        first, last = times.local(self.first), times.local(self.last - timedelta(seconds=1))
        return first.year == last.year == times.today().year


def read_view() -> View:
    """The view that the fields mean."""
    calls = read_filter()
    first, last = sums.find_span(state.workspace().ledger, calls)
    measure, by = address.get("measure"), address.get("by")
    return View(
        calls,
        first,
        last,
        _choose_step(last - first),
        measure if measure in get_args(Measure) else "cost",
        by if by in address.NARROWING else "model",
        times.zone(),
    )


def read_filter() -> CallFilter:
    """Which calls the fields mean."""
    since, until = read_span()
    named = {name: address.get(name) for name in address.NARROWING}
    sees_all = state.workspace().settings.usage_of_all
    return CallFilter(
        state.owner(),
        since,
        until,
        models=named["model"],
        agents=named["agent"],
        statuses=named["status"],
        providers=named["provider"],
        teams=named["team"],
        collections=named["collection"],
        purposes=named["purpose"],
        chats=named["chat"],
        everyone=sees_all,
        owners=named["owner"] if sees_all else (),
    )


def read_span() -> tuple[datetime | None, datetime | None]:
    """From when (UTC without zone) until before when calls are meant."""
    first, last = _read_moment(address.get("from")), _read_moment(address.get("to"))
    if first and last:
        length = timedelta(hours=1) if "T" in address.get("to") else timedelta(days=1)
        return _to_utc(first), _to_utc(last + length)
    days = DAYS.get(address.get("days"))
    if days is None:
        return None, None
    today = times.today()
    return times.begin(today - timedelta(days=days - 1)), times.begin(today + timedelta(days=1))


def name_span() -> str:
    """The days or hours that were chosen one by one, in words; empty for none."""
    first, last = _read_moment(address.get("from")), _read_moment(address.get("to"))
    if not (first and last):
        return ""
    names = [_name_moment(one, address.get(name)) for one, name in ((first, "from"), (last, "to"))]
    return " to ".join(dict.fromkeys(names))


def _name_moment(moment: datetime, written: str) -> str:
    hour = f", {moment:%H}:00" if "T" in written else ""
    return f"{moment.day} {moment:%b %Y}{hour}"


def _choose_step(length: timedelta) -> int:
    if length <= _HOURS_FOR:
        return 1
    return 24 if length <= _DAYS_FOR else 24 * 7


def _hour(moment: datetime) -> int:
    local = times.local(moment).replace(tzinfo=None)
    return int((local - datetime(1970, 1, 1)).total_seconds() // 3600)  # noqa: DTZ001 (local)


def _write_hour(step: int) -> str:
    return f"{day_of(step).isoformat()}T{step % 24:02d}"


def _read_moment(text: str) -> datetime | None:
    """A day or an hour as the address has it; None for any other text."""
    told, _, hour = text.partition("T")
    day = times.read_day(told)
    if day is None:
        return None
    try:
        return datetime.combine(day, time(int(hour or 0)))
    except ValueError:
        return None


def _to_utc(local: datetime) -> datetime:
    """The stored time of a moment on the viewer's clock."""
    zoned = local.replace(tzinfo=ZoneInfo(times.zone()))
    return zoned.astimezone(ZoneInfo("UTC")).replace(tzinfo=None)
