"""Values as they are written in texts: numbers with their units, dates, yes and no."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Self

from agentkit.core.given import coalesce

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
_LONGEST = 300  # digits of a number; more fit neither a float nor a column
# Powers of ten, English and German. "Billion" is read as English; it says nothing certain where
# decimals have a comma, as in German it is a thousand times as much.
_POWERS = {
    name: power
    for power, names in (
        (2, "hundred hundert"),
        (3, "thousand tausend tsd k t"),
        (5, "lakh lakhs"),
        (6, "million millions millionen mio mln mn mm m"),
        (7, "crore crores"),
        (9, "billion billions milliarde milliarden milliard mrd bn b"),
        (12, "trillion trillions billionen"),
        (18, "trillionen"),
    )
    for name in names.split()
}
_AMBIGUOUS = frozenset({"billion", "trillion"})  # their plurals differ
_SHORT = "k|mn|mm|m|b"  # scales beside a currency; elsewhere units, or nothing certain
_LONG = "|".join(sorted(_POWERS.keys() - {*_SHORT.split("|"), "t"}))
_CURRENCY = r"(?:[$€£]|(?:EUR|USD|GBP|CHF|euros?|dollars?|pounds?|francs?)\b)(?!\s?\d)"
_TEN = r"[x×*·⋅]\s?10(?:\^|\*\*|(?=[⁺⁻⁰¹²³⁴-⁹]))"
_EXPONENT = rf"(?:[eE]|\s?{_TEN})(?P<exponent>[-+\u2212⁺⁻]?[\d⁰¹²³⁴-⁹]{{1,3}})(?!\w)"
_SCALE = rf"""\s?(?P<scale>(?i:
    (?:{_LONG})\b(?:(?<=mio|mrd|tsd|mln)\.)?
  | t(?=€|EUR\b)
  | (?:{_SHORT})(?:(?=\s?{_CURRENCY})|(?(currency)\b|(?!)))
))"""
# What may make another number of the digits: 10k, 5.2 M, $5T, 10^6, 1e5000.
_UNCLEAR = r"""(?P<unclear>
    (?:\s?[kM]|[KB]|\s?mn)\b|(?(currency)\s?(?i:tn?)\b|(?!))|\^\S*|[²³]|[eE][-+\u2212]?\d
)"""
_NUMBER = re.compile(
    rf"""(?<![\w.,:/])(?<!\w[-\u2013])(?P<sign>[-+\u2212](?=[\d$€£]))?
    (?P<currency>[$€£]\s?|(?:EUR|USD|GBP|CHF)\s)?(?P<minus>-)?
        (?P<digits>\d{{1,3}}(?:[ \u00a0\u202f'\u2019]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)
        (?:{_EXPONENT})?+(?:{_SCALE})?+
        (?:{_UNCLEAR}|(?![-\u2013:/]\w|[.,]\d)
            (?:\s?(?P<unit>%|[$€£]|[a-zA-Zµ°²³][\w°²³/]{{0,14}}))?(?!\w))""",
    re.VERBOSE,
)
_COMMA_DECIMAL = re.compile(r"\d\.\d{3},\d|(?<![\d,])\d+,\d{1,2}(?![\d,])")
_POINT_DECIMAL = re.compile(r"\d,\d{3}\.\d|(?<![\d.])\d+\.\d{2}(?![\d.])")
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_GROUPED = re.compile(r"\d+|\d{1,3}(?:(?P<sign>[.,])\d{3})(?:(?P=sign)\d{3})*")
_ONE_GROUP = re.compile(r"(?!0[.,])\d{1,3}[.,]\d{3}")
_RANGE = re.compile(
    r"\s*(?:[\w°%€$£]{1,12}\s+)?(?:to|up to|until|bis|[-\u2013])\s*[-+\u2212$€£]?\d", re.IGNORECASE
)
_YES_NO = re.compile(
    r"(?:(?P<yes>yes|true|ja|✓|✔)|(?P<no>none|no|false|nein|✗|✘))(?![^\W_])", re.IGNORECASE
)
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
    """A value and the span of its text; numbers with their unit, as `to_unit` gives it."""

    value: Any
    start: int
    end: int
    unit: str = ""

    def move(self, by: int) -> Self:
        """The same value in a text that begins so many characters earlier."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Style:
    """How a document writes: whether a comma marks its decimals, and whether 03/04/2025 begins
    with the day (None: unknown).
    """

    comma: bool = False
    day_first: bool | None = None


def detect_style(text: str) -> Style:
    """The style that the unambiguous numbers and dates of a text show."""
    has_comma = _COMMA_DECIMAL.search(text) is not None
    has_point = _POINT_DECIMAL.search(text) is not None
    orders: set[bool | None] = set()
    for found in _DATE.finditer(text):
        if found["a"]:
            order = _is_day_first(int(found["a"]), int(found["b"]))
            orders.add(order)
    orders.discard(None)
    day_first = None
    if len(orders) == 1:
        [day_first] = orders
    writes_comma = has_comma and not has_point
    return Style(writes_comma, day_first)


def to_unit(word: str) -> str:
    """The unit that a word or sign stands for; empty for an unknown one."""
    return _UNITS.get(word.casefold(), "")


def find_dates(text: str, style: Style) -> list[Found]:
    """All complete dates, as ISO texts; those that can be read in two ways are left out."""
    dates: list[Found] = []
    for found in _DATE.finditer(text):
        written = _parse_date(found, style)
        if written:
            dates.append(Found(written, *found.span()))
    return dates


def find_numbers(text: str, style: Style) -> list[Found]:
    """All numbers that are neither part of a name, a version or a date, nor an end of a range."""
    in_dates: set[int] = set()
    for found in _DATE.finditer(text):
        in_dates.update(range(*found.span()))
    numbers: list[Found] = []
    range_end = -1
    for found in _NUMBER.finditer(text):
        if found.start("digits") in in_dates:
            continue
        ends_range = found.start() < range_end
        begins_range = _RANGE.match(text, _end_of_amount(found))
        if begins_range:
            range_end = begins_range.end()
            continue
        range_end = -1
        if not ends_range:
            numbers += _parse_number(found, style)
    return numbers


def find_yes_no(text: str) -> list[Found]:
    """Yes or no at the beginning of the text, at most one."""
    found = _YES_NO.match(text)
    if found is None:
        return []
    says_yes = found["yes"] is not None
    return [Found(says_yes, *found.span())]


def find_choices(text: str, choices: tuple[object, ...]) -> Iterator[Found]:
    """Where the members of an enum stand as whole words, longer ones first and none inside
    another.
    """
    longest_first = sorted(choices, key=lambda each: -len(str(each)))
    taken: set[int] = set()
    for choice in longest_first:
        for found in _find_phrase(text, str(choice)):
            places = range(*found.span())
            if taken.isdisjoint(places):
                taken.update(places)
                yield Found(choice, *found.span())


def is_unclear(text: str, style: Style) -> bool:
    """Whether the first number of a text begins a range, as in "0.3 to 15 m", or it is not certain
    of one how large it is, as in "10k".
    """
    numbers = list(_NUMBER.finditer(text))
    if any(_has_unclear_scale(found, style) for found in numbers):
        return True
    if not numbers:
        return False
    more = _RANGE.match(text, _end_of_amount(numbers[0]))
    return more is not None


def _find_phrase(text: str, phrase: str) -> Iterator[re.Match[str]]:
    """The places of a phrase, whatever separates its words there."""
    words = re.findall(r"[^\s_-]+", phrase)
    if words:
        pattern = r"[\s_-]+".join(map(re.escape, words))
        yield from re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)


def _parse_number(found: re.Match[str], style: Style) -> Iterator[Found]:
    parts = found.groupdict("")
    value = _parse_digits(parts["digits"], _find_power(parts), style)
    is_ordinal = parts["unit"].casefold() in _ORDINAL
    if value is None or is_ordinal or _has_unclear_scale(found, style):
        return
    signs = parts["sign"] + parts["minus"]
    if signs.strip("+"):
        value = -value
    unit = to_unit(parts["unit"])
    if unit:
        yield Found(value, found.start(), found.end("unit"), unit)
        return
    currency = to_unit(parts["currency"].strip())
    yield Found(value, found.start(), _end_of_amount(found), currency)


def _end_of_amount(found: re.Match[str]) -> int:
    """Where a number ends with all that says how large it is, before its unit."""
    return max(map(found.end, ("digits", "exponent", "scale", "unclear")))


def _has_unclear_scale(found: re.Match[str], style: Style) -> bool:
    """Whether what stands behind the digits may make them another number."""
    if found["unclear"]:
        return True
    scale = found["scale"] or ""
    return style.comma and scale.casefold() in _AMBIGUOUS


def _find_power(parts: Mapping[str, str]) -> int:
    """The power of ten that the exponent and the scale of a number make."""
    exponent = unicodedata.normalize("NFKC", parts["exponent"]).replace("\u2212", "-")
    scale = parts["scale"].casefold().rstrip(".")
    return int(exponent or 0) + _POWERS.get(scale, 0)


def _parse_digits(written: str, power: int, style: Style) -> float | int | None:
    """The number that the digits stand for, times this power of ten; None when they make no number,
    such as 4.2.0.
    """
    plain = re.sub(r"[ \u00a0\u202f'\u2019]", "", written)
    if len(plain) > _LONGEST:
        return None
    decimal = _find_decimal_sign(plain, style)
    whole, fraction = plain, ""
    if decimal:
        whole, _, fraction = plain.rpartition(decimal)
    if not _GROUPED.fullmatch(whole):
        return None
    digits = re.sub(r"[.,]", "", whole)
    return _to_number(Decimal(f"{digits}.{fraction}E{power}"))


def _to_number(exact: Decimal) -> float | int | None:
    """The same number, whole where it can be; None when no float can hold it."""
    if abs(exact.adjusted()) > _LONGEST:
        return None
    numerator, denominator = exact.as_integer_ratio()
    if denominator == 1:
        return numerator
    return float(exact)


def _find_decimal_sign(plain: str, style: Style) -> str:
    """The point or comma before the decimals; empty where there are none."""
    signs: list[str] = re.findall(r"[.,]", plain)
    if len(set(signs)) == 2:
        return signs[-1]
    match signs:
        case [sign] if not _is_group_sign(sign, plain, style):
            return sign
    return ""  # none, or what separates thousands


def _is_group_sign(sign: str, plain: str, style: Style) -> bool:
    """Whether the only sign in a number separates thousands."""
    thousands = "." if style.comma else ","
    if sign != thousands:
        return False
    return _ONE_GROUP.fullmatch(plain) is not None


def _parse_date(found: re.Match[str], style: Style) -> str:
    """The date in ISO form; empty when it is not a date, or can be read in two ways."""
    # The groups of the one form that matched, without the numbers behind their names.
    # The groups of the one form that matched, without the numbers behind their names.
    parts = {group[0]: text for group, text in found.groupdict().items() if text}
    year = int(parts["y"])
    if "m" in parts:
        month = _to_month(parts["m"])
        return _to_iso(year, month, int(parts["d"]))
    first, second = int(parts["a"]), int(parts["b"])
    if first == second:
        return _to_iso(year, first, second)
    day_first = coalesce(_is_day_first(first, second), style.day_first)
    if day_first is None:
        return ""
    if day_first:
        return _to_iso(year, second, first)
    return _to_iso(year, first, second)


def _to_month(written: str) -> int:
    if written.isdigit():
        return int(written)
    return _MONTHS.get(written.casefold(), 0)


def _is_day_first(first: int, second: int) -> bool | None:
    """Whether the day stands before the month; None when the two numbers do not tell."""
    if (first > 12) == (second > 12):
        return None
    return first > 12


def _to_iso(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
