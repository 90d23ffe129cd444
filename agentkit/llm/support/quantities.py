"""Quantities in a text: numbers in digits and words, with their units, made comparable."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, pairwise, product, starmap

from agentkit.llm.support.number_words import COUNTED, SCALES, find_number_words
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
_SHARE = "%"
_PARTS = {
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): quantity
    for pattern, quantity in {
        "three[- ]quarters of an hour|dreiviertelstunde": (45.0, "minutes"),
        "quarter of an hour|quarter[- ]hour|viertelstunde": (15.0, "minutes"),
        "half an hour|half[- ]hour|halbe stunde": (30.0, "minutes"),
        "half a year|halbes jahr": (6.0, "months"),
        "half|hälfte|moitié|mitad": (50.0, _SHARE),
        "(?:a|one) quarter|viertel": (25.0, _SHARE),
        "three[- ]quarters|dreiviertel": (75.0, _SHARE),
    }.items()
}
"""Parts in words; a sentence that has a share is not asked for it, as `half` has other meanings."""
_FORMULA = re.compile(r"(?<![\w$\\])(\$\$?)(?=\S)([^$\n]*[^$\s\\])\1(?![\w$])")
_TELLING = re.compile(r"(?=\d)(?:.*[\\^]|[\d.,]+\Z)|(?!\d)(?:.*[\\^_={]|[A-Za-z]\Z)")
"""What stands between two `$` in a formula; less tells one that begins with a letter."""
_INDEX = re.compile(r"[\^_](?:\{[^{}]*\}|[-−]?\w)")
_CLOSE, _ROUGHLY = 1e-6, 0.1
_BEFORE = 24  # characters before a number that tell whether it is rounded
_COUNTED_MOST = 4
_MILLION = 1e6
_GROUPED = re.compile(r"(?!0[.,])\d{1,3}[.,]\d{3}")
_YEAR = re.compile(r"1\d{3}|2[01]\d\d")


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
        return _YEAR.fullmatch(self.text) is not None

    @property
    def is_decade(self) -> bool:
        """Whether it is written like `1980s`."""
        return self.text.endswith("0s")

    @property
    def is_date(self) -> bool:
        """Whether it looks like a year or a decade."""
        return self.is_year or self.is_decade

    @property
    def decades(self) -> set[float]:
        """The decades of its possible values: 198 for 1985."""
        return set(map(decade_of, self.values))


def decade_of(year: float) -> float:
    """198 for 1985."""
    return year // 10


def find_quantities(text: str, language: str) -> list[Quantity]:
    """All numbers of a text in their order."""
    read = chain(_read_parts(text), _read_digits(text), _read_words(text, language))
    found = sorted(read, key=lambda one: (one.start, -one.end))
    apart = [two for one, two in pairwise(found) if two.start >= one.end]
    return list(_share_units(text, found[:1] + apart))


def blank_formulas(text: str) -> str:
    """As long as before, but without the `$` and the exponents of formulas, which are not amounts.

    Text between two prices is kept, as it only looks like a formula.
    """

    return _FORMULA.sub(_blank_formula, text)


def _blank_formula(found: re.Match[str]) -> str:
    body, sign = found[2], " " * len(found[1])
    if not _TELLING.match(body):
        return found[0]
    return sign + _INDEX.sub(_blank, body) + sign


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def has_quantity(passage: Iterable[Quantity], wanted: Quantity) -> bool:
    """Whether one of the passage's quantities is the wanted one, in whatever unit and form."""
    return any(map(partial(_is_same, wanted), passage))


def _is_same(wanted: Quantity, given: Quantity) -> bool:
    if wanted.is_decade:
        return not wanted.decades.isdisjoint(given.decades)
    if given.is_decade:
        return False
    if not wanted.unit or not given.unit:
        return _is_near(wanted, given, product(wanted.values, given.values))

    mine, theirs = UNITS[wanted.unit], UNITS[given.unit]
    if mine.kinds.isdisjoint(theirs.kinds):
        return False
    measured = product(mine.measure(wanted.values), theirs.measure(given.values))
    return _is_near(wanted, given, measured)


def _is_near(wanted: Quantity, given: Quantity, pairs: Iterable[tuple[float, float]]) -> bool:
    """Whether two of their values are the same, or nearly so where the wanted one is rounded."""
    is_rounded = wanted.about and _count_digits(wanted.text) < _count_digits(given.text)
    tolerance = _CLOSE
    if is_rounded:
        tolerance = _ROUGHLY
    return any(starmap(partial(math.isclose, rel_tol=tolerance), pairs))


def _count_digits(text: str) -> int:
    """The number of significant digits: zeros at either end do not count."""
    return max(1, len(re.sub(r"\D", "", text).strip("0")))


def _read_digits(text: str) -> Iterator[Quantity]:
    """The numbers in digits."""
    for found in _NUMBER.finditer(text):
        if _is_glued(text, found.end()):
            continue  # a code such as 573c
        values = tuple(_read_values(found["digits"]))
        if _is_negative(text, found):
            values = _scale(values, -1.0)
        raw = text[found.start("digits") : found.end()]
        money = found.groupdict("")["money"].lower()
        yield _measure(text, Quantity(raw, *found.span(), values, money))


def _scale(values: Iterable[float], factor: float) -> tuple[float, ...]:
    return tuple(factor * value for value in values)


def _is_glued(text: str, end: int) -> bool:
    """Whether letters follow that are not a unit."""
    return text[end : end + 1].isalpha() and not _find_unit(text, end)[0]


def _is_negative(text: str, found: re.Match[str]) -> bool:
    """Whether it has a minus sign, not a dash between two numbers."""
    before = text[: found.start()].rstrip(" ")
    return bool(found["sign"]) and not before[-1:].isdigit()


def _read_values(digits: str) -> Iterator[float]:
    """The possible values of digits, as a comma or point may be decimal or separate thousands."""
    plain = re.sub(_SPACE, "", digits)
    whole = re.sub("[.,]", "", plain)
    signs = re.findall("[.,]", plain)
    if len(set(signs)) == 2 and signs.count(signs[-1]) == 1:
        yield float(plain.replace(signs[0], "").replace(signs[-1], "."))
    elif len(signs) == 1:
        yield float(plain.replace(",", "."))
        if _GROUPED.fullmatch(plain):
            yield float(whole)
    else:
        yield float(whole)


def _read_words(text: str, language: str) -> Iterator[Quantity]:
    """The numbers in words; small ones may be pronouns or counted by the sentence itself."""
    for start, end, value in find_number_words(text, language):
        raw = text[start:end]
        made = _measure(text, Quantity(raw, start, end, (float(value),)))
        loose = (value == 1, raw.lower() == "second", _is_counted(text, end, value))
        yield replace(made, needed=not any(loose))


def _is_counted(text: str, end: int, value: int) -> bool:
    """Whether a small number only counts things such as steps or parts."""
    counted = _WORD.match(text, end + 1)
    if value > _COUNTED_MOST or counted is None:
        return False
    return counted[0].lower() in COUNTED


def _read_parts(text: str) -> Iterator[Quantity]:
    """Parts of something in words, as half an hour."""
    for pattern, (value, unit) in _PARTS.items():
        needed = unit != _SHARE
        for found in pattern.finditer(text):
            yield Quantity(found[0], *found.span(), (value,), unit, needed=needed)


def _measure(text: str, made: Quantity) -> Quantity:
    """The quantity with the scale and unit behind it, and whether it is said to be rounded."""
    factor, end = _find_scale(text, made.end)
    values = _scale(made.values, factor)
    unit, after = _find_unit(text, end)
    if text[end:after] == "m":  # metres, or millions as in `1.2m`
        values += _scale(values, _MILLION)
        unit = ""
    before = text[max(0, made.start - _BEFORE) : made.start]
    return replace(
        made,
        values=values,
        end=after,
        unit=unit or made.unit,
        about=_ABOUT.search(before) is not None,
    )


def _find_scale(text: str, at: int) -> tuple[float, int]:
    """By what a word at this place multiplies, and where it ends; 1 and `at` without one."""
    found = _SCALE.match(text, at)
    if found is None:
        return 1.0, at
    return SCALES[found[1].lower()], found.end()


def _find_unit(text: str, at: int) -> tuple[str, int]:
    """The known unit at this place and where it ends; an empty text and `at` without one."""
    found = _UNIT.match(text, at)
    assert found is not None, "the pattern takes an empty text, too"
    for name in _spellings(found[1]):
        if name in UNITS:
            return name, found.end()
    return "", at


@cache
def _spellings(unit: str) -> tuple[str, ...]:
    """The unit as written, then in lower case: a few units differ only in capitals."""
    return unit, unit.lower().replace(" ", "")


def _share_units(text: str, found: list[Quantity]) -> Iterator[Quantity]:
    """The quantities; in `2 to 8 °C` or `51 to 47 million` the first gets unit and scale, too."""
    for one, following in pairwise(found):
        joined = _BETWEEN.fullmatch(text, one.end, following.start)
        if joined and not one.is_year:
            yield _share_unit(text, one, following)
        else:
            yield one
    yield from found[-1:]


def _share_unit(text: str, one: Quantity, following: Quantity) -> Quantity:
    """The quantity with the unit and scale of the following one where it has none itself."""
    values, own, ratio = one.values, _read_scale(text, one), _read_scale(text, following)
    if own == 1 < ratio:
        values += _scale(values, ratio)
    return replace(one, unit=one.unit or following.unit, values=values)


def _read_scale(text: str, of: Quantity) -> float:
    """By what the word behind a number multiplies it."""
    ratio, _ = _find_scale(text, of.start + len(of.text))
    return ratio
