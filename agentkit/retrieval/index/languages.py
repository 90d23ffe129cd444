"""Which language a text is in, of those whose words tantivy can stem.

English and German show in their function words, of a chunk or of the chunks that its document
begins with. What these leave open is decided per document by py3langid's model (Lui and Baldwin
2012, "langid.py: an off-the-shelf language identification tool"), which comes with its package. It
is loaded for the first such document: 0.3 s of processor time and 75 MB; a document then takes 1
ms.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any

STEMMED = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Tantivy's names of the languages that it stems, by their codes of ISO 639."""
WITHOUT_STOP_WORDS = frozenset(["arabic", "greek", "romanian", "tamil", "turkish"])
"""Those of them for which tantivy has no list of words without content."""

_PLAIN = 0.1
"""The share of function words from which a text is plainly English or German; French has up to 5 %
(`des`).
"""
_SURE = 0.5
"""The model's probability below which it says nothing."""
_SAMPLE = 1_000
"""Characters of a document that the model reads."""
_GERMAN = frozenset(
    [
        "der",
        "das",
        "und",
        "ist",
        "nicht",
        "mit",
        "für",
        "auf",
        "ein",
        "eine",
        "einen",
        "einem",
        "einer",
        "eines",
        "den",
        "dem",
        "des",
        "im",
        "zu",
        "zum",
        "zur",
        "von",
        "vom",
        "sich",
        "auch",
        "wird",
        "werden",
        "sind",
        "bei",
        "beim",
        "nach",
        "oder",
        "als",
        "wie",
        "aus",
        "wenn",
        "kann",
        "können",
        "muss",
        "müssen",
        "sie",
        "ich",
        "wir",
        "ihr",
        "es",
        "über",
        "durch",
        "nur",
        "noch",
        "haben",
        "hat",
    ]
)
_ENGLISH = frozenset(
    [
        "the",
        "of",
        "and",
        "to",
        "is",
        "that",
        "for",
        "with",
        "as",
        "on",
        "are",
        "be",
        "by",
        "this",
        "it",
        "from",
        "or",
        "at",
        "not",
        "have",
        "has",
        "you",
        "we",
        "which",
        "can",
        "will",
    ]
)
_UMLAUT = re.compile("[äöüÄÖÜß]")
_LETTER = re.compile(r"[^\W\d_]")
_READING = threading.Lock()
"""Held while the model is read, so that only one thread does."""


def language(text: str) -> str:
    """`german` or `english` by the function words in normal text, German also by umlauts without
    any; empty if unclear.
    """
    return _decide(text, *_counts(text)[:2])


def _decide(text: str, german: int, english: int) -> str:
    if german > english:
        return "german"
    if english > german:
        return "english"
    if not german and _UMLAUT.search(text):
        return "german"
    return ""


def languages_of(chunks: Sequence[str]) -> list[str]:
    """The language of each chunk of one document; empty if unclear, or one that tantivy does not
    stem.

    A chunk that is plainly English or German is that; the others are in the language of the
    document.
    """
    found = list(map(_plain_language, chunks))
    if all(found):
        return found
    whole = _first_language(found, chunks) or _identify(_take_sample(chunks))
    may_be_either = whole in ("", "english", "german")
    for place, text in enumerate(chunks):
        if found[place]:
            continue
        found[place] = whole
        if may_be_either:
            found[place] = language(text) or whole
    return found


def prepare(chunks: Sequence[str]) -> None:
    """Begin to read the model if these chunks of one document need it, on a thread of its own: it
    takes half a second, in which they can be embedded.
    """
    if _begin_to_read.cache_info().currsize:
        return
    found = list(map(_plain_language, chunks))
    if all(found) or _first_language(found, chunks):
        return
    if _LETTER.search(_take_sample(chunks)):
        _begin_to_read()


def _plain_language(text: str) -> str:
    german, english, words = _counts(text)
    if max(german, english) <= _PLAIN * words:
        return ""
    return _decide(text, german, english)


def _counts(text: str) -> tuple[int, int, int]:
    """German function words, English ones, and all words."""
    words = text.lower().split()
    german = sum(map(_GERMAN.__contains__, words))
    english = sum(map(_ENGLISH.__contains__, words))
    return german, english, len(words)


def _first_language(found: Sequence[str], chunks: Sequence[str]) -> str:
    """The language of the chunks that the model would read, where all are plainly of that one."""
    ends = accumulate(map(len, chunks))
    read = 1 + sum(end < _SAMPLE for end in ends)
    if read > len(chunks) or len(set(found[:read])) > 1:
        return ""
    return found[0]


def _take_sample(chunks: Sequence[str]) -> str:
    return "\n".join(chunks)[:_SAMPLE]


def _identify(text: str) -> str:
    if not _LETTER.search(text):
        return ""
    code, probability = _model().classify(text)
    if probability < _SURE:
        return ""
    return STEMMED.get(code, "")


@cache
def _begin_to_read() -> None:
    threading.Thread(target=_model, name="agentkit-languages", daemon=True).start()


def _model() -> Any:
    with _READING:
        return _read()


@cache
def _read() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
