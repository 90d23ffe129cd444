"""Words of a text as they are compared: lower case, without accents, cut to their stem."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from functools import cache, lru_cache
from itertools import chain, filterfalse
from pathlib import Path

from agentkit.core.given import list_missing
from agentkit.core.normal import to_normal_form

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_LISTS = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
_SUFFIXES = "|".join(" ".join(_LISTS["suffixes"]).split())
_SUFFIX = re.compile(rf"(?s)(?<=...)(?:{_SUFFIXES})(?<!ss)\Z")
_DOUBLED = re.compile(r"(?s)(?<=..)([^lsz])\1\Z")
_SILENT = re.compile(r"(?s)(?<=...)[eiy]\Z")
_IRREGULAR = dict(pair.split("=") for pair in " ".join(_LISTS["irregular"]).split())

STOP = frozenset(" ".join(_LISTS["stop"]).split())
"""Words that say nothing of what is asked."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    return _WORD.findall(without_accents(text.lower()))


def find_content_words(text: str) -> list[str]:
    """The words of a text that carry meaning, in order."""
    return list_missing(words(text), STOP)


def stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order."""
    parts = chain.from_iterable(map(_split_word, find_content_words(text)))
    return list(map(stem, list_missing(parts, STOP)))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A word's stem: endings off, at least three letters left, numbers untouched."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if has_digit(word):
        return word.replace(",", "")

    owner = word.removesuffix("'s").removesuffix("’s")
    single = _DOUBLED.sub(r"\1", _SUFFIX.sub("", owner))
    return _SILENT.sub("", single)


@cache
def alike(one: str) -> frozenset[str]:
    """Stems that may stand for this one in an answer; empty for most."""
    return _read_groups().get(one, frozenset()) - {one}


def is_among(one: str, given: Collection[str]) -> bool:
    """Whether the stem or one of like meaning is among the given ones."""
    return one in given or not alike(one).isdisjoint(given)


def has_form_of(
    word: str, others: Iterable[str], shortest: int, least: Callable[[int, int], int]
) -> bool:
    """Whether one of the others is a form of the word: both begin alike for long enough.

    `least` gives how many letters that are, from the lengths of the shorter and the longer word;
    they are never fewer than `shortest`.
    """
    if len(word) < shortest:
        return False
    beginning = word[:shortest]
    for other in others:
        if other.startswith(beginning):
            letters = max(shortest, least(*sorted((len(word), len(other)))))
            if word[:letters] == other[:letters]:
                return True
    return False


def has_digit(text: str) -> bool:
    """Whether there is a digit in it."""
    return any(map(str.isdigit, text))


def without_accents(text: str) -> str:
    """The letters of a text without their accents."""
    return "".join(filterfalse(unicodedata.combining, to_normal_form("NFKD", text)))


@cache
def _read_groups() -> dict[str, frozenset[str]]:
    """For each stem of the lists the stems of like meaning, itself included."""
    found: dict[str, frozenset[str]] = {}
    for group in _LISTS["alike"]:
        members = frozenset(map(stem, group.split()))
        for one in members:
            found[one] = members.union(found.get(one, ()))
    return found


def _split_word(word: str) -> Iterable[str]:
    """A hyphenated word counts by its parts, a number with its signs stays whole."""
    if has_digit(word):
        return [word]
    return filter(None, re.split(r"[-.,]", word))
