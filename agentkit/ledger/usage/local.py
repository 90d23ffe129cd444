"""Days and hours of a time zone, as the database counts them: by whole numbers, since its own time
zones take ten times as long.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agentkit.errors import ConfigError

_HOUR = 3_600_000_000  # microseconds
_EPOCH = date(1970, 1, 1)
_TO_MONDAY = 72  # hours: 1970 began on a Thursday


def check_zone(name: str) -> ZoneInfo:
    """The zone; raises ConfigError for one that does not exist."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f"There is no time zone {name!r}; give an IANA name such as Europe/Berlin."
        ) from error


def local_hour(column: str, zone: str, since: datetime, until: datetime) -> str:
    """SQL for the number of hours from 1970 to a stored time (UTC), on the clocks of the zone, as
    far as it lies between the two times.
    """
    changes = find_changes(check_zone(zone), since, until)
    cases = "".join(
        f" when {column} < timestamp '{end:%Y-%m-%d %H:%M:%S}' then {offset}"
        for (_, offset), (end, _) in pairwise(changes)
    )
    last = changes[-1][1]
    offset = f"case{cases} else {last} end" if cases else str(last)
    return f"(epoch_us({column}) + ({offset}) * 1000000::bigint) // {_HOUR}"


def local_step(column: str, zone: str, since: datetime, until: datetime, hours: int) -> str:
    """The same for where a step of so many hours begins; weeks begin on Mondays."""
    hour = local_hour(column, zone, since, until)
    return f"({hour} + {_TO_MONDAY}) // {hours} * {hours} - {_TO_MONDAY}"


def step_of(hour: int, hours: int) -> int:
    """Where the step of an hour begins, both counted from 1970."""
    return (hour + _TO_MONDAY) // hours * hours - _TO_MONDAY


def find_changes(zone: ZoneInfo, since: datetime, until: datetime) -> list[tuple[datetime, int]]:
    """From when on (UTC without zone) the clocks are how many seconds ahead, beginning with
    `since`.
    """
    found = [(since, _ahead(zone, since))]
    day = since
    while day < until:
        following = min(until, day + timedelta(days=1))
        if _ahead(zone, following) != found[-1][1]:
            found.append((_find_change(zone, day, following), _ahead(zone, following)))
        day = following
    return found


def day_of(hour: int) -> date:
    """The day of such an hour."""
    return _EPOCH + timedelta(days=int(hour) // 24)


def _find_change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """When the clocks change between the two, to the minute."""
    first = _ahead(zone, before)
    while after - before > timedelta(minutes=1):
        middle = before + (after - before) / 2
        before, after = (middle, after) if _ahead(zone, middle) == first else (before, middle)
    return after.replace(second=0, microsecond=0)


def _ahead(zone: ZoneInfo, moment: datetime) -> int:
    ahead = moment.replace(tzinfo=UTC).astimezone(zone).utcoffset()
    if ahead is not None:
        return int(ahead.total_seconds())
    return 0
