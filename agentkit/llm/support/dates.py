"""Dates and times of day in a text, in the forms that people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, repeat
from operator import attrgetter
from typing import Literal

_MONTHS = [
    "january january jan januar jänner janvier enero gennaio",
    "february feb februar février fevrier febrero",
    "march mar märz maerz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug août aout agosto",
    "september sept sep septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre decembre diciembre",
]
MONTHS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
"""Number of a month by its name."""
_DAYS = [
    "monday montag lundi lunes",
    "tuesday dienstag mardi martes",
    "wednesday mittwoch mercredi miércoles",
    "thursday donnerstag jeudi jueves",
    "friday freitag vendredi viernes",
    "saturday samstag sonnabend samedi sábado",
    "sunday sonntag dimanche domingo",
]
WEEKDAYS = {name: number for number, names in enumerate(_DAYS, 1) for name in names.split()}
"""Number of a day of the week by its name."""

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_LINK = r"(?:\s+(?:of|de|del))?\s+"
_FORMS = [
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)\b"),
    re.compile(r"\b(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})\b"),
    re.compile(r"\b(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4})\b"),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|\.|º)?{_LINK}(?P<m>{_MONTH})\b\.?"
        rf"(?:,?{_LINK}(?P<y>\d{{4}})\b)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<m>{_MONTH})\b\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?![\d.,:]?\d)"
        r"(?:,?\s+(?P<y>\d{4})\b)?",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<m>{_MONTH})\b\.?,?{_LINK}(?P<y>\d{{4}})\b", re.IGNORECASE),
]
_NAMED = "|".join(name.capitalize() for name in MONTHS)
_MONTH_ALONE = re.compile(rf"(?<=[a-zäöüé,(] )(?P<m>{_NAMED})\b")
_WEEKDAY = re.compile(rf"\b(?P<w>{'|'.join(WEEKDAYS)})s?\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"\b(?P<h>[01]?\d|2[0-4])(?:[:.](?P<min>[0-5]\d))?"
    r"(?:\s?(?P<half>[ap]\.?m\b\.?|uhr\b|o['’]clock\b)|(?<=:\d\d)\b)",
    re.IGNORECASE,
)
_HOURS_OF_HALVES = {("a", 12): 0, **{("p", hour): hour + 12 for hour in range(12)}}
"""Hours of the 24-hour clock for those with `a.m.` or `p.m.` that differ."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, as far as it is told, a day of the week, or a time of day."""

    text: str
    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    swapped: bool = False
    """Whether day and month may stand the other way round."""
    recurring: tuple[Literal["weekday", "minute"], int] | None = None
    """The day of the week, or the time of day in minutes since midnight."""

    def overlaps(self, other: Moment) -> bool:
        """Whether they share a part of the text."""
        return max(self.start, other.start) < min(self.end, other.end)

    def is_day_of(self, other: Moment) -> bool:
        """Whether month and day are the same; without a day here, the month."""
        both_ways = [(other.month, other.day), (other.day, other.month)]
        days = both_ways[: 1 + max(self.swapped, other.swapped)]
        if self.day is None:
            return self.month in dict(days)
        return (self.month, self.day) in days

    def is_year_of(self, other: Moment, years: AbstractSet[float]) -> bool:
        """Whether the year is the same, or one of `years` if the other has none."""
        told = years
        if other.year is not None:
            told = {other.year}
        return self.year is None or self.year in told


def find_moments(text: str) -> list[Moment]:
    """All dates, days of the week and times of day in a text; each part of the text counts once."""
    found: list[Moment] = []
    for one in _find_all(text):
        if not any(map(one.overlaps, found)):
            found.append(one)
    return found


def has_moment(passage: Iterable[Moment], years: AbstractSet[float], wanted: Moment) -> bool:
    """Whether the passage has this moment; its year may be elsewhere in it, among `years`."""
    if wanted.recurring is not None:
        return wanted.recurring in map(attrgetter("recurring"), passage)
    same_day = filter(wanted.is_day_of, passage)
    return any(map(wanted.is_year_of, same_day, repeat(years)))


def _find_all(text: str) -> Iterator[Moment]:
    """All moments of every form, the surest form first."""
    return chain.from_iterable(map(read, form.finditer(text)) for form, read in _READERS)


def _read_date(found: re.Match[str]) -> Moment:
    parts = found.groupdict()
    return Moment(
        found[0],
        *found.span(),
        year=_read_number(parts.get("y")),
        month=_read_month(parts["m"]),
        day=_read_number(parts.get("d")),
        swapped="/" in found[0],
    )


def _read_number(digits: str | None) -> int | None:
    if digits:
        return int(digits)
    return None


def _read_month(text: str) -> int:
    """Number of a month by its digits or its name; 0 for a name with letters of other scripts."""
    if text.isdigit():
        return int(text)
    return MONTHS.get(text.lower(), 0)


def _read_clock(found: re.Match[str]) -> Moment:
    parts = found.groupdict("0")
    hour, half = int(parts["h"]), parts["half"][:1].lower()
    hour = _HOURS_OF_HALVES.get((half, hour), hour)
    return Moment(found[0], *found.span(), recurring=("minute", hour * 60 + int(parts["min"])))


def _read_month_alone(found: re.Match[str]) -> Moment:
    return Moment(found["m"], *found.span(), month=MONTHS[found["m"].lower()])


def _read_weekday(found: re.Match[str]) -> Moment:
    weekday = WEEKDAYS[found["w"].lower()]
    return Moment(found[0], *found.span(), recurring=("weekday", weekday))


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Moment]], ...] = (
    *((form, _read_date) for form in _FORMS),
    (_CLOCK, _read_clock),
    (_MONTH_ALONE, _read_month_alone),
    (_WEEKDAY, _read_weekday),
)
