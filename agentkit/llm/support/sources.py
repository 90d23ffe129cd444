"""A passage split into what claims are compared with: figures, names, words, its language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from operator import attrgetter

from agentkit.core.text import sentences
from agentkit.llm.offline.words import stems
from agentkit.llm.support import dates, names
from agentkit.llm.support.quantities import (
    Quantity,
    blank_formulas,
    decade_of,
    find_quantities,
    has_quantity,
)

READ_OF_PASSAGE = 20_000
"""Characters of a passage that are looked at; real ones are a tenth of that."""
CLAUSES = re.compile(r"[,;:–—]\s|\s(?:and|but|while|whereas|und|aber|et|mais|y|pero)\s")
_LETTERS = re.compile(r"[\w%€$£-]+")
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
_SMALL = {name: frozenset(words.split()) for name, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
_UMLAUT = re.compile("[äöüÄÖÜß]")
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Figures:
    """Dates, codes and numbers of a text, none of them twice."""

    moments: list[dates.Moment]
    codes: list[str]
    quantities: list[Quantity]

    def are_any(self) -> bool:
        """Whether there is a figure that a passage has to confirm."""
        needed = any(map(attrgetter("needed"), self.quantities))
        return any((self.moments, self.codes, needed))


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or a clause of it, with its stems."""

    text: str
    stems: frozenset[str]


@dataclass(slots=True)
class Source:
    """The figures, names and words of a passage, or of several passages together."""

    language: str = ""
    languages: set[str] = field(default_factory=set)
    letters: str = ""
    words: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)
    acronyms: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)
    moments: list[dates.Moment] = field(default_factory=list)
    quantities: list[Quantity] = field(default_factory=list)
    numbers: set[float] = field(default_factory=set)
    """All possible values of its numbers."""
    years: set[float] = field(default_factory=set)
    """The years of its dates."""
    sentences: list[Unit] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    """Its sentences and their clauses."""

    def add(self, other: Source) -> None:
        """Take over everything that another passage has."""
        self.letters = f"{self.letters}\n{other.letters}"
        self.languages |= other.languages
        self.words |= other.words
        self.stems |= other.stems
        self.acronyms |= other.acronyms
        self.codes |= other.codes
        self.moments += other.moments
        self.quantities += other.quantities
        self.numbers |= other.numbers
        self.years |= other.years
        self.units += other.units

    def says_word_for_word(self, claim: str) -> bool:
        """Whether it contains the claim, apart from punctuation and capitals."""
        letters = find_letters(claim)
        return bool(letters) and letters in self.letters

    def says_moment(self, wanted: dates.Moment) -> bool:
        """Whether it contains this date or time."""
        return dates.has_moment(self.moments, self.numbers, wanted)

    def says_code(self, wanted: str) -> bool:
        """Whether it contains this code, with or without hyphens."""
        return _strip_code(wanted) in self.codes

    def says_quantity(self, wanted: Quantity) -> bool:
        """Whether it contains this number, or the year of a date; True if it need not."""
        if not wanted.needed or has_quantity(self.quantities, wanted):
            return True
        if wanted.is_decade:
            return not wanted.decades.isdisjoint(map(decade_of, self.years))
        return not self.years.isdisjoint(wanted.values)

    def says_name(self, wanted: str) -> bool:
        """Whether it contains this name in any form."""
        return names.is_mentioned(wanted, self.words, self.stems, self.acronyms)


@lru_cache(maxsize=256)
def read_figures(text: str, language: str) -> Figures:
    """The figures of a text: dates first, then codes, then the remaining numbers."""
    plain = blank_formulas(text)
    moments = dates.find_moments(plain)
    rest = _blank(plain, list(map(attrgetter("start", "end"), moments)))
    spans = names.find_codes(rest)
    codes = [text[start:end] for start, end in spans]
    return Figures(moments, codes, find_quantities(_blank(rest, spans), language))


def _blank(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + "\u00b7" * (end - start) + text[end:]
    return text


def _strip_code(code: str) -> str:
    return code.casefold().replace("-", "").replace("_", "")


def read_computed(computed: Sequence[str]) -> list[Source]:
    """The figures of computed results as a source; an empty list without any."""
    text = "\n".join(computed)[:READ_OF_PASSAGE]
    if not text:
        return []
    return [_make_source(read_figures(text, language_of(text)))]


@lru_cache(maxsize=64)
def read_passage(text: str, about: str) -> Source:
    """A passage with `about`, its source line, of which the words and codes count, too."""
    text = text[:READ_OF_PASSAGE]
    language = language_of(text)
    whole = [text[start:end] for start, end in sentences(text)]
    clauses = chain.from_iterable(map(CLAUSES.split, whole))
    units = {one: Unit(one, frozenset(stems(one))) for one in chain(whole, clauses)}
    everything = f"{about}\n{text}"

    made = _make_source(read_figures(text, language))
    made.language = language
    made.languages = {language}
    made.letters = find_letters(text)
    made.words = set(names.split_words(everything))
    made.stems = set(stems(everything))
    made.acronyms = names.find_acronyms(everything)
    made.codes.update(map(_strip_code, read_figures(about, language).codes))
    made.sentences = [units[each] for each in whole]
    made.units = list(units.values())
    return made


def _make_source(figures: Figures) -> Source:
    """A source with these figures and nothing else yet."""
    values = chain.from_iterable(map(attrgetter("values"), figures.quantities))
    years = filter(None, map(attrgetter("year"), figures.moments))
    return Source(
        codes=set(map(_strip_code, figures.codes)),
        moments=figures.moments,
        quantities=figures.quantities,
        numbers=set(values),
        years=set(map(float, years)),
    )


def join_sources(sources: Sequence[Source]) -> Source:
    """Several passages as one source."""
    if len(sources) == 1:
        return sources[0]
    joined = Source()
    for one in sources:
        joined.add(one)
    return joined


def find_letters(text: str) -> str:
    """The words and figures of a text in lower case, without the signs between them."""
    return " ".join(_LETTERS.findall(text.lower()))


def language_of(text: str) -> str:
    """The English name of the language; empty when too few common words show it."""
    words = _WORD.findall(text.lower())
    counts = Counter({name: sum(each in small for each in words) for name, small in _SMALL.items()})
    (best, most), (_, second) = counts.most_common(2)
    if most >= _LEAST and most > second:
        return best
    if _UMLAUT.search(text):
        return "german"
    return ""
