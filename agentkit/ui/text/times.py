"""Days and times as the viewer's clock has them; the database holds UTC without zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

_YEARS = range(1970, 3000)
"""In which a day of an address may lie."""


def zone() -> str:
    """The IANA name of the viewer's time zone, UTC where the browser does not tell."""
    name = st.context.timezone
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "UTC"


def today() -> date:
    """The viewer's day."""
    return datetime.now(ZoneInfo(zone())).date()


def begin(day: date) -> datetime:
    """When this day begins for the viewer, in UTC without zone."""
    return datetime.combine(day, time(), ZoneInfo(zone())).astimezone(UTC).replace(tzinfo=None)


def read_day(text: str) -> date | None:
    """A day as addresses have it; None for any other text, and for days of no use."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in _YEARS else None


def local(moment: datetime) -> datetime:
    """A stored time on the viewer's clock."""
    return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone()))


def name_period(moment: datetime) -> str:
    """About when that was for the viewer: a day, the week before, or the month."""
    there, now = local(moment).date(), today()
    days = (now - there).days
    if days < 2:
        return "Yesterday" if days == 1 else "Today"
    if days <= 7:
        return "Previous 7 days"
    return f"{there:%B %Y}"


def day(moment: datetime) -> str:
    """The viewer's day of a stored time, such as `20 Nov 2026`."""
    there = local(moment)
    return f"{there.day} {there:%b %Y}"


def format_time(moment: datetime) -> str:
    """A stored time in words, such as `20 Nov 2026, 21:05`."""
    there = local(moment)
    return f"{there.day} {there:%b %Y, %H:%M}"


def clock(moment: datetime) -> str:
    """The viewer's time of the day of a stored time, such as `21:05:30`."""
    return f"{local(moment):%H:%M:%S}"
