"""Which unit answers a question, and how sure that is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from agentkit.llm.extract.question import Kind, Question
from agentkit.llm.extract.units import Unit
from agentkit.llm.extract.words import stems

Similarity = Callable[[str, Sequence[str]], Sequence[float]]

MOST_COMPARED = 48
"""So many units are compared by meaning; the others share no word and stand far down."""

# Bias, then weights of: coverage, meaning, fit to the kind of question, definition, rank of the passage, code, stub or question,
# words that no passage has, names that the unit lacks. By words alone, and with meaning.
_SCORE = ((0.0, 7.9, 0.0, 1.25, 2.4, 1.3, -1.2, -2.6, 0.0, -0.3), (0.0, 5.3, 5.9, 1.0, 1.6, 0.7, -1.0, -2.3, 0.0, -0.3))
_CHANCE = ((-4.6, 5.2, 0.0, 0.9, 0.8, 0.55, -0.4, -1.0, -2.8, -1.2), (-6.0, 3.1, 6.2, 0.9, 0.75, 0.4, -0.5, -1.0, -2.2, -1.1))
THRESHOLD = 0.45
"""A unit below this chance is no answer."""

_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_NUMBER_WORD = r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred|thousand|million|half|twice|once)"
_PERIOD = r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?|decades?|annually|monthly|weekly|daily|yearly)"
_EXPECTED: dict[Kind, re.Pattern[str]] = {
    "person": re.compile(r"(?<![.!?:] )(?<!^)\b[A-ZÄÖÜ][\w’'-]+|\b[A-Z][\w’'-]+ [A-Z][\w’'-]+|@|\b\w+(?:or|er|ist|ee|ian|man|head|staff|team)s?\b"),
    "time": re.compile(
        rf"\b(?:1\d|20)\d\d\b|\b\d{{1,2}}[:.]\d\d\b|\b\d{{1,2}} ?(?:am|pm|a\.m\.|p\.m\.)|\b{_MONTH}\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
        rf"|\b(?:midnight|noon|morning|evening|today|tomorrow|when|before|after|until|upon|during|{_PERIOD})\b",
        re.IGNORECASE,
    ),
    "duration": re.compile(rf"\b{_PERIOD}\b|\b(?:\d+|{_NUMBER_WORD}) times\b|\b(?:once|twice)\b|\b(?:permanent|perpetual|indefinite|forever|until|always|every)\w*\b", re.IGNORECASE),
    "number": re.compile(rf"\d|\b{_NUMBER_WORD}\b|\b(?:free|no charge|unlimited|both|single|pair)\b", re.IGNORECASE),
    "place": re.compile(r"\b(?:in|at|on|to|from|near|under|into|within|inside|beside|behind|above|below)\b|/|@"),
    "reason": re.compile(r"\b(?:because|since|due to|so that|in order to|therefore|reason|cause[sd]?|as a result|thus|to avoid|to prevent|for this"
                         r"|otherwise|leads? to|prevents?|ensures?|so)\b", re.IGNORECASE),
    "way": re.compile(r"\b(?:by|using|use|via|through|must|should|first|then|click|run|call|set|press|open|select|enter|send|with)\b", re.IGNORECASE),
}  # fmt: skip
_DEFINING = re.compile(
    r"\A\W*(?:an? |the |when )?(.{1,80}?)\W*(?:\(.{1,60}\)\W*)?\s*"
    r"(?::|[–—]|\b(?:is|are|was|were|shall|means?|refers?|denotes?|stands?|derives|consists?|describes|defines|allows?|provides|causes?|lets)\b)",
    re.IGNORECASE,
)


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
        counts = Counter(one for unit in units for one in unit.stems | unit.around)
        self._weights = {one: math.log(1 + (len(units) + 1) / (count + 0.5)) for one, count in counts.items()}
        self._unseen = math.log(1 + (len(units) + 1) / 0.5)

    def weight(self, stem: str) -> float:
        """How much a word says: rare ones much, absent ones most."""
        return self._weights.get(stem, self._unseen)

    def rank(self, question: Question) -> list[Scored]:
        """The units that can be quoted, best first."""
        wanted = {one: self.weight(one) for one in question.stems}
        for one in question.borrowed:
            wanted.setdefault(one, 0.4 * self.weight(one))
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
        if not total:
            return 0.0
        return sum(weight * self._found(one, unit) for one, weight in wanted.items()) / total

    def _found(self, stem: str, unit: Unit) -> float:
        if stem in unit.stems:
            return 1.0
        if stem in unit.around:
            return 0.7
        if len(stem) >= 5 and any(_akin(stem, other) for other in unit.stems):
            return 0.8
        return 0.0

    def _missing(self, question: Question) -> float:
        """Share of the question's weight whose words stand nowhere in the passages."""
        total = sum(self.weight(one) for one in question.stems)
        lost = sum(self.weight(one) for one in question.stems if one not in self._weights and not self._akin_known(one))
        return lost / total if total else 0.0

    def _akin_known(self, stem: str) -> bool:
        return len(stem) >= 5 and any(_akin(stem, other) for other in self._weights)

    def _scored(self, question: Question, unit: Unit, coverage: float, meaning: float, missing: float) -> Scored:
        features = (
            coverage,
            max(meaning, 0.0),
            fit(question, unit),
            defines_subject(question, unit),
            1.0 / (1 + unit.rank),
            max(looks_like_code(unit.text), 0.5 * _is_fragment(unit)),
            1.0 if unit.text.endswith("?") or _says_nothing_new(question, unit) else 0.0,
            missing,
            self._names_missing(question, unit),
        )
        by_meaning = self.similarity is not None
        return Scored(unit, _linear(_SCORE[by_meaning], features), _chance(features, by_meaning), coverage, meaning, features)

    def _names_missing(self, question: Question, unit: Unit) -> float:
        """Share of the names and numbers in the question that the unit and what is around it do not have."""
        lost = [one for one in question.names if not self._found(one, unit)]
        return len(lost) / len(question.names) if question.names else 0.0


def _chance(features: Sequence[float], by_meaning: bool) -> float:
    """That a unit with these features answers, by logistic regression over questions with and without an answer."""
    return 1 / (1 + math.exp(-_linear(_CHANCE[by_meaning], features)))


def _linear(weights: Sequence[float], features: Sequence[float]) -> float:
    bias, *factors = weights
    return bias + sum(weight * feature for weight, feature in zip(factors, features, strict=True))


def _quotable(unit: Unit) -> bool:
    """A heading is when it states something: with a number, as in a date or a version."""
    return unit.shape != "columns" and (unit.shape != "heading" or (len(unit.stems) > 2 and re.search(r"\d", unit.text) is not None))


def _is_fragment(unit: Unit) -> bool:
    return unit.shape in ("sentence", "heading") and unit.text[-1] not in ".!:;)\"”»。！"


def _says_nothing_new(question: Question, unit: Unit) -> bool:
    """Whether it only repeats the words of the question, or is hardly a statement at all."""
    known = set(question.stems) | set(question.borrowed)
    return len(unit.stems) < 3 and unit.shape == "sentence" or len(unit.stems - known) < (1 if unit.shape == "row" or re.search(r"\d", unit.text) else 2)


def looks_like_code(text: str) -> float:
    """0 for prose to 1 for code, links and other signs."""
    signs = sum(not (letter.isalnum() or letter.isspace() or letter in ".,;:'’\"“”()-–%€$£") for letter in text)
    return min(1.0, 8.0 * max(0.0, signs / (len(text) or 1) - 0.03))


def fit(question: Question, unit: Unit) -> float:
    """Whether the unit holds the kind of thing that is asked for, beside what the question itself says: 0 to 1."""
    pattern = _EXPECTED.get(question.kind)
    if pattern is None:
        return 0.5
    return 1.0 if any(not _said(found.group(), question) for found in pattern.finditer(unit.text)) else 0.0


def defines_subject(question: Question, unit: Unit) -> float:
    """1 where a definition is asked for and the unit begins with what is to be defined."""
    if question.kind != "definition":
        return 0.0
    begun = _DEFINING.match(unit.text)
    if begun is None:
        return 0.0
    subject = set(stems(begun[1]))
    return 1.0 if subject and subject <= set(question.stems) | set(question.borrowed) else 0.0


def _said(found: str, question: Question) -> bool:
    return found.lower() in question.text.lower()


def _akin(one: str, other: str) -> bool:
    """Whether two stems are forms of one word: they begin alike for most of their length."""
    shorter = min(len(one), len(other))
    return shorter >= 5 and one[: max(5, (3 * shorter + 3) // 4)] == other[: max(5, (3 * shorter + 3) // 4)] and abs(len(one) - len(other)) <= 4
