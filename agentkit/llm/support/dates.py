"""Dates and times of day in a text, in the forms that people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
    r"\s?(?P<half>[ap]\.?m\b\.?|uhr\b|o['’]clock\b)"
    r"|\b(?P<h2>[01]?\d|2[0-4]):(?P<min2>[0-5]\d)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, as far as it is told, a day of the week, or a time of day."""

    text: str
    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    minute: int | None = None
    """Since midnight."""
    swapped: bool = False
    """Whether day and month may stand the other way round."""


def moments(text: str) -> list[Moment]:
    """All dates, days of the week and times of day in a text; each part of the text counts once."""
    found: list[Moment] = []
    taken: list[tuple[int, int]] = []
    for one in _all(text):
        if all(one.end <= start or one.start >= end for start, end in taken):
            found.append(one)
            taken.append((one.start, one.end))
    return found


def says(passage: Iterable[Moment], years: Iterable[float], wanted: Moment) -> bool:
    """Whether the passage tells this moment; a year may stand elsewhere in it, among `years`."""
    given = list(passage)
    if wanted.minute is not None:
        return any(one.minute == wanted.minute for one in given)
    if wanted.weekday is not None:
        return any(one.weekday == wanted.weekday for one in given)
    numbers = set(years)
    return any(_same(wanted, one, numbers) for one in given if one.month is not None)


def _same(wanted: Moment, one: Moment, numbers: set[float]) -> bool:
    either = wanted.swapped or one.swapped
    days = {(one.day, one.month)} | ({(one.month, one.day)} if either else set())
    if wanted.day is None:
        if wanted.month not in {month for _, month in days}:
            return False
    elif (wanted.day, wanted.month) not in days:
        return False
    return (
        wanted.year is None
        or one.year == wanted.year
        or (one.year is None and float(wanted.year) in numbers)
    )


def _all(text: str) -> Iterator[Moment]:
    for form in _FORMS:
        for found in form.finditer(text):
            parts = found.groupdict()
            month = MONTHS.get(parts["m"].lower()) or (
                int(parts["m"]) if parts["m"].isdigit() else None
            )
            day, year = parts.get("d"), parts.get("y")
            yield Moment(
                found[0],
                found.start(),
                found.end(),
                int(year) if year else None,
                month,
                int(day) if day else None,
                swapped="/" in found[0],
            )
    for found in _CLOCK.finditer(text):
        yield _clock(found)
    for found in _MONTH_ALONE.finditer(text):
        yield Moment(found["m"], found.start(), found.end(), month=MONTHS[found["m"].lower()])
    for found in _WEEKDAY.finditer(text):
        yield Moment(found[0], found.start(), found.end(), weekday=WEEKDAYS[found["w"].lower()])


def _clock(found: re.Match[str]) -> Moment:
    hour, minute = int(found["h"] or found["h2"]), int(found["min"] or found["min2"] or 0)
    half = (found["half"] or "").lower()
    if half.startswith("p") and hour < 12:
        hour += 12
    elif half.startswith("a") and hour == 12:
        hour = 0
    return Moment(found[0], found.start(), found.end(), minute=hour * 60 + minute)
