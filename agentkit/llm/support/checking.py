"""Whether a passage says what a sentence claims: figures, dates, names, negation, meaning.

It cannot tell that a claim is true, only that something in it does not stand in the passage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from heapq import nlargest
from itertools import accumulate, chain, compress, filterfalse, islice, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING

from agentkit.llm.offline.words import has_form_of, is_among, stems
from agentkit.llm.support import names
from agentkit.llm.support.claims import Claim, Marker, find_claims, strip_markers
from agentkit.llm.support.sources import (
    CLAUSES,
    READ_OF_PASSAGE,
    Figures,
    Source,
    Unit,
    join_sources,
    language_of,
    read_computed,
    read_figures,
    read_passage,
)
from agentkit.llm.support.verdicts import Checked, Doubt, DoubtKind, Verdict

if TYPE_CHECKING:
    import numpy as np

Embed = Callable[[Sequence[str]], "np.ndarray"]
"""Vectors of length 1, a row for each text."""

WORDS_ENOUGH = 0.55
"""Share of a claim's words that a passage has, from which on it speaks of the same thing."""
WORDS_FEW = 0.3
"""The same where no vectors can be had: below, it speaks of something else."""
WORDS_FEW_WITH_FIGURE = 0.15
"""The same for a claim with a figure, which the passage has: that alone is much in common."""
MEANING_ENOUGH = 0.5
"""Cosine to the nearest sentences of the passage, from which on it speaks of the same thing."""
MEANING_WITH_FIGURE = 0.3
"""The same for a claim with such a figure."""
_FEW_WORDS = {False: WORDS_FEW, True: WORDS_FEW_WITH_FIGURE}
_FAR_MEANING = {False: MEANING_ENOUGH, True: MEANING_WITH_FIGURE}
"""By whether the claim has a figure that the passages have, too."""
_NEAREST = 2
_LEAST_WORDS = 3
"""Words of a clause, or behind a name, that can be compared."""
_NEARLY_ALL = 0.8
"""Share of the other words from which on an unknown word that opens is taken for a name."""
_LEAST_ALIKE = 5
"""Letters that two forms of a word have in common."""
_READ = 100_000
"""Characters of an answer whose markers are checked; longer ones are not even shown as Markdown."""
_COMPARED = 300
"""Markers of one answer that are compared by meaning, at most: nobody reads more."""
_CLOSE = 0.65
"""Share of words in common from which on a negation on one side alone is a contradiction."""
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|cannot|neither|nor|nobody|nothing|without|nicht|kein\w*|nie|niemals"
    r"|ohne|pas|jamais|aucun\w*|sans|nunca|ninguna?|sin)\b|n['’]t\b",
    re.IGNORECASE,
)
_NEARLY_NEGATION = re.compile(
    r"\b(?:un(?:able|less|til|like\w*)|only|except\w*|exclud\w*|prohibit\w*|forb\w*|ban(?:ned|s)?"
    r"|refus\w*|den(?:y|ie[sd])|lack\w*|fail\w*|impossible|prevent\w*|avoid\w*|rather|instead"
    r"|few\w*|hardly|rarely|stop\w*|miss\w*|free|insufficient|at least|nur|außer\w*|verboten\w*"
    r"|untersag\w*|statt\w*|kaum|ausgeschlossen\w*)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What figures, names and words tell of a claim."""

    verdict: Verdict
    doubt: Doubt | None = None
    is_sure: bool = True
    """False where only the meaning can decide."""


_MISSING = _Judgement("missing")


class _Comparison:
    """A claim with the passages that it cites, compared by figures, names and words.

    Figures that stand in `also` need not stand in a passage.
    """

    def __init__(self, claim: str, sources: Sequence[Source], also: Sequence[Source] = ()) -> None:
        self.claim = claim
        self.sources = sources
        self.said = join_sources(sources)
        self._figures_said = join_sources([*sources, *also])

    @cached_property
    def language(self) -> str:
        """The language of the claim, or of the passages where the claim does not show it."""
        return language_of(self.claim) or self.sources[0].language

    @cached_property
    def stems(self) -> set[str]:
        """The stems of the claim."""
        return set(stems(self.claim))

    @cached_property
    def figures(self) -> Figures:
        """The figures of the claim."""
        return read_figures(self.claim, self.language)

    @cached_property
    def judgement(self) -> _Judgement:
        """What can be said without comparing by meaning."""
        if self.said.says_word_for_word(self.claim):
            return _Judgement("supported")
        if doubt := next(self._find_doubts(), None):
            return _Judgement("doubtful", doubt)
        if self._is_foreign():
            return _Judgement("unchecked")
        return self._judge_words()

    def _judge_words(self) -> _Judgement:
        """Whether the passages have most words of the claim."""
        if sum(map(str.isalpha, self.stems)) >= 2:
            return _Judgement("supported", is_sure=self.share_words() >= WORDS_ENOUGH)
        if self.figures.are_any():
            return _Judgement("supported")
        return _Judgement("unchecked")

    def _is_foreign(self) -> bool:
        """Whether the passages are in another language, so that words cannot be compared."""
        return self.language != "" and self.said.languages.isdisjoint(("", self.language))

    def share_words(self) -> float:
        """The share of the claim's words that the passages have."""
        return _share(self.stems, self.said.stems)

    def _find_doubts(self) -> Iterator[Doubt]:
        """What no passage has, the surest first."""
        yield from self._find_wrong_figures(self._figures_said)
        if self._is_foreign():
            return
        yield from self._find_wrong_names()
        yield from self._find_wrong_opening()
        yield from self._find_wrong_turns()

    def _find_wrong_figures(self, said: Source) -> Iterator[Doubt]:
        """The dates, codes and numbers that are not among what is said."""
        for moment in filterfalse(said.says_moment, self.figures.moments):
            yield Doubt("date", moment.text)
        for code in filterfalse(said.says_code, self.figures.codes):
            yield Doubt("name", code)
        for quantity in filterfalse(said.says_quantity, self.figures.quantities):
            kind: DoubtKind = "number"
            if quantity.is_date:
                kind = "date"
            yield Doubt(kind, self.claim[quantity.start : quantity.end].strip())

    def agrees_in_figures(self) -> bool:
        """Whether the claim has figures, and the passages have all of them."""
        return self.figures.are_any() and not any(self._find_wrong_figures(self.said))

    def _find_wrong_names(self) -> Iterator[Doubt]:
        """The first name that no passage has."""
        names_inside = names.find_names(self.claim, self.language)
        unknown = list(filterfalse(self.said.says_name, names_inside))
        if unknown:
            yield Doubt("name", _join_names(self.claim, unknown))

    def _find_wrong_opening(self) -> Iterator[Doubt]:
        """The first word if it is a name, and all that no passage has; not for German nouns."""
        opening = names.find_opening_names(self.claim, self.language)
        for first in filterfalse(self.said.says_name, opening):
            _, _, rest = self.claim.partition(first)
            others = set(stems(rest))
            if len(others) >= _LEAST_WORDS and _share(others, self.said.stems) >= _NEARLY_ALL:
                yield Doubt("name", first)

    def _find_wrong_turns(self) -> Iterator[Doubt]:
        """A negation in a clause or in the nearest one of the passages, but not in both."""
        compare = partial(_compare_negation, units=self.said.units)
        return filter(None, map(compare, CLAUSES.split(self.claim)))

    def find_nearest(self) -> list[str]:
        """The sentences of each passage that have most words of the claim."""
        found: list[str] = []
        for source in self.sources:
            nearest = nlargest(_NEAREST, source.sentences, key=self._share_with)
            found += map(attrgetter("text"), nearest)
        return found

    def _share_with(self, unit: Unit) -> float:
        return _share(self.stems, unit.stems)


@dataclass(frozen=True, slots=True)
class _Judged:
    """One marker of an answer with the passages of its claim by number, and what was found."""

    marker: Marker
    sources: Mapping[int, Source]
    comparison: _Comparison
    judgement: _Judgement

    def to_checked(self) -> Checked:
        """The result before anything is compared by meaning."""
        checked = Checked(self.marker.number, self.marker.at, self.judgement.verdict)
        if self.judgement.doubt is None:
            return checked
        return replace(checked, **asdict(self.judgement.doubt))

    def find_undecided(self) -> _Comparison | None:
        """What has to be compared by meaning; None if the verdict is clear.

        Of several passages for one claim each has to say something of it.
        """
        if self.judgement.verdict != "supported":
            return None
        own = self.sources[self.marker.number]
        if len(self.sources) > 1 and _share(self.comparison.stems, own.stems) < WORDS_FEW:
            return _Comparison(self.comparison.claim, [own])
        if self.judgement.is_sure:
            return None
        return self.comparison


def check(
    answer: str,
    passages: Mapping[int, tuple[str, str]],
    embed: Embed | None = None,
    computed: Sequence[str] = (),
) -> list[Checked]:
    """Every marker of an answer, in order; `passages` has text and source line by number.

    `embed` decides where words alone do not; it is called once at most. Figures that stand in
    what was `computed` need not stand in a passage.
    """
    judge = partial(_judge_markers, passages=passages, also=read_computed(computed))
    judged = list(chain.from_iterable(map(judge, find_claims(answer[:_READ]))))
    made = list(map(_Judged.to_checked, judged))
    left = dict(islice(_find_undecided(judged), _COMPARED))
    for place in compress(left, _find_strays(list(left.values()), embed)):
        made[place] = replace(made[place], verdict="doubtful", kind="passage")
    return made


def _find_undecided(judged: Sequence[_Judged]) -> Iterator[tuple[int, _Comparison]]:
    """What only the meaning can decide, each with its place."""
    for place, one in enumerate(judged):
        comparison = one.find_undecided()
        if comparison is not None:
            yield place, comparison


def doubt_of(
    sentence: str, passage: str, embed: Embed | None = None, about: str = ""
) -> Doubt | None:
    """What one passage does not say of one sentence; None when nothing speaks against it."""
    claim = strip_markers(sentence[:READ_OF_PASSAGE])
    comparison = _Comparison(claim, [read_passage(passage, about)])
    judgement = comparison.judgement
    if not judgement.is_sure and any(_find_strays([comparison], embed)):
        return Doubt("passage")
    return judgement.doubt


def _judge_markers(
    claim: Claim, passages: Mapping[int, tuple[str, str]], also: Sequence[Source]
) -> Iterator[_Judged]:
    """Each marker of a claim."""
    sources: dict[int, Source] = {}
    for number in map(attrgetter("number"), claim.markers):
        if number in passages:
            sources[number] = read_passage(*passages[number])
    comparison = _Comparison(claim.text, list(sources.values()), also)
    for marker in claim.markers:
        judgement = _MISSING
        if marker.number in sources:
            judgement = comparison.judgement
        yield _Judged(marker, sources, comparison, judgement)


def _join_names(claim: str, unknown: Sequence[str]) -> str:
    """The first unknown name with those directly behind it: a first name with the surname."""
    *_, whole = takewhile(claim.__contains__, accumulate(unknown, "{} {}".format))
    return whole


def _compare_negation(clause: str, units: Sequence[Unit]) -> Doubt | None:
    """Whether a clause and the one of the passage that is nearest to it differ in a negation."""
    wanted = set(stems(clause))
    if len(wanted) < _LEAST_WORDS or _NEARLY_NEGATION.search(clause):
        return None
    best = _find_counterpart(wanted, units)
    if not best or _NEARLY_NEGATION.search(best):
        return None

    negated = list(filter(None, map(_NEGATION.search, (clause, best))))
    if len(negated) != 1:
        return None
    return Doubt("negation", negated[0][0])


def _find_counterpart(wanted: Collection[str], units: Sequence[Unit]) -> str:
    """The unit that has most in common with a clause; empty where none has enough."""
    nearness = list(map(partial(_nearness, wanted), map(attrgetter("stems"), units)))
    near = max(nearness, default=0.0)
    if near < _CLOSE:
        return ""
    return units[nearness.index(near)].text


def _nearness(one: Collection[str], other: Collection[str]) -> float:
    """The share of words in common, of that side which has less in common."""
    return min(_share(one, other), _share(other, one))


def _share(wanted: Collection[str], given: Collection[str]) -> float:
    """Share of the stems that are there, also as a word of like meaning or in another form."""
    return sum(map(partial(_stands_among, given), wanted)) / max(1, len(wanted))


def _stands_among(given: Collection[str], one: str) -> bool:
    return is_among(one, given) or has_form_of(one, given, _LEAST_ALIKE, _count_alike)


def _count_alike(shorter: int, longer: int) -> int:
    return round(0.6 * longer)


def _find_strays(compared: Sequence[_Comparison], embed: Embed | None) -> list[bool]:
    """For each claim whether its passages speak of something else."""
    if embed is None or not compared:
        nearness, limits = list(map(_Comparison.share_words, compared)), _FEW_WORDS
    else:
        nearness, limits = _compare_meanings(compared, embed), _FAR_MEANING
    pairs = zip(compared, nearness, strict=True)
    return [near < limits[one.agrees_in_figures()] for one, near in pairs]


def _compare_meanings(compared: Sequence[_Comparison], embed: Embed) -> list[float]:
    """Cosine of each claim to the nearest sentences of its passages; all are embedded at once."""
    texts = [[one.claim, *one.find_nearest()] for one in compared]
    unique = list(dict.fromkeys(chain.from_iterable(texts)))
    rows = dict(zip(unique, embed(unique), strict=True))
    nearness = []
    for claim, *others in texts:
        cosines = (rows[claim] @ rows[other] for other in others)
        nearness.append(max(map(float, cosines), default=0.0))
    return nearness
