"""Numbers written out in English and German, and the small ones in French and Spanish."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

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


def in_words(text: str, language: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and value of each number in words; of `two million` that is the two."""
    pattern, values = _known(language)
    for found in pattern.finditer(text):
        parts = re.split(r"[- ]", found[0].lower())
        yield found.start(), found.end(), sum(values[part] for part in parts)


@cache
def _known(language: str) -> tuple[re.Pattern[str], dict[str, int]]:
    values = {"german": _german, "french": _french, "spanish": _spanish}.get(language, _english)()
    words = "|".join(sorted(values, key=len, reverse=True))
    tens, ones = "|".join(_TENS.split()), "|".join(_ONES.split()[:9])
    joined = rf"(?:{tens})[- ](?:{ones})|" if values.get("twenty") else ""
    return re.compile(rf"\b(?:{joined}{words})\b", re.IGNORECASE), values


def _english() -> dict[str, int]:
    values = {word: value for value, word in enumerate(_ONES.split(), 1)}
    values |= {word: 10 * value for value, word in enumerate(_TENS.split(), 2)}
    values |= {word: value for value, word in enumerate(_ORDINALS.split(), 1)}
    return values | {"twice": 2, "dozen": 12, "a": 1, "an": 1}


def _german() -> dict[str, int]:
    ones = dict(enumerate(_GERMAN_ONES.split(), 1))
    below = {word: value for value, word in ones.items() if value > 1} | {"eins": 1}
    below |= {word: value for value, word in enumerate(_GERMAN_TEENS.split(), 10)}
    for ten, word in enumerate(_GERMAN_TENS.split(), 2):
        below |= {word: 10 * ten} | {
            f"{one}und{word}": 10 * ten + value for value, one in ones.items()
        }
    ordinals = {
        f"{word}{end}": value
        for value, word in enumerate(_GERMAN_ORDINALS.split(), 3)
        for end in ("e", "en", "er", "es", "em")
    }
    hundreds = {f"{one}hundert": 100 * value for value, one in ones.items()}
    return below | ordinals | hundreds | {"zweimal": 2, "dreimal": 3}


def _french() -> dict[str, int]:
    return {word: value for value, word in enumerate(_FRENCH.split(), 2)}


def _spanish() -> dict[str, int]:
    return {word: value for value, word in enumerate(_SPANISH.split(), 2)}
