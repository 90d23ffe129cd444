"""Which unit answers a question, and how sure that is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from agentkit.llm.offline.expected import (
    defines_subject,
    fit,
    is_fragment,
    lacks_measure,
    looks_like_code,
    says_nothing_new,
)
from agentkit.llm.offline.question import Question
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import alike

Similarity = Callable[[str, Sequence[str]], Sequence[float]]

MOST_COMPARED = 48
"""So many units are compared by meaning; the others share no word and stand far down."""

# Bias, then weights of: coverage, meaning, fit to the kind of question, definition, rank of the passage, code, stub or question,
# words that no passage has, names that the unit lacks, no number, date or name where one is asked for. The first row is
# for words alone, the second with meaning; both were fitted to some 150 questions with an answer and 80 without.
_SCORE = (
    (0.0, 9.0, 0.0, 1.55, 2.6, 1.8, -0.9, -2.3, 0.0, -0.5, -1.0),
    (0.0, 6.5, 6.8, 1.4, 2.2, 0.9, -0.7, -2.3, 0.0, -0.45, -0.85),
)
_CHANCE = (
    (-5.3, 5.2, 0.0, 1.2, 1.0, 1.3, -0.4, -0.95, -2.7, -1.1, -0.85),
    (-6.6, 3.55, 6.3, 0.95, 0.8, 0.65, -0.6, -1.05, -2.2, -0.95, -0.75),
)
THRESHOLD = 0.45
"""A unit below this chance is no answer."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A unit with its score for one question and the chance that it answers it, both from 0 to 1."""

    unit: Unit
    score: float
    chance: float
    coverage: float
    meaning: float
    features: tuple[float, ...] = ()


class Ranker:
    """Ranks the units of one prompt; word weights come from the prompt itself."""

    def __init__(self, units: Sequence[Unit], similarity: Similarity | None = None) -> None:
        self.units = units
        self.similarity = similarity
        self._passages: dict[int, set[str]] = {}
        for unit in units:
            self._passages.setdefault(unit.rank, set()).update(unit.stems | unit.around)
        counts = Counter(one for unit in units for one in unit.stems | unit.around)
        self._weights = {one: math.log(1 + (len(units) + 1) / (count + 0.5)) for one, count in counts.items()}
        self._unseen = math.log(1 + (len(units) + 1) / 0.5)

    def weight(self, stem: str) -> float:
        """How much a word says: rare ones much, absent ones most."""
        return self._weights.get(stem, self._unseen)

    def rank(self, question: Question) -> list[Scored]:
        """The units that can be quoted, best first."""
        wanted = {one: self.weight(one) for one in question.stems}
        for one in question.measures:
            wanted.setdefault(one, 0.4 * self.weight(one))
        lent = 0.4 if len(question.stems) < 2 else 0.15
        for one in question.borrowed:
            wanted.setdefault(one, lent * self.weight(one))
        candidates = [(self._coverage(wanted, unit), unit) for unit in self.units if _quotable(unit)]
        candidates.sort(key=lambda found: (-found[0] + 0.02 * found[1].rank, found[1].index))
        candidates = candidates[:MOST_COMPARED]
        meanings = self._meanings(question, wanted, [unit for _, unit in candidates])
        missing = self._missing(question)
        scored = [self._scored(question, unit, coverage, meaning, missing)
                  for (coverage, unit), meaning in zip(candidates, meanings, strict=True)]  # fmt: skip
        return sorted(scored, key=lambda found: (-found.score, found.unit.index))

    def _meanings(self, question: Question, wanted: Collection[str], units: Sequence[Unit]) -> list[float]:
        if self.similarity is None or not units:
            return [-1.0] * len(units)
        return [float(value) for value in self.similarity(question.search_text, [unit.in_context(wanted) for unit in units])]

    def _coverage(self, wanted: dict[str, float], unit: Unit) -> float:
        total = sum(wanted.values())
        return sum(weight * self._found(one, unit) for one, weight in wanted.items()) / total if total else 0.0

    def _found(self, stem: str, unit: Unit) -> float:
        """How far a word is in the unit: itself, as a relative, in what the unit hangs on, or elsewhere in its passage."""
        if stem in unit.stems:
            return 1.0
        if not alike(stem).isdisjoint(unit.stems) or (len(stem) >= 5 and any(_akin(stem, other) for other in unit.stems)):
            return 0.8
        if stem in unit.around:
            return 0.75 if unit.shape == "item" else 0.55
        return 0.3 if stem in self._passages[unit.rank] else 0.0

    def _missing(self, question: Question) -> float:
        """Share of the question's weight whose words stand nowhere in the passages."""
        total = sum(self.weight(one) for one in question.stems)
        lost = sum(self.weight(one) for one in question.stems if one not in self._weights and not self._akin_known(one))
        return lost / total if total else 0.0

    def _akin_known(self, stem: str) -> bool:
        if any(other in self._weights for other in alike(stem)):
            return True
        return len(stem) >= 5 and any(_akin(stem, other) for other in self._weights)

    def _scored(self, question: Question, unit: Unit, coverage: float, meaning: float, missing: float) -> Scored:
        fits = fit(question, unit)
        features = (
            coverage,
            max(meaning, 0.0),
            fits,
            defines_subject(question, unit),
            1.0 / (1 + unit.rank),
            max(looks_like_code(unit.text), 0.5 * is_fragment(unit)),
            1.0 if unit.asks or says_nothing_new(question, unit) else 0.0,
            missing,
            self._names_missing(question, unit),
            1.0 if lacks_measure(question, fits) else 0.0,
        )
        by_meaning = self.similarity is not None
        return Scored(unit, _linear(_SCORE[by_meaning], features), _chance(features, by_meaning), coverage, meaning, features)

    def _names_missing(self, question: Question, unit: Unit) -> float:
        """Share of the names and numbers in the question that the unit and what is around it do not have."""
        lost = [one for one in question.names if self._found(one, unit) < 0.5]
        return len(lost) / len(question.names) if question.names else 0.0


def _chance(features: Sequence[float], by_meaning: bool) -> float:
    """That a unit with these features answers, by logistic regression over questions with and without an answer."""
    return 1 / (1 + math.exp(-_linear(_CHANCE[by_meaning], features)))


def _linear(weights: Sequence[float], features: Sequence[float]) -> float:
    bias, *factors = weights
    return bias + sum(weight * feature for weight, feature in zip(factors, features, strict=True))


def _quotable(unit: Unit) -> bool:
    """A heading is when it states something: with a number, as in a date or a version."""
    return unit.shape != "columns" and (
        unit.shape != "heading" or (len(unit.stems) > 2 and re.search(r"\d", unit.text) is not None)
    )


def _akin(one: str, other: str) -> bool:
    """Whether two stems are forms of one word: they begin alike for most of their length."""
    shorter = min(len(one), len(other))
    return (
        shorter >= 5
        and one[: max(5, (3 * shorter + 3) // 4)] == other[: max(5, (3 * shorter + 3) // 4)]
        and abs(len(one) - len(other)) <= 4
    )
