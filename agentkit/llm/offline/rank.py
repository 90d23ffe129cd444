"""Which unit answers a question, if any does; `extractive` explains the model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agentkit.llm.offline.expected import fit, says_nothing_new
from agentkit.llm.offline.question import Question
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import alike

Similarity = Callable[[str, Sequence[str]], Sequence[float]]

MOST_COMPARED = 48
"""So many units are compared by meaning; the others share no word and stand far down."""

BIAS = -13.6
WEIGHTS = (9.0, 9.7, 1.8, 1.9)
"""Of the features in `Scored`."""
MEANING_OF_WORDS = 0.7
"""Stands in for the cosine, times the share of words, where nothing can embed.

All six are fitted by `python -m tests.bench.fit_offline` to `tests/bench/offline/questions.json`.
"""


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its score for one question; above 0 it is likelier than that nothing answers."""

    unit: Unit
    score: float
    features: tuple[float, float, float, float]
    """Share of the question's words, cosine of the meaning, fit to what is asked, early passage."""


class Ranker:
    """Ranks the units of one prompt; how much a word says comes from the prompt itself."""

    def __init__(self, units: Sequence[Unit], similarity: Similarity | None = None) -> None:
        self.units = units
        self.similarity = similarity
        self._passages: dict[int, set[str]] = {}
        for unit in units:
            self._passages.setdefault(unit.rank, set()).update(unit.stems | unit.around)
        self._counts = Counter(one for unit in units for one in unit.stems | unit.around)

    def weight(self, stem: str) -> float:
        """How much a word says: rare ones much, absent ones most (inverse document frequency)."""
        return math.log(1 + (len(self.units) + 1) / (self._counts.get(stem, 0) + 0.5))

    def rank(self, question: Question) -> list[Scored]:
        """The units that can be quoted, best first."""
        wanted = self._wanted(question)
        found = [
            (self._coverage(wanted, unit), unit)
            for unit in self.units
            if _quotable(unit) and (unit.asks or not says_nothing_new(question, unit))
        ]
        found.sort(key=lambda one: (-one[0], one[1].index))
        found = found[:MOST_COMPARED]
        meanings = self._meanings(question, wanted, found)
        scored = [
            _scored(question, unit, coverage, meaning)
            for (coverage, unit), meaning in zip(found, meanings, strict=True)
        ]
        return sorted(scored, key=lambda one: (-one.score, one.unit.index))

    def _wanted(self, question: Question) -> dict[str, float]:
        """The words to look for; what is measured counts half, what is lent a quarter."""
        wanted = {one: self.weight(one) for one in question.stems}
        for share, others in ((1 / 2, question.measures), (1 / 4, question.borrowed)):
            for one in others:
                wanted.setdefault(one, share * self.weight(one))
        return wanted

    def _coverage(self, wanted: Mapping[str, float], unit: Unit) -> float:
        """The share of the words, by how much they say, that the unit has."""
        said, total = unit.said, sum(wanted.values())
        had = sum(weight * self._has(one, unit, said) for one, weight in wanted.items())
        return had / total if total else 0.0

    def _has(self, stem: str, unit: Unit, said: Collection[str]) -> float:
        """How near a word is: in the unit 1, in its heading a half, in its passage a quarter."""
        if stem in said or not alike(stem).isdisjoint(said) or _form_of(stem, said):
            return 1.0
        if stem in unit.around:
            return 1 / 2
        return 1 / 4 if stem in self._passages[unit.rank] else 0.0

    def _meanings(
        self, question: Question, wanted: Collection[str], found: Sequence[tuple[float, Unit]]
    ) -> Sequence[float]:
        if not found:
            return []
        if self.similarity is None:
            return [MEANING_OF_WORDS * coverage for coverage, _ in found]
        return self.similarity(question.text, [unit.in_context(wanted) for _, unit in found])


def _scored(question: Question, unit: Unit, coverage: float, meaning: float) -> Scored:
    features = (coverage, max(0.0, float(meaning)), fit(question, unit), 1 / (1 + unit.rank))
    score = BIAS + sum(weight * one for weight, one in zip(WEIGHTS, features, strict=True))
    return Scored(unit, score, features)


def _quotable(unit: Unit) -> bool:
    """A heading is when it states something: with a number, as in a date or a version."""
    return unit.shape != "columns" and (
        unit.shape != "heading" or (len(unit.stems) > 2 and re.search(r"\d", unit.text) is not None)
    )


def _form_of(stem: str, others: Collection[str]) -> bool:
    """Whether another form of the word is there: both begin alike for most of their length."""
    return len(stem) >= 5 and any(_akin(stem, other) for other in others if len(other) >= 5)


def _akin(one: str, other: str) -> bool:
    begin = max(5, (3 * min(len(one), len(other)) + 3) // 4)
    return one[:begin] == other[:begin] and abs(len(one) - len(other)) <= 4
