"""The language of a sentence by its small words; in another language only figures are compared."""

from __future__ import annotations

import re

_WORDS = {
    "english": "the of and to is that for with as are be by this it from or at not have has which"
    " will was were been their an",
    "german": "der das und ist nicht mit für auf ein eine einen einem einer den dem des im zu zum"
    " zur von vom sich wird werden sind bei nach oder als wie aus wenn kann muss die es hat haben"
    " wurde wer dass",
    "french": "le les des et est une du dans pour que qui sur au aux avec ne pas par ce cette sont"
    " être il elle été",
    "spanish": "el los las y es una del en para que con por se no su al lo como está son",
    "italian": "il gli della che è di per con non una sono del nel dei alla si le",
    "dutch": "het een van en is dat met voor op zijn niet aan door wordt de bij ook",
    "portuguese": "o os as e é uma do da para que com não por em no na dos se",
}
_LANGUAGES = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_UMLAUT = re.compile("[äöüÄÖÜß]")
_LEAST = 2


def language_of(text: str) -> str:
    """Name of the language in English; empty when the small words do not tell."""
    words = _WORD.findall(text.lower())
    counts = {name: sum(word in small for word in words) for name, small in _LANGUAGES.items()}
    best, second = sorted(counts, key=lambda name: -counts[name])[:2]
    if counts[best] >= _LEAST and counts[best] > counts[second]:
        return best
    return "german" if _UMLAUT.search(text) else ""
