"""Values as they are written in texts: numbers with their units, dates, yes and no."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner",
            "february feb februar",
            "march mar märz",
            "april apr",
            "may mai",
            "june jun juni",
            "july jul juli",
            "august aug",
            "september sep sept",
            "october oct oktober okt",
            "november nov",
            "december dec dezember dez",
        ),
        1,
    )
    for name in names.split()
}
MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
"""Names of months, English and German."""

_DATE = re.compile(
    rf"""(?<![\w.,/-])(?:
        (?P<y1>\d{{4}})[-/](?P<m1>\d{{1,2}})[-/](?P<d1>\d{{1,2}})(?=$|[^\w/-]|T\d)
      | (?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?
        (?P<m2>{MONTH})\b\.?,?\s+(?P<y2>\d{{4}})(?!\w)
      | (?P<m3>{MONTH})\.?\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{{4}})(?!\w)
      | (?P<d4>\d{{1,2}})\.\s?(?P<m4>\d{{1,2}})\.\s?(?P<y4>\d{{4}})(?!\w)
      | (?P<a>\d{{1,2}})(?P<sign>[/-])(?P<b>\d{{1,2}})(?P=sign)(?P<y5>\d{{4}})(?![\w/-])
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST = 300  # characters of a number; of more digits neither a float nor a column can be made
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER = re.compile(
    r"""(?<![\w.,:/])(?<!\w[-\u2013])(?P<sign>[-+\u2212](?=[\d$€£]))?
    (?P<currency>[$€£]\s?|(?:EUR|USD|GBP|CHF)\s)?(?P<minus>-)?
        (?P<digits>\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)
        (?:\s?(?P<scale>thousand|million|billion)\b)?
        (?:(?![-\u2013:/]\w|[.,]\d)(?:\s?(?P<unit>%|[$€£]|[a-zA-Zµ°²³][\w°²³/]{0,14}))?)(?![\w])""",
    re.VERBOSE,
)
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_RANGE = re.compile(
    r"\s*(?:[\w°%€$£]{1,12}\s+)?(?:to|up to|until|bis|[-\u2013])\s*[-+\u2212$€£]?\d", re.IGNORECASE
)
_YES_NO = re.compile(r"(?P<yes>yes|true|ja|✓|✔)|(?P<no>no|false|nein|none|✗|✘)", re.IGNORECASE)
_UNITS = {
    written: names.split()[0]
    for names in (
        "eur € euro euros",
        "usd $ dollar dollars",
        "gbp £ pound pounds",
        "chf franc francs",
        "% percent pct",
        "kg kilogram kilograms kilo kilos",
        "g gram grams",
        "t tonne tonnes ton tons",
        "m metre metres meter meters",
        "km kilometre kilometres kilometer kilometers",
        "cm centimetre centimetres",
        "mm millimetre millimetres",
        "l litre litres liter liters",
        "h hour hours hrs",
        "min minute minutes",
        "s second seconds sec",
        "day days",
        "week weeks",
        "month months",
        "year years",
        "v volt volts",
        "w watt watts",
        "kw kilowatt kilowatts",
        "kwh",
    )
    for written in names.split()
}


@dataclass(frozen=True, slots=True)
class Found:
    """A value and the span of its text; numbers with their unit, as `unit_of` gives it."""

    value: Any
    start: int
    end: int
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Style:
    """How a document writes: whether its decimals follow a comma, and whether 03/04/2025 begins
    with the day (None: unknown).
    """

    comma: bool = False
    day_first: bool | None = None


def style_of(text: str) -> Style:
    """What the unambiguous numbers and dates of a text tell about the others."""
    comma = re.search(r"\d\.\d{3},\d|(?<![\d,])\d+,\d{1,2}(?![\d,])", text) is not None
    point = re.search(r"\d,\d{3}\.\d|(?<![\d.])\d+\.\d{2}(?![\d.])", text) is not None
    orders = {
        _day_first(int(found["a"]), int(found["b"])) for found in _DATE.finditer(text) if found["a"]
    } - {None}
    return Style(comma and not point, orders.pop() if len(orders) == 1 else None)


def unit_of(word: str) -> str:
    """The unit that a word or sign stands for; empty for none that is known."""
    return _UNITS.get(word.casefold(), "")


def dates(text: str, style: Style) -> list[Found]:
    """All complete dates, as ISO texts; those that can be read in two ways are left out."""
    made = []
    for found in _DATE.finditer(text):
        parts = _date_parts(found, style)
        if parts is not None and (iso := _iso(*parts)):
            made.append(Found(iso, found.start(), found.end()))
    return made


def numbers(text: str, style: Style) -> list[Found]:
    """All numbers that are neither part of a name, a version or a date, nor an end of a range."""
    taken = bytearray(len(text))
    for found in _DATE.finditer(text):
        taken[found.start() : found.end()] = b"\1" * (found.end() - found.start())
    made: list[Found] = []
    after_range = -1
    for found in _NUMBER.finditer(text):
        if taken[found.start("digits")]:
            continue
        between = _RANGE.match(text, found.end("digits"))
        is_end, after_range = found.start() < after_range, between.end() if between else -1
        number = _number(found, style)
        if number is not None and not is_end and not between:
            made.append(number)
    return made


def yes_no(text: str) -> Found | None:
    """Yes or no at the beginning of the text."""
    found = _YES_NO.match(text)
    if found is None or text[found.end() : found.end() + 1].isalnum():
        return None
    return Found(found["yes"] is not None, found.start(), found.end())


def _number(found: re.Match[str], style: Style) -> Found | None:
    unit = found["unit"] or ""
    value = _digits(found["digits"], style)
    if value is None or unit.casefold() in _ORDINAL:
        return None
    if found["sign"] in ("-", "\u2212") or found["minus"]:
        value = -value
    value *= _SCALES.get((found["scale"] or "").lower(), 1)
    known = unit_of(unit) or unit_of((found["currency"] or "").strip())
    end = (
        found.end()
        if unit_of(unit)
        else found.end("scale")
        if found["scale"]
        else found.end("digits")
    )
    return Found(value, found.start(), end, known)


def _digits(written: str, style: Style) -> float | int | None:
    """The number that the digits stand for; None when they are no number, such as 4.2.0."""
    plain = re.sub(r"[ \u00a0\u202f'\u2019]", "", written)
    if len(plain) > _LONGEST:
        return None
    last = max(plain.rfind(","), plain.rfind("."))
    if last < 0:
        return int(plain)
    sign, other = plain[last], "." if plain[last] == "," else ","
    if other in plain:
        whole, grouped = plain[:last], other
    elif plain.count(sign) > 1 or _groups(plain, sign, style):
        whole, grouped, last = plain, sign, len(plain)
    else:
        whole, grouped = plain[:last], other
    if sign in whole and grouped != sign:
        return None
    if not re.fullmatch(rf"\d+|\d{{1,3}}(?:\{grouped}\d{{3}})+", whole):
        return None
    digits = whole.replace(grouped, "")
    return float(f"{digits}.{plain[last + 1 :]}") if last < len(plain) else int(digits)


def _groups(plain: str, sign: str, style: Style) -> bool:
    """Whether the one sign in `1,234` separates thousands."""
    before, _, behind = plain.partition(sign)
    return (
        len(behind) == 3
        and 1 <= len(before) <= 3
        and before != "0"
        and (sign == ".") == style.comma
    )


def _date_parts(found: re.Match[str], style: Style) -> tuple[int, int, int] | None:
    for kind in "1234":
        if found[f"y{kind}"]:
            month = found[f"m{kind}"]
            number = int(month) if month.isdigit() else _MONTHS[month.lower()]
            return int(found[f"y{kind}"]), number, int(found[f"d{kind}"])
    one, two = int(found["a"]), int(found["b"])
    day_first = _day_first(one, two)
    if day_first is None and one != two:
        day_first = style.day_first
        if day_first is None:
            return None
    return (int(found["y5"]), two, one) if day_first else (int(found["y5"]), one, two)


def _day_first(one: int, two: int) -> bool | None:
    return True if one > 12 >= two else False if two > 12 >= one else None


def _iso(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def members(text: str, choices: tuple[object, ...]) -> Iterator[Found]:
    """Where the members of an enum stand as whole words, longer ones first and none inside
    another.
    """
    taken = bytearray(len(text))
    for choice in sorted(choices, key=lambda each: -len(str(each))):
        pattern = r"[\s_-]+".join(
            re.escape(part) for part in re.split(r"[\s_-]+", str(choice)) if part
        )
        for found in (
            re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE) if pattern else ()
        ):
            if taken.find(1, found.start(), found.end()) < 0:
                taken[found.start() : found.end()] = b"\1" * (found.end() - found.start())
                yield Found(choice, found.start(), found.end())


def starts_range(text: str) -> bool:
    """Whether the first number of a text begins a range, as in "0.3 to 15 m"."""
    found = _NUMBER.search(text)
    return found is not None and _RANGE.match(text, found.end("digits")) is not None
