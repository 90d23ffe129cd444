"""Whether a passage says what a sentence claims: figures, dates, names, negation, meaning.

It cannot tell that a claim is true, only that something in it does not stand in the passage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from agentkit.core.text import sentences
from agentkit.llm.offline.words import alike, stems
from agentkit.llm.support import dates, names
from agentkit.llm.support.claims import bare, claims
from agentkit.llm.support.quantities import Quantity, quantities, without_signs
from agentkit.llm.support.quantities import says as says_quantity

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
_NEAREST = 2
_READ = 100_000
"""Characters of an answer whose markers are checked; longer ones are not even shown as Markdown."""
_READ_OF_PASSAGE = 20_000
"""Characters of a passage that are looked at; real ones are a tenth of that."""
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


_CLAUSES = re.compile(r"[,;:–—]\s|\s(?:and|but|while|whereas|und|aber|et|mais|y|pero)\s")


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
        return {name: getattr(self, name) for name in ("marker", "at", "verdict", "kind", "what")}


@dataclass(slots=True)
class _Source:
    """A passage taken apart; `about` says where it stands: its words count, its figures do not."""

    text: str
    about: str = ""
    language: str = ""
    words: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)
    acronyms: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)
    moments: list[dates.Moment] = field(default_factory=list)
    quantities: list[Quantity] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    """Its sentences and their clauses."""

    def numbers(self) -> set[float]:
        """All that its numbers may mean."""
        return {value for one in self.quantities for value in one.values}


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
    also = [_figures_alone("\n".join(computed)[:_READ_OF_PASSAGE])] if computed else []
    made: list[Checked] = []
    open_: list[tuple[str, Sequence[_Source], int]] = []
    for claim in claims(answer[:_READ]):
        sources = {
            one.number: _taken(*passages[one.number])
            for one in claim.markers
            if one.number in passages
        }
        verdict, doubt = _judged(claim.text, list(sources.values()), also)
        for one in claim.markers:
            if one.number not in sources:
                made.append(Checked(one.number, one.at, "missing"))
                continue
            if (
                doubt is None
                and len(open_) < _COMPARED
                and (left := _undecided(claim.text, verdict, sources, one.number))
            ):
                open_.append((claim.text, left, len(made)))
            kind, what = (doubt.kind, doubt.what) if doubt else (None, "")
            made.append(Checked(one.number, one.at, verdict or "supported", kind, what))
    for place in _beside_the_point([(text, sources) for text, sources, _ in open_], embed):
        told = made[open_[place][2]]
        made[open_[place][2]] = Checked(told.marker, told.at, "doubtful", "passage")
    return made


def _undecided(
    claim: str, verdict: Verdict | None, sources: Mapping[int, _Source], number: int
) -> list[_Source]:
    """The passages that still have to be compared by meaning for one marker; none when it is clear.

    Of several passages for one claim each has to say something of it.
    """
    own = sources[number]
    if verdict is None and len(sources) == 1:
        return [own]
    if (
        verdict == "unchecked"
        or (verdict and len(sources) == 1)
        or _share(set(stems(claim)), own.stems) >= WORDS_FEW
    ):
        return list(sources.values()) if verdict is None else []
    return [own]


def doubt_of(
    sentence: str, passage: str, embed: Embed | None = None, about: str = ""
) -> Doubt | None:
    """What one passage does not say of one sentence; None when nothing speaks against it."""
    sentence, sources = bare(sentence[:_READ_OF_PASSAGE]), [_taken(passage, about)]
    verdict, doubt = _judged(sentence, sources)
    if verdict is None and _beside_the_point([(sentence, sources)], embed):
        return Doubt("passage")
    return doubt


def _judged(
    claim: str, sources: Sequence[_Source], also: Sequence[_Source] = ()
) -> tuple[Verdict | None, Doubt | None]:
    """What figures, names and words tell; no verdict where they do not decide."""
    if not sources:
        return "unchecked", None
    if _stands_word_for_word(claim, sources):
        return "supported", None
    language = language_of(claim) or sources[0].language
    if doubt := _wrong_figure(claim, language, [*sources, *also]):
        return "doubtful", doubt
    if language and not any(one.language in ("", language) for one in sources):
        return "unchecked", None
    if doubt := _wrong_name(claim, language, sources) or _wrong_turn(claim, sources):
        return "doubtful", doubt
    wanted = set(stems(claim))
    if sum(one.isalpha() for one in wanted) < 2:
        return ("supported" if _has_figure(claim, language) else "unchecked"), None
    return (
        ("supported", None) if _share(wanted, _all_stems(sources)) >= WORDS_ENOUGH else (None, None)
    )


def _stands_word_for_word(claim: str, sources: Sequence[_Source]) -> bool:
    said = _letters(claim)
    return bool(said) and any(said in _letters(one.text) for one in sources)


def _letters(text: str) -> str:
    return " ".join(re.findall(r"[\w%€$£-]+", text.lower()))


def _wrong_figure(claim: str, language: str, sources: Sequence[_Source]) -> Doubt | None:
    moments, codes, quantities = _figures(claim, language)
    numbers = set(chain.from_iterable(source.numbers() for source in sources))
    given = [moment for source in sources for moment in source.moments]
    for moment in moments:
        if not dates.says(given, numbers, moment):
            return Doubt("date", moment.text)
    known = {code for source in sources for code in source.codes}
    for code in codes:
        if _bare(code) not in known:
            return Doubt("name", code)
    wrong = _first_unsaid(quantities, sources)
    if wrong is None:
        return None
    kind: Literal["date", "number"] = "date" if wrong.is_year or wrong.is_decade else "number"
    return Doubt(kind, claim[wrong.start : wrong.end].strip())


def _first_unsaid(quantities: Sequence[Quantity], sources: Sequence[_Source]) -> Quantity | None:
    """The first quantity of a claim that no source says and that is no part of a date."""
    moments = [moment for source in sources for moment in source.moments]
    years = [float(moment.year) for moment in moments if moment.year is not None]
    given = [quantity for source in sources for quantity in source.quantities]
    needed = [quantity for quantity in quantities if quantity.needed]
    unsaid = (quantity for quantity in needed if not says_quantity(given, quantity))
    return next((quantity for quantity in unsaid if not _is_of_a_date(quantity, years)), None)


def _is_of_a_date(one: Quantity, years: Collection[float]) -> bool:
    if one.is_decade:
        return any(int(year // 10) == int(value // 10) for year in years for value in one.values)
    return any(value in years for value in one.values)


def _wrong_name(claim: str, language: str, sources: Sequence[_Source]) -> Doubt | None:
    words = {word for one in sources for word in one.words}
    known = _all_stems(sources)
    short = {each for one in sources for each in one.acronyms}
    unknown = [
        name
        for name in names.names(claim, language)
        if not names.stands_in(name, words, known, short)
    ]
    if unknown:
        return Doubt("name", _joined(claim, unknown))
    first = names.opening_name(claim)
    if not first or language == "german" or names.stands_in(first, words, known, short):
        return None
    rest = set(stems(claim[claim.index(first) + len(first) :]))
    return Doubt("name", first) if len(rest) >= 3 and _share(rest, known) >= 0.8 else None


def _joined(claim: str, unknown: Sequence[str]) -> str:
    """The first unknown name with those directly behind it: a first name with the surname."""
    whole = unknown[0]
    for name in unknown[1:]:
        if f"{whole} {name}" not in claim:
            break
        whole = f"{whole} {name}"
    return whole


def _wrong_turn(claim: str, sources: Sequence[_Source]) -> Doubt | None:
    """Whether nearly the same clause is negated there and this one is not, or vice versa."""
    found = (_turned(clause, sources) for clause in _CLAUSES.split(claim))
    return next((doubt for doubt in found if doubt), None)


def _turned(clause: str, sources: Sequence[_Source]) -> Doubt | None:
    wanted = set(stems(clause))
    if len(wanted) < 3 or _NEARLY_NEGATION.search(clause):
        return None
    best, near = "", 0.0
    for unit in (unit for one in sources for unit in one.units):
        given = set(stems(unit))
        both = min(_share(wanted, given), _share(given, wanted)) if given else 0.0
        if both > near:
            best, near = unit, both
    if near < _CLOSE or _NEARLY_NEGATION.search(best):
        return None
    mine, theirs = _NEGATION.search(clause), _NEGATION.search(best)
    return Doubt("negation", (mine or theirs or [""])[0]) if bool(mine) != bool(theirs) else None


def _share(wanted: Collection[str], given: Collection[str]) -> float:
    """Share of the stems that are there, also as a word of like meaning or in another form."""
    return sum(_is_among(one, given) for one in wanted) / len(wanted) if wanted else 0.0


def _is_among(one: str, given: Collection[str]) -> bool:
    if one in given or not alike(one).isdisjoint(given):
        return True
    return len(one) >= 5 and any(_begin_alike(one, other) for other in given)


def _begin_alike(one: str, other: str) -> bool:
    least = max(5, round(0.6 * max(len(one), len(other))))
    return one[:least] == other[:least]


def _all_stems(sources: Sequence[_Source]) -> set[str]:
    return {each for one in sources for each in one.stems}


def _beside_the_point(
    pairs: Sequence[tuple[str, Sequence[_Source]]], embed: Embed | None
) -> list[int]:
    """Numbers of the pairs in which the passages speak of something else."""
    if embed is None or not pairs:
        return [
            at
            for at, (claim, sources) in enumerate(pairs)
            if _share(set(stems(claim)), _all_stems(sources))
            < (WORDS_FEW_WITH_FIGURE if _agrees(claim, sources) else WORDS_FEW)
        ]
    compared = [[claim, *_nearest(claim, sources)] for claim, sources in pairs]
    texts = list(dict.fromkeys(text for some in compared for text in some))
    rows = dict(zip(texts, embed(texts), strict=True))
    nearest = [
        max((float(rows[claim] @ rows[other]) for other in others), default=0.0)
        for claim, *others in compared
    ]
    return [
        at
        for at, (pair, near) in enumerate(zip(pairs, nearest, strict=True))
        if near < (MEANING_WITH_FIGURE if _agrees(*pair) else MEANING_ENOUGH)
    ]


def _has_figure(claim: str, language: str) -> bool:
    moments, codes, found = _figures(claim, language)
    return bool(moments or codes) or any(one.needed for one in found)


def _agrees(claim: str, sources: Sequence[_Source]) -> bool:
    """Whether the claim has figures and the passages have them, too."""
    language = language_of(claim) or sources[0].language
    return _has_figure(claim, language) and _wrong_figure(claim, language, sources) is None


def _nearest(claim: str, sources: Sequence[_Source]) -> list[str]:
    """The sentences of each source that have most words of the claim."""
    wanted = set(stems(claim))
    found: list[str] = []
    for one in sources:
        whole = [one.text[start:end] for start, end in sentences(one.text)]
        shares = [(-_share(wanted, set(stems(text))), place) for place, text in enumerate(whole)]
        found += [whole[place] for _, place in sorted(shares)[:_NEAREST]]
    return found


def _figures(text: str, language: str) -> tuple[list[dates.Moment], list[str], list[Quantity]]:
    """Dates, codes and numbers, none of them twice."""
    plain = without_signs(text)
    moments = dates.moments(plain)
    rest = _blanked(plain, [(one.start, one.end) for one in moments])
    spans = names.codes(rest)
    found = quantities(_blanked(rest, spans), language)
    return moments, [text[start:end] for start, end in spans], found


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + "\u00b7" * (end - start) + text[end:]
    return text


def _bare(code: str) -> str:
    return code.casefold().replace("-", "").replace("_", "")


def _figures_alone(text: str) -> _Source:
    moments, codes, found = _figures(text, language_of(text))
    bare_codes = {_bare(code) for code in codes}
    return _Source(text, codes=bare_codes, moments=moments, quantities=found)


@lru_cache(maxsize=64)
def _taken(text: str, about: str) -> _Source:
    text = text[:_READ_OF_PASSAGE]
    language = language_of(text)
    moments, codes, found = _figures(text, language)
    everything = f"{about}\n{text}"
    whole = [text[start:end] for start, end in sentences(text)]
    clauses = [part for one in whole for part in _CLAUSES.split(one)]
    return _Source(
        text,
        about,
        language,
        words=set(names.spoken(everything)),
        stems=set(stems(everything)),
        acronyms=names.acronyms(everything),
        codes={_bare(code) for code in [*codes, *_figures(about, language)[1]]},
        moments=moments,
        quantities=found,
        units=list(dict.fromkeys([*whole, *clauses])),
    )


_WORDS = {
    "english": "the of and to is that for with as are be by this it from or at not have has which"
    " will was were been their an",
    "german": "der das und ist nicht mit für auf ein eine einen einem einer den dem des im zu zum"
    " zur von vom sich wird werden sind bei nach oder als wie aus wenn kann muss die es hat haben"
    " wurde wer dass",
    "french": "le les des et est une du dans pour que qui sur au aux avec ne pas par ce cette sont"
    " être il elle été",
    "spanish": "el los las y es una del en para que con por se no su al lo como está son",
    "italian": "il gli della che è di per con non una sono del nel dei alla si le",
    "dutch": "het een van en is dat met voor op zijn niet aan door wordt de bij ook",
    "portuguese": "o os as e é uma do da para que com não por em no na dos se",
}
_LANGUAGES = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_UMLAUT = re.compile("[äöüÄÖÜß]")
_LEAST = 2


def language_of(text: str) -> str:
    """Name of the language in English; empty when the small words do not tell."""
    words = _WORD.findall(text.lower())
    counts = {name: sum(word in small for word in words) for name, small in _LANGUAGES.items()}
    best, second = sorted(counts, key=lambda name: -counts[name])[:2]
    if counts[best] >= _LEAST and counts[best] > counts[second]:
        return best
    return "german" if _UMLAUT.search(text) else ""
