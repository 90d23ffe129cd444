"""Numbers written out in English and German, and the small ones in French and Spanish."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import product

_SCALE_WORDS = {
    1e2: "hundred hundert",
    1e3: "k thousand tausend mille mil",
    1e6: "million millions millionen mio mn millones",
    1e9: "billion billions bn milliarde milliarden mrd milliards",
}
SCALES = {word: scale for scale, words in _SCALE_WORDS.items() for word in words.split()}
"""Words behind a number that multiply it."""
_COUNTED = (
    "steps stages phases parts ways things reasons conditions options kinds types cases groups"
    " points stufen schritte schritten teile teilen gründe gründen fälle fällen étapes pasos"
    " rounds times"
)
COUNTED = frozenset(_COUNTED.split())
"""What a summary counts itself: no passage needs to say that there are two of them."""

_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_GERMAN_ONES = "ein zwei drei vier fünf sechs sieben acht neun"
_GERMAN_TEENS = "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_GERMAN_ORDINALS = "dritt viert fünft sechst siebt acht neunt zehnt elft zwölft"
_FRENCH = "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
_SPANISH = "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"


def find_number_words(text: str, language: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and value of each number in words; of `two million` that is the two."""
    pattern, values = _find_words(language)
    for found in pattern.finditer(text):
        parts = re.split(r"[- ]", found[0].lower())
        yield *found.span(), sum(values[each] for each in parts)


@cache
def _find_words(language: str) -> tuple[re.Pattern[str], dict[str, int]]:
    """A pattern for the number words of a language, and their values; English by default."""
    values = _LANGUAGES.get(language, _name_english)()
    forms = sorted(values, key=len, reverse=True)
    if values.get("twenty"):
        tens, ones = "|".join(_TENS.split()), "|".join(_ONES.split()[:9])
        forms.insert(0, rf"(?:{tens})[- ](?:{ones})")
    return re.compile(rf"\b(?:{'|'.join(forms)})\b", re.IGNORECASE), values


def _count_from(first: int, words: str, step: int = 1) -> dict[str, int]:
    """Words with their values: `first` times `step`, then one step more for each word."""
    return {word: value * step for value, word in enumerate(words.split(), first)}


def _name_english() -> dict[str, int]:
    values = _count_from(1, _ONES) | _count_from(2, _TENS, 10) | _count_from(1, _ORDINALS)
    return values | {"twice": 2, "dozen": 12, "a": 1, "an": 1}


def _name_german() -> dict[str, int]:
    ones, tens = _count_from(1, _GERMAN_ONES), _count_from(2, _GERMAN_TENS, 10)
    hundreds = {f"{one}hundert": 100 * value for one, value in ones.items()}
    joined = {
        f"{one}und{ten}": tens[ten] + ones[one]  # einundzwanzig
        for ten, one in product(tens, ones)
    }
    ordinals = {
        f"{word}{ending}": value
        for word, value in _count_from(3, _GERMAN_ORDINALS).items()
        for ending in ("e", "en", "er", "es", "em")
    }
    del ones["ein"]  # the article
    values = ones | _count_from(10, _GERMAN_TEENS) | tens | joined | ordinals | hundreds
    return values | {"eins": 1, "zweimal": 2, "dreimal": 3}


def _name_french() -> dict[str, int]:
    return _count_from(2, _FRENCH)


def _name_spanish() -> dict[str, int]:
    return _count_from(2, _SPANISH)


_LANGUAGES = {"german": _name_german, "french": _name_french, "spanish": _name_spanish}
