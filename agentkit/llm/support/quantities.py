"""Quantities in a text: numbers in digits and words, with their units, made comparable."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from agentkit.llm.support.number_words import COUNTED, SCALES, in_words
from agentkit.llm.support.units import UNITS

_SPACE = "[ \u00a0\u2009\u202f'’]"
_NUMBER = re.compile(
    rf"(?<![\w.,])(?:(?P<money>[€$£¥]|EUR|USD|GBP|CHF|US\$)\s?)?(?P<sign>[-−]|\bminus )?"
    rf"(?P<digits>\d{{1,3}}(?:{_SPACE}\d{{3}})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
    r"(?P<ordinal>(?:st|nd|rd|th)\b|s\b(?<=\d0s))?"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_UNIT = re.compile(
    r"[ \u00a0\u202f-]?(per ?cent\b|km/h|[€$£¥](?!\s?\d)|[%°µ]?[^\W\d_]*)", re.IGNORECASE
)
_SCALE = re.compile(
    rf"[ \u00a0-]?({'|'.join(sorted(SCALES, key=len, reverse=True))})\b\.?", re.IGNORECASE
)
_BETWEEN = re.compile(
    r"\s*(?:to|and|or|bis|und|oder|à|et|ou|y|o|-|–|—|,)\s*(?:[€$£]|EUR|USD|GBP)?\s*",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|more than|over|less than|under"
    r"|up to|rund|etwa|circa|ca\.|fast|knapp|über|gut|environ|près de|casi|unos)"
    r"\s*(?:[€$£]|EUR|USD|GBP)?\s*\Z",
    re.IGNORECASE,
)
_PARTS_OF_TIME = {
    re.compile(r"\bthree[- ]quarters of an hour\b|\bdreiviertelstunde\b", re.IGNORECASE): (
        45.0,
        "minutes",
    ),
    re.compile(r"\bquarter of an hour\b|\bquarter[- ]hour\b|\bviertelstunde\b", re.IGNORECASE): (
        15.0,
        "minutes",
    ),
    re.compile(r"\bhalf an hour\b|\bhalf[- ]hour\b|\bhalbe stunde\b", re.IGNORECASE): (
        30.0,
        "minutes",
    ),
    re.compile(r"\bhalf a year\b|\bhalbes jahr\b", re.IGNORECASE): (6.0, "months"),
}
_SHARES = {
    re.compile(r"\b(?:half|hälfte|moitié|mitad)\b", re.IGNORECASE): 50.0,
    re.compile(r"\b(?:a|one) quarter\b|\bviertel\b", re.IGNORECASE): 25.0,
    re.compile(r"\bthree[- ]quarters\b|\bdreiviertel\b", re.IGNORECASE): 75.0,
}
"""Shares in words; a sentence that has one is not asked for it, as `half` has other meanings."""
_FORMULA = re.compile(r"(?<![\w$\\])(\$\$?)(?=\S)([^$\n]*[^$\s\\])\1(?![\w$])")
_INDEX = re.compile(r"[\^_](?:\{[^{}]*\}|[-−]?\w)")
_CLOSE = 1e-6


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as the text has it, and what it may mean: `1.200` may be 1200 or 1.2."""

    text: str
    start: int
    end: int
    values: tuple[float, ...]
    unit: str = ""
    """As it stands in lower case; empty when no known unit follows."""
    about: bool = False
    """Whether the text says that it is rounded or a bound."""
    needed: bool = True
    """Whether a passage has to say it, too: `one` may be a pronoun, `two steps` may be counted."""

    @property
    def is_year(self) -> bool:
        """Whether it looks like a year."""
        return len(self.text) == 4 and self.text.isdigit() and 1000 <= int(self.text) <= 2199

    @property
    def is_decade(self) -> bool:
        """Whether it is written like `1980s`."""
        return self.text.endswith("0s")


def quantities(text: str, language: str) -> list[Quantity]:
    """All numbers of a text in their order."""
    found = sorted(
        [*_parts(text), *_digits(text), *_words(text, language)],
        key=lambda one: (one.start, -one.end),
    )
    apart = [
        one for place, one in enumerate(found) if place == 0 or one.start >= found[place - 1].end
    ]
    return list(_with_shared_units(text, apart))


def without_signs(text: str) -> str:
    """As long as before, but formulas have no `$` and no exponents: these are no amounts.

    What only stands between two prices is no formula.
    """

    def blank(found: re.Match[str]) -> str:
        body, sign = found[2], " " * len(found[1])
        telling = r"[\\^]|^[\d.,]+$" if body[0].isdigit() else r"[\\^_={]|^[A-Za-z]$"
        if not re.search(telling, body):
            return found[0]
        return sign + _INDEX.sub(lambda index: " " * len(index[0]), body) + sign

    return _FORMULA.sub(blank, text)


def says(passage: Iterable[Quantity], wanted: Quantity) -> bool:
    """Whether one of the passage's quantities is the wanted one, in whatever unit and form."""
    return any(_same(wanted, one) for one in passage)


def _same(wanted: Quantity, given: Quantity) -> bool:
    if wanted.is_decade != given.is_decade and given.is_decade:
        return False
    if wanted.is_decade:
        return any(
            int(one // 10) == int(two // 10) for one in wanted.values for two in given.values
        )
    if wanted.unit and given.unit:
        mine, theirs = UNITS[wanted.unit], UNITS[given.unit]
        if mine.kinds.isdisjoint(theirs.kinds):
            return False
        return _any_close(wanted, mine.factor, given, theirs.factor)
    return _any_close(wanted, 1.0, given, 1.0)


def _any_close(wanted: Quantity, factor: float, given: Quantity, other: float) -> bool:
    pairs = [(one * factor, two * other) for one in wanted.values for two in given.values]
    if any(math.isclose(one, two, rel_tol=_CLOSE) for one, two in pairs):
        return True
    coarser = _digits_that_count(wanted.text) < _digits_that_count(given.text)
    return (
        wanted.about and coarser and any(math.isclose(one, two, rel_tol=0.1) for one, two in pairs)
    )


def _digits_that_count(text: str) -> int:
    return len(re.sub(r"\D", "", text).strip("0")) or 1


def _digits(text: str) -> Iterator[Quantity]:
    for found in _NUMBER.finditer(text):
        if text[found.end() : found.end() + 1].isalpha() and not _unit(text, found.end())[0]:
            continue  # a code such as 573c
        sign = (
            -1.0 if found["sign"] and not text[: found.start()].rstrip(" ")[-1:].isdigit() else 1.0
        )
        raw = found["digits"] + (found["ordinal"] or "")
        made = Quantity(
            raw,
            found.start(),
            found.end(),
            tuple(sign * each for each in _readings(found["digits"])),
        )
        money = (found["money"] or "").lower()
        yield _measured(text, replace(made, unit=money) if money in UNITS else made)


def _readings(digits: str) -> Iterator[float]:
    plain = re.sub(_SPACE, "", digits)
    if plain != digits and "," not in plain and "." not in plain:
        yield float(plain)
        return
    signs = [sign for sign in plain if sign in ".,"]
    if not signs:
        yield float(plain)
    elif len(set(signs)) == 2 and signs.count(signs[-1]) == 1:
        yield float(plain.replace(signs[0], "").replace(signs[-1], "."))
    elif len(signs) > 1:
        yield float(re.sub("[.,]", "", plain))
    else:
        whole, _, rest = plain.partition(signs[0])
        yield float(f"{whole}.{rest}")
        if len(rest) == 3 and len(whole) <= 3 and whole != "0":
            yield float(whole + rest)


def _words(text: str, language: str) -> Iterator[Quantity]:
    for start, end, value in in_words(text, language):
        made = _measured(text, Quantity(text[start:end], start, end, (float(value),)))
        counted = _WORD.match(text, end + 1)
        loose = (
            value == 1
            or text[start:end].lower() == "second"
            or (value <= 4 and counted is not None and counted[0].lower() in COUNTED)
        )
        yield replace(made, needed=not loose)


def _parts(text: str) -> Iterator[Quantity]:
    for pattern, (value, unit) in _PARTS_OF_TIME.items():
        for found in pattern.finditer(text):
            yield Quantity(found[0], found.start(), found.end(), (value,), unit)
    for pattern, value in _SHARES.items():
        for found in pattern.finditer(text):
            yield Quantity(found[0], found.start(), found.end(), (value,), "%", needed=False)


def _measured(text: str, made: Quantity) -> Quantity:
    """With the scale and the unit that follow, and whether it is rounded."""
    values, end = made.values, made.end
    if scale := _SCALE.match(text, end):
        values, end = tuple(each * SCALES[scale[1].lower()] for each in values), scale.end()
    unit, after = _unit(text, end)
    if text[end:after] == "m":  # metres, or millions as in `1.2m`
        values, unit, end = (*values, *(each * 1e6 for each in values)), "", after
    about = _ABOUT.search(text[max(0, made.start - 24) : made.start]) is not None
    return replace(
        made, values=values, end=after if unit else end, unit=unit or made.unit, about=about
    )


def _unit(text: str, at: int) -> tuple[str, int]:
    """The known unit that stands there, and where it ends."""
    found = _UNIT.match(text, at)
    if found is None:
        return "", at
    return next(((name, found.end()) for name in _spellings(found[1]) if name in UNITS), ("", at))


@cache
def _spellings(unit: str) -> tuple[str, ...]:
    """As it stands, then in lower case: capitals tell a few units apart."""
    return (unit, unit.lower().replace(" ", "")) if unit else ()


def _with_shared_units(text: str, found: list[Quantity]) -> Iterator[Quantity]:
    """In `2 to 8 °C` and `from 51 to 47 million` the unit and the scale are of both."""
    for place, one in enumerate(found):
        following = found[place + 1] if place + 1 < len(found) else None
        if (
            following is None
            or one.is_year
            or not _BETWEEN.fullmatch(text, one.end, following.start)
        ):
            yield one
            continue
        ratio = _scale_of(text, following)
        more = (
            tuple(each * ratio for each in one.values)
            if ratio > 1 and _scale_of(text, one) == 1
            else ()
        )
        yield replace(one, unit=one.unit or following.unit, values=(*one.values, *more))


def _scale_of(text: str, one: Quantity) -> float:
    found = _SCALE.match(text, one.start + len(one.text))
    return SCALES[found[1].lower()] if found else 1.0
