"""Names of fields as documents write them: their words, and how well a label fits them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import filterfalse, takewhile

from agentkit.core.given import list_missing
from agentkit.teams.extraction.schema import Field
from agentkit.teams.extraction.values import Found, to_unit

EXACT, NEAR, DESCRIBED, SENTENCE = range(4)
"""Ranks of what speaks for a value, the best first: the words of the name, these among others,
words of its description, a sentence with the name.
"""
_ALIASES = {
    "no": "number",
    "nr": "number",
    "num": "number",
    "qty": "quantity",
    "tel": "phone",
    "telephone": "phone",
    "mobile": "phone",
    "mail": "email",
    "addr": "address",
    "dob": "birth",
    "id": "identifier",
}
_ARTICLES = frozenset({"the", "a", "an"})
_FILLERS = _ARTICLES.union(
    ["of", "in", "for", "and", "to", "is", "our", "your", "this", "at", "by", "per"]
)
_WEAK = frozenset({"amount", "value", "name"})
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMAIL = re.compile(r"\be-mail\b")
_WORD = re.compile(r"[^\W_]+|%|[$€£]")
_PLURAL = re.compile(r"(?<=..)(?P<ies>ies)\Z|(?<=.ss|..x|.ch|.sh)es\Z|(?<=..[^sui])s\Z")


@lru_cache(maxsize=20_000)
def split_words(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared: small, singular, `no.` as `number`, camelCase and
    snake_case apart.
    """
    spaced = _CAMEL.sub(" ", name)
    for sign in ("№", "#"):
        spaced = spaced.replace(sign, " number ")
    plain = _EMAIL.sub("email", spaced.casefold())
    words = _WORD.findall(plain)
    return tuple(_ALIASES.get(word) or _to_singular(word) for word in words)


def select_core(words: Sequence[str]) -> frozenset[str]:
    """The words that a name must share with a label: without articles, and without `amount` and the
    like beside others.
    """
    meaningful = frozenset(words) - _FILLERS
    telling = meaningful - _WEAK
    return telling or meaningful


def _to_singular(word: str) -> str:
    return _PLURAL.sub(lambda ending: "y" if ending["ies"] else "", word)


# Words that may stand between a name and its value in a sentence without making it the value of
# something else.
_LINKING = frozenset(
    split_words(
        "the a an is are was were be will has have had of at to for in on by from since until up"
        " about around only exactly least most stays costs lasts takes amounts totals weighs"
        " measures runs comes falls due ends begins starts dated paid per each every it"
    )
)
_TURNING = frozenset(
    split_words("under without beyond except before after despite no not less plus outside within")
)


@dataclass(frozen=True, slots=True)
class Match:
    """How well a label fits a name, and the words of the name that it lacks: what is around it has
    to say them.
    """

    rank: int
    missing: frozenset[str] = frozenset()


class FieldName:
    """How a field may be called in a document; `title` has words that any name may be beside."""

    def __init__(self, field: Field, title: frozenset[str]) -> None:
        plain = field.name.replace(".", " ").replace("_", " ")
        name = split_words(re.sub(r"\bin\s+(?=\w{1,8}$)", " ", plain))
        self.is_number = field.kind in ("number", "integer")
        self._unit = ""
        if len(name) > 1:
            self._unit = to_unit(name[-1])
        self._full = frozenset(name)
        self.core = select_core(name)
        self._cores = {self.core}
        if self._unit:
            self.core = select_core(name[:-1])
            self._cores.add(self.core)
        meaning = re.split(r"\b(?:not|without|except)\b", field.description, maxsplit=1)[0]
        parts = re.split(r"[,;/()]|\bor\b", meaning)
        phrases = [split_words(part) for part in parts]
        short = [phrase for phrase in phrases if len(phrase) in range(1, 5)]
        self._phrases = set(map(select_core, short))
        described = split_words(meaning)
        self._described = _join(described)
        self._allowed = title | {*described, self._unit}

    def unit_beside(self, words: Sequence[str]) -> str:
        """The unit that a value must have beside these words; empty where they name it, or where
        the field has none.
        """
        if self._unit in map(to_unit, words):
            return ""
        return self._unit

    def match(self, label: Sequence[str]) -> Match | None:
        """How a label fits the name; None when it does not."""
        core = select_core(label)
        if core in self._cores:
            return Match(EXACT)
        if self._is_exact_with_unit(label):
            return Match(EXACT)
        beside = core - self.core
        is_extended = self.core < core and beside <= self._allowed
        if is_extended:
            return Match(NEAR)
        if core in self._phrases:
            return Match(DESCRIBED)
        is_described = len(core) > 1 and _join(label) in self._described
        if is_described:
            return Match(DESCRIBED)
        words = frozenset(label)
        if words < self._full:
            missing = self._full - words
            return Match(NEAR, missing)
        return None

    def is_beside(self, clause: str, number: Found) -> bool:
        """Whether the name stands before or behind a number, with nothing around it that makes it
        the number of something else.

        In "a repair under warranty takes 12 days" they are not the warranty's.
        """
        before = split_words(clause[: number.start])
        behind = split_words(clause[number.start :].lstrip("$€£+-.,0123456789"))
        if self._count_to_name(behind) > 0:
            return True
        size = self._count_to_name(before[::-1])
        if size == 0:
            return False
        leading = list_missing(before[: len(before) - size], _ARTICLES)
        return _TURNING.isdisjoint(leading[-1:])

    def _is_exact_with_unit(self, label: Sequence[str]) -> bool:
        """Whether it is the name of a number and a unit, as in "Weight (kg)"."""
        if not self.is_number:
            return False
        without_unit = list(filterfalse(to_unit, label))
        core = select_core(without_unit)
        known = self._cores - {frozenset()}
        return core in known

    def _count_to_name(self, words: Sequence[str]) -> int:
        """How many words it takes to have the whole name; 0 when something else stands before
        that.
        """
        near = list(takewhile(self._may_pass, words))
        if not self.core.issubset(near):
            return 0
        places = map(near.index, self.core)
        return 1 + max(places, default=-1)

    def _may_pass(self, word: str) -> bool:
        known = _LINKING | self._full | self._allowed
        if word in known:
            return True
        return to_unit(word) != ""


def _join(words: Sequence[str]) -> str:
    """Words in one text, so that one of them is found only as a whole."""
    return f" {' '.join(words)} "
