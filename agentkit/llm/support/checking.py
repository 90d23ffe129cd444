"""Whether a passage says what a sentence claims: figures, dates, names, negation, meaning.

It cannot tell that a claim is true, only that something in it does not stand in the passage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from heapq import nlargest
from itertools import chain, filterfalse, islice
from typing import TYPE_CHECKING, Any, Literal

from agentkit.llm.offline.words import is_among, stems
from agentkit.llm.support import names
from agentkit.llm.support.claims import Claim, Marker, bare, claims
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

if TYPE_CHECKING:
    import numpy as np

Verdict = Literal["supported", "doubtful", "missing", "unchecked"]
"""`missing`: the marker names no passage; `unchecked`: there was too little to compare."""
DoubtKind = Literal["number", "date", "name", "negation", "passage"]
"""What the passage does not say; `passage`: it speaks of something else."""
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
class Doubt:
    """What a passage does not say, as the answer has it; empty when it is about something else."""

    kind: DoubtKind
    what: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of checking one marker of an answer; `at` is where its bracket opens there."""

    marker: int
    at: int
    verdict: Verdict
    kind: DoubtKind | None = None
    what: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it travels with a message under `checks`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What figures, names and words tell of a claim; no verdict where they do not decide."""

    verdict: Verdict | None
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """One marker of an answer with the passages of its claim, and what was found."""

    marker: Marker
    claim: str
    sources: Mapping[int, Source]
    judgement: _Judgement

    def to_checked(self) -> Checked:
        """What is told of it before anything is compared by meaning."""
        number, at = self.marker.number, self.marker.at
        if number not in self.sources:
            return Checked(number, at, "missing")
        if self.judgement.doubt is None:
            return Checked(number, at, self.judgement.verdict or "supported")
        return Checked(number, at, "doubtful", **asdict(self.judgement.doubt))

    def find_undecided(self) -> list[Source]:
        """The passages that still have to be compared by meaning; none when it is clear.

        Of several passages for one claim each has to say something of it.
        """
        own, verdict = self.sources.get(self.marker.number), self.judgement.verdict
        if own is None or verdict in ("unchecked", "doubtful"):
            return []
        left = list(self.sources.values()) if verdict is None else []
        if len(self.sources) == 1 or _share(set(stems(self.claim)), own.stems) >= WORDS_FEW:
            return left
        return [own]


@dataclass(frozen=True, slots=True)
class _Open:
    """A claim to be compared with passages by meaning, and its place among what is checked."""

    claim: str
    sources: Sequence[Source]
    place: int = 0


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
    also = read_computed(computed)
    judged: list[_Judged] = []
    for claim in claims(answer[:_READ]):
        judged += _judge_markers(claim, passages, also)

    made = [one.to_checked() for one in judged]
    left = list(islice(_find_open(judged), _COMPARED))
    for one in _find_beside_the_point(left, embed):
        made[one.place] = replace(made[one.place], verdict="doubtful", kind="passage")
    return made


def doubt_of(
    sentence: str, passage: str, embed: Embed | None = None, about: str = ""
) -> Doubt | None:
    """What one passage does not say of one sentence; None when nothing speaks against it."""
    claim, source = bare(sentence[:READ_OF_PASSAGE]), read_passage(passage, about)
    judgement = _judge(claim, [source])
    if judgement.verdict is None and _find_beside_the_point([_Open(claim, [source])], embed):
        return Doubt("passage")
    return judgement.doubt


def _judge_markers(
    claim: Claim, passages: Mapping[int, tuple[str, str]], also: Sequence[Source]
) -> Iterator[_Judged]:
    """Each marker of a claim."""
    cited = [marker.number for marker in claim.markers if marker.number in passages]
    sources = {number: read_passage(*passages[number]) for number in cited}
    judgement = _judge(claim.text, list(sources.values()), also)
    for marker in claim.markers:
        yield _Judged(marker, claim.text, sources, judgement)


def _find_open(judged: Sequence[_Judged]) -> Iterator[_Open]:
    """The markers of which words alone do not decide."""
    for place, one in enumerate(judged):
        if left := one.find_undecided():
            yield _Open(one.claim, left, place)


def _judge(claim: str, sources: Sequence[Source], also: Sequence[Source] = ()) -> _Judgement:
    """By figures, names and words; `also` has figures that no passage needs to say."""
    if not sources:
        return _Judgement("unchecked")
    said = join_sources(sources)
    if said.says_word_for_word(claim):
        return _Judgement("supported")

    language = language_of(claim) or sources[0].language
    if doubt := _find_wrong_figure(claim, language, join_sources([*sources, *also])):
        return _Judgement("doubtful", doubt)
    if language and said.languages.isdisjoint(("", language)):
        return _Judgement("unchecked")
    if doubt := _find_wrong_name(claim, language, said) or _find_wrong_turn(claim, said):
        return _Judgement("doubtful", doubt)
    return _Judgement(_judge_words(claim, language, said))


def _judge_words(claim: str, language: str, said: Source) -> Verdict | None:
    """Whether the passages have most words of a claim, of which there have to be some."""
    wanted = set(stems(claim))
    if sum(map(str.isalpha, wanted)) < 2:
        return "supported" if read_figures(claim, language).are_any() else "unchecked"
    return "supported" if _share(wanted, said.stems) >= WORDS_ENOUGH else None


def _find_wrong_figure(claim: str, language: str, said: Source) -> Doubt | None:
    """The first date, code or number that is not told."""
    return next(_find_wrong_figures(claim, read_figures(claim, language), said), None)


def _find_wrong_figures(claim: str, figures: Figures, said: Source) -> Iterator[Doubt]:
    for moment in filterfalse(said.says_moment, figures.moments):
        yield Doubt("date", moment.text)
    for code in filterfalse(said.says_code, figures.codes):
        yield Doubt("name", code)
    for quantity in filterfalse(said.says_quantity, figures.quantities):
        kind: DoubtKind = "date" if quantity.is_date else "number"
        yield Doubt(kind, claim[quantity.start : quantity.end].strip())


def _find_wrong_name(claim: str, language: str, said: Source) -> Doubt | None:
    """A name that is not told; in German, where each noun has a capital, none that opens."""
    unknown = list(filterfalse(said.says_name, names.names(claim, language)))
    if unknown:
        return Doubt("name", _join_names(claim, unknown))
    first = names.opening_name(claim)
    if not first or language == "german" or said.says_name(first):
        return None

    rest = set(stems(claim[claim.index(first) + len(first) :]))
    if len(rest) >= _LEAST_WORDS and _share(rest, said.stems) >= _NEARLY_ALL:
        return Doubt("name", first)
    return None


def _join_names(claim: str, unknown: Sequence[str]) -> str:
    """The first unknown name with those directly behind it: a first name with the surname."""
    whole = unknown[0]
    for name in unknown[1:]:
        if f"{whole} {name}" not in claim:
            break
        whole = f"{whole} {name}"
    return whole


def _find_wrong_turn(claim: str, said: Source) -> Doubt | None:
    """Whether nearly the same clause is negated there and this one is not, or vice versa."""
    doubts = (_compare_negation(clause, said.units) for clause in CLAUSES.split(claim))
    return next(filter(None, doubts), None)


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
    nearness = [_nearness(wanted, unit.stems) for unit in units]
    near = max(nearness, default=0.0)
    if near < _CLOSE:
        return ""
    return units[nearness.index(near)].text


def _nearness(one: Collection[str], other: Collection[str]) -> float:
    """The share of words in common, of that side which has less in common."""
    return min(_share(one, other), _share(other, one))


def _share(wanted: Collection[str], given: Collection[str]) -> float:
    """Share of the stems that are there, also as a word of like meaning or in another form."""
    if not wanted:
        return 0.0
    return sum(_stands_among(one, given) for one in wanted) / len(wanted)


def _stands_among(one: str, given: Collection[str]) -> bool:
    return is_among(one, given) or _has_form_of(one, given)


def _has_form_of(one: str, given: Collection[str]) -> bool:
    """Whether another form of the word is there: one that begins alike."""
    if len(one) < _LEAST_ALIKE:
        return False
    beginning = one[:_LEAST_ALIKE]
    return any(_begin_alike(one, other) for other in given if other.startswith(beginning))


def _begin_alike(one: str, other: str) -> bool:
    least = max(_LEAST_ALIKE, round(0.6 * max(len(one), len(other))))
    return one[:least] == other[:least]


def _find_beside_the_point(pairs: Sequence[_Open], embed: Embed | None) -> list[_Open]:
    """The claims of which the passages speak of something else."""
    if embed is None or not pairs:
        nearness, limits = list(map(_compare_words, pairs)), _FEW_WORDS
    else:
        nearness, limits = _compare_meanings(pairs, embed), _FAR_MEANING
    compared = zip(pairs, nearness, strict=True)
    return [pair for pair, near in compared if near < limits[_agree(pair)]]


def _compare_words(pair: _Open) -> float:
    return _share(set(stems(pair.claim)), join_sources(pair.sources).stems)


def _compare_meanings(pairs: Sequence[_Open], embed: Embed) -> list[float]:
    """Cosine of each claim to the nearest sentences of its passages; all are embedded at once."""
    compared = [[pair.claim, *_find_nearest(pair)] for pair in pairs]
    texts = list(dict.fromkeys(chain.from_iterable(compared)))
    rows = dict(zip(texts, embed(texts), strict=True))
    return [
        max((float(rows[claim] @ rows[other]) for other in others), default=0.0)
        for claim, *others in compared
    ]


def _agree(pair: _Open) -> bool:
    """Whether the claim has figures and the passages have them, too."""
    said = join_sources(pair.sources)
    language = language_of(pair.claim) or pair.sources[0].language
    figures = read_figures(pair.claim, language)
    return figures.are_any() and not any(_find_wrong_figures(pair.claim, figures, said))


def _find_nearest(pair: _Open) -> list[str]:
    """The sentences of each source that have most words of the claim."""
    wanted = set(stems(pair.claim))
    found: list[Unit] = []
    for source in pair.sources:
        found += nlargest(_NEAREST, source.sentences, key=lambda one: _share(wanted, one.stems))
    return [one.text for one in found]
