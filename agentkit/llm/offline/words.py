"""Words of a text as they are compared: lower case, without accents, cut to their stem."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

from agentkit.core.normal import normalized

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_LISTS = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
_SUFFIXES: list[str] = " ".join(_LISTS["suffixes"]).split()
_IRREGULAR = dict(pair.split("=") for pair in " ".join(_LISTS["irregular"]).split())

STOP = frozenset(" ".join(_LISTS["stop"]).split())
"""Words that say nothing of what is asked."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    return _WORD.findall(_plain(text))


def stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order."""
    return [
        stem(part)
        for word in words(text)
        if word not in STOP
        for part in _parts(word)
        if part not in STOP
    ]


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word's stem: endings off, at least three letters left, numbers untouched."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if any(letter.isdigit() for letter in word):
        return word.replace(",", "")
    word = word.removesuffix("'s").removesuffix("’s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "eiy" else word


@cache
def alike(one: str) -> frozenset[str]:
    """Stems that may stand for this one in an answer; empty for most."""
    return frozenset(
        other for group in _groups() if one in group for other in group if other != one
    )


@cache
def _groups() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(stem(word) for word in group.split()) for group in _LISTS["alike"])


def _parts(word: str) -> list[str]:
    """A hyphenated word counts by its parts, a number with its signs stays whole."""
    return (
        [word]
        if any(letter.isdigit() for letter in word)
        else [part for part in re.split(r"[-.,]", word) if part]
    )


def _plain(text: str) -> str:
    decomposed = normalized("NFKD", text.lower())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
