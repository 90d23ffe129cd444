"""Which unit answers a question, if any does; `extractive` explains the model."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agentkit.llm.offline.expected import measure_fit, says_nothing_new
from agentkit.llm.offline.question import Question
from agentkit.llm.offline.units import Unit
from agentkit.llm.offline.words import has_form_of, is_among

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

_DIGIT = re.compile(r"\d")
_SHORTEST_BEGINNING = 5
"""Letters that two words have in common, at least, where they are forms of one."""
_LONGEST_ENDING = 4
"""Letters that one of them may have more than the other."""


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
        self._passages: dict[int, set[str]] = defaultdict(set)
        self._counts = Counter[str]()
        for unit in units:
            known = unit.stems | unit.around
            self._passages[unit.rank] |= known
            self._counts.update(known)

    def weight(self, stem: str) -> float:
        """How much a word says: rare ones much, absent ones most (inverse document frequency)."""
        return math.log(1 + (len(self.units) + 1) / (self._counts[stem] + 0.5))

    def rank(self, question: Question) -> list[Scored]:
        """The units that can be quoted, best first."""
        wanted = self._find_wanted(question)
        telling = list(filter(partial(_can_answer, question), self.units))
        coverages = map(partial(self._measure_coverage, wanted), telling)
        covered = list(zip(coverages, telling, strict=True))
        covered.sort(key=lambda one: (-one[0], one[1].index))
        compared = covered[:MOST_COMPARED]

        meanings = self._measure_meanings(question, wanted, compared)
        scored = map(partial(_score, question), compared, meanings)
        return sorted(scored, key=lambda one: (-one.score, one.unit.index))

    def _find_wanted(self, question: Question) -> dict[str, float]:
        """The stems to look for, weighted; measured ones count half, borrowed ones a quarter."""
        wanted: dict[str, float] = {}
        shares = ((1, question.stems), (1 / 2, question.measures), (1 / 4, question.borrowed))
        for share, stems in shares:
            for one in stems:
                wanted.setdefault(one, share * self.weight(one))
        return wanted

    def _measure_coverage(self, wanted: Mapping[str, float], unit: Unit) -> float:
        """The share of the words, by how much they say, that the unit has."""
        said = unit.said
        had = sum(weight * self._nearness(one, unit, said) for one, weight in wanted.items())
        return had / (sum(wanted.values()) or 1.0)

    def _nearness(self, stem: str, unit: Unit, said: Collection[str]) -> float:
        """1 for a word in the unit, 1/2 in its heading, 1/4 elsewhere in its passage, else 0."""
        if is_among(stem, said) or has_form_of(stem, said, _SHORTEST_BEGINNING, _count_common):
            return 1.0
        if stem in unit.around:
            return 1 / 2
        if stem in self._passages[unit.rank]:
            return 1 / 4
        return 0.0

    def _measure_meanings(
        self, question: Question, wanted: Collection[str], found: Sequence[tuple[float, Unit]]
    ) -> Sequence[float]:
        """For each unit how close its meaning is to that of the question."""
        if self.similarity is None or not found:
            return [MEANING_OF_WORDS * coverage for coverage, _ in found]
        texts = [unit.in_context(wanted) for _, unit in found]
        return self.similarity(question.text, texts)


def _score(question: Question, covered: tuple[float, Unit], meaning: float) -> Scored:
    coverage, unit = covered
    features = (
        coverage,
        max(0.0, float(meaning)),
        measure_fit(question, unit),
        1 / (1 + unit.rank),
    )
    score = BIAS + sum(map(operator.mul, WEIGHTS, features))
    return Scored(unit, score, features)


def _can_answer(question: Question, unit: Unit) -> bool:
    """Whether it can be quoted and adds to the question, or is a question with an answer below."""
    if not _is_quotable(unit):
        return False
    return unit.asks or not says_nothing_new(question, unit)


def _is_quotable(unit: Unit) -> bool:
    """Whether it can be quoted; of headings only those that state a number, as in a date."""
    if unit.shape == "heading":
        return len(unit.stems) > 2 and _DIGIT.search(unit.text) is not None
    return unit.shape != "columns"


def _count_common(shorter: int, longer: int) -> int:
    """Letters that two words of these lengths have in common where they are forms of one."""
    if longer - shorter > _LONGEST_ENDING:
        return longer
    return (3 * shorter + 3) // 4
