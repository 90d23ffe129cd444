"""Days as commands take them, on the clocks of a time zone."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from agentkit.errors import ConfigError

_LOCALTIME = Path("/etc/localtime")


def find_days(
    zone: str, days: int | None, since: str, until: str
) -> tuple[datetime | None, datetime | None]:
    """When the first day begins and the last one ends (UTC without zone)."""
    from agentkit.ledger.usage.local import check_zone

    clock = check_zone(zone)
    first, last = find_day(since), find_day(until)
    if first is None and days:
        today = datetime.now(clock).date()
        first = today - timedelta(days=days - 1)
    if last is not None:
        last += timedelta(days=1)
    return _begin(first, clock), _begin(last, clock)


def _begin(day: date | None, clock: ZoneInfo) -> datetime | None:
    if day is None:
        return None
    return datetime.combine(day, time(), clock).astimezone(UTC).replace(tzinfo=None)


def find_day(text: str) -> date | None:
    """A day as 2026-11-13; None where none is given. Raises ConfigError for anything else."""
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} is not a day; give one such as 2026-11-13.") from error


def find_local_zone() -> str:
    """The IANA name of this machine's time zone, as far as it tells; else UTC."""
    _, _, named = os.environ.get("TZ", "").removeprefix(":").rpartition("/zoneinfo/")
    _, _, linked = str(_LOCALTIME.resolve()).partition("/zoneinfo/")
    return next(filter(_is_zone, (named, linked)), "UTC")


def _is_zone(name: str) -> bool:
    """`TZ` may also be a file, or say in numbers when clocks are set forward."""
    from agentkit.ledger.usage.local import check_zone

    try:
        check_zone(name)
    except ConfigError:
        return False
    return True
