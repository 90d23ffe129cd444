"""Cut a document into pieces that an embedder can take whole, along the structure that the reader
found.

A piece never crosses a page, a sheet or a top heading. Small sections under one top heading are
packed; a long one is cut at paragraphs, else at sentences (lines, in tables and code), else at
words. The sizes of neighbours are evened out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import dropwhile, groupby, pairwise, takewhile
from math import ceil
from operator import attrgetter, itemgetter
from typing import Protocol

from agentkit.core.given import coalesce, find_first, find_value
from agentkit.core.text import sentences
from agentkit.documents import places
from agentkit.documents.document import DocumentText, Section
from agentkit.errors import ConfigError

Span = tuple[int, int]
Cut = Callable[[str, int, int], Iterable[int]]
"""(text, start, end) -> positions inside at which the span may be cut, ascending."""

_WINDOW = 50_000
"""Characters that are tokenized at once: the offsets of a whole book would need much memory."""
_CHARS_PER_TOKEN = 16
"""A piece has at most so many characters a token: some tokenizers make one token of a word of any
length.
"""
_LEAST = 8

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_DEFINITION = re.compile(
    r"(?<=\n)[ \t]*+\n(?=[^\s)\]}])"
    r"|\n(?=(?:async |export |public |static |pub"
    r" )*(?:def|class|function|func|fn|interface|struct) )"
)
_NO_WORD = re.compile(r"[\W_]+")


class Tokenizer(Protocol):
    """What the splitter needs of an embedder's tokenizer."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """(start, end) characters of each token in order, special tokens left out."""
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a document that fits the embedder; `document.text[start:end] == text`."""

    text: str
    start: int
    end: int
    heading: str
    page: int | None
    place: str
    tokens: int


def split(
    document: DocumentText, tokenizer: Tokenizer, max_tokens: int = 200, overlap: int = 0
) -> list[Piece]:
    """Cut the document into pieces of at most `max_tokens` tokens each, in order.

    `overlap` tokens at most are repeated at the beginning of a piece, whole sentences only. Without
    it the pieces are disjoint;
    either way they cover every character but white space.
    """
    if max_tokens < _LEAST or not 0 <= overlap <= max_tokens // 2:
        raise ConfigError(
            f"max_tokens is {max_tokens} and overlap {overlap};"
            f" choose at least {_LEAST} tokens and an overlap of at most half of them."
        )
    cuts = _choose_cuts(document.media_type)
    pieces: list[Piece] = []
    for _, group in groupby(document.sections, key=_find_container):
        pieces += _Group(document.text, list(group), tokenizer, max_tokens, overlap, cuts).cut()
    return pieces


def _find_container(section: Section) -> tuple[int | None, str, str]:
    """What sections have in common that may share a piece."""
    return section.page, section.heading.split(" > ", 1)[0], places.container(section.place)


def _choose_cuts(media_type: str) -> tuple[Cut, ...]:
    """From the best places to cut at to the worst."""
    return find_value(_CUTS, lambda form: form.match(media_type), _CUTS_OF_PROSE)


def _cut_behind(pattern: re.Pattern[str]) -> Cut:
    return lambda text, start, end: map(re.Match.end, pattern.finditer(text, start, end))


def _cut_sentences(text: str, start: int, end: int) -> Iterable[int]:
    """Where sentences begin."""
    return (start + begin for begin, *_ in sentences(text[start:end]))


_CUT_LINES = _cut_behind(re.compile(r"\n\s*"))
_CUT_WORDS = _cut_behind(re.compile(r"\s+"))
_CUT_PARAGRAPHS = _cut_behind(_PARAGRAPH)
_CUT_DEFINITIONS = _cut_behind(_DEFINITION)
_CUTS: tuple[tuple[re.Pattern[str], tuple[Cut, ...]], ...] = (
    (re.compile("text/x-"), (_CUT_DEFINITIONS, _CUT_PARAGRAPHS, _CUT_LINES, _CUT_WORDS)),
    (
        re.compile(r"(?:text/csv|text/tab-separated-values|application/jsonl?)\Z|.*spreadsheet"),
        (_CUT_LINES, _cut_sentences, _CUT_WORDS),
    ),
)
"""By the media type: source code, records."""
_CUTS_OF_PROSE: tuple[Cut, ...] = (_CUT_PARAGRAPHS, _cut_sentences, _CUT_LINES, _CUT_WORDS)
"""Of all others."""


class _Tokens:
    """Where the tokens of a stretch of text begin and end."""

    def __init__(self, text: str, start: int, end: int, tokenizer: Tokenizer) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for low, high in _cut_windows(text, start, end):
            offsets = tokenizer.offsets(text[low:high])
            self._starts += [low + begin for begin, _ in offsets]
            self._ends += [low + finish for _, finish in offsets]

    def __len__(self) -> int:
        return len(self._starts)

    def count(self, start: int, end: int) -> int:
        """Tokens that lie in the span, wholly or in part."""
        found = bisect_left(self._starts, end) - bisect_right(self._ends, start)
        if found > 0:
            return found
        return 0

    def skip(self, start: int, count: int, end: int) -> int:
        """Where the token begins that stands behind so many others; `end` if there is none."""
        index = bisect_right(self._ends, start) + count
        return min([*self._starts[index : index + 1], end])


def _cut_windows(text: str, start: int, end: int) -> Iterator[Span]:
    """The text in spans that are short enough to be tokenized, cut at white space if there is
    some.
    """
    while end - start > _WINDOW:
        border = start + _WINDOW
        space = max(text.rfind("\n", start, border), text.rfind(" ", border - 200, border))
        cut = border
        if space > start:
            cut = space
        yield start, cut
        start = cut
    yield start, end


class _Group:
    """The sections of one page, sheet or chapter, which pieces may span."""

    def __init__(
        self,
        text: str,
        sections: list[Section],
        tokenizer: Tokenizer,
        max_tokens: int,
        overlap: int,
        cuts: tuple[Cut, ...],
    ) -> None:
        self.text, self.sections, self.tokenizer, self.cuts = text, sections, tokenizer, cuts
        self.max_tokens, self.max_chars = max_tokens, max_tokens * _CHARS_PER_TOKEN
        self.overlap, self.budget = overlap, max_tokens - overlap
        self.start, self.end = sections[0].start, sections[-1].end
        self.tokens = _Tokens(text, self.start, self.end, tokenizer)
        self._places = _Places(text, sections)
        self._has_headings = any(section.heading for section in sections)

    def cut(self) -> Iterator[Piece]:
        """The pieces of this group, each counted alone."""
        before = self.start
        for start, end in self._find_spans():
            for low, high, tokens in self._count_alone(self._extend(before, start), end):
                heading, page, place = self._places.find(low, high)
                yield Piece(self.text[low:high], low, high, heading, page, place, tokens)
            before = start

    def _find_spans(self) -> Iterator[Span]:
        """Where the pieces are, without what they repeat."""
        for run in self._find_runs():
            units = self._join_headings(run)
            if units:
                yield from self._pack(units)

    def _fits(self, start: int, end: int) -> bool:
        return end - start <= self.max_chars and self.tokens.count(start, end) <= self.budget

    def _find_runs(self) -> Iterator[list[Span]]:
        """Runs of units that may be packed: short neighbouring sections together, a long section
        for itself.
        """
        run: list[Span] = []
        for section in self.sections:
            if self._fits(section.start, section.end):
                run.append((section.start, section.end))
                continue
            headings = self._find_last_headings(run)
            yield run[: len(run) - len(headings)]
            run = []
            yield [*headings, *self._cut_units(section.start, section.end, self.cuts)]
        yield run

    def _find_last_headings(self, run: list[Span]) -> list[Span]:
        """The bare headings at the end of a run; what they announce comes after it."""
        headings = list(takewhile(lambda span: self._is_heading(*span), reversed(run)))
        return headings[::-1]

    def _is_heading(self, start: int, end: int) -> bool:
        """Whether the span has its section's heading and no other word."""
        words = _find_last_words(self._places.section_at(start).heading)
        if len(words) < max(1, (end - start) // 2):  # without a look at a long text
            return False
        return _NO_WORD.sub("", self.text[start:end]) == words

    def _join_headings(self, units: list[Span]) -> list[Span]:
        """The units, with headings joined to as much of the next unit as fits with them."""
        if self._has_headings:
            return list(self._find_joined(units))
        return units

    def _find_joined(self, units: list[Span]) -> Iterator[Span]:
        begin: int | None = None
        for start, end in units:
            if begin is None:
                begin = start
            if self._is_heading(start, end) and self._fits(begin, end):
                continue
            middle = end
            if begin != start:
                middle = self._find_last_fit(begin, start, end)
            yield begin, middle
            if middle < end:
                yield middle, end
            begin = None
        if begin is not None:
            yield begin, units[-1][1]

    def _find_last_fit(self, begin: int, start: int, end: int) -> int:
        """The last place in start..end that fits with what begins at `begin`; start when none
        does.
        """
        if self._fits(begin, end):
            return end
        fits = partial(self._fits, begin)
        for cut in self.cuts:
            if fitting := list(filter(fits, cut(self.text, start, end))):
                return fitting[-1]
        return start

    def _cut_units(self, start: int, end: int, cuts: tuple[Cut, ...]) -> list[Span]:
        """Spans that fit, cut as high in the order of cuts as possible."""
        if self._fits(start, end):
            return [(start, end)]
        if not cuts:
            return list(self._cut_word(start, end))
        borders = sorted({start, *cuts[0](self.text, start, end), end})
        units: list[Span] = []
        for low, high in pairwise(borders):
            units += self._cut_units(low, high, cuts[1:])
        return units

    def _cut_word(self, start: int, end: int) -> Iterator[Span]:
        """Cut a word that is too long, between tokens where there are some."""
        while not self._fits(start, end):
            border = min(self.tokens.skip(start, self.budget, end), start + self.max_chars)
            if not start < border < end:
                border = start + max(1, (end - start) // 2)
            yield start, border
            start = border
        yield start, end

    def _pack(self, units: list[Span]) -> Iterator[Span]:
        """Join neighbouring units into spans that fit, of about equal size."""
        count = self.tokens.count
        first, last = units[0][0], units[-1][1]
        total = count(first, last)
        parts = max(ceil(total / self.budget), ceil((last - first) / self.max_chars), 1)
        if parts == 1:
            yield first, last
            return
        target = total / parts
        start, end = units[0]
        tokens = count(start, end)
        for low, high in units[1:]:
            longer = count(start, high)
            too_long = longer > self.budget or high - start > self.max_chars
            if too_long or longer - target > target - tokens:
                yield start, end
                start, longer = low, count(low, high)
            end, tokens = high, longer
        yield start, end

    def _extend(self, before: int, start: int) -> int:
        """Where a piece begins when it repeats the last sentences of the one before."""
        low = max(before, start - self.overlap * _CHARS_PER_TOKEN)
        begins = _cut_sentences(self.text, low, start)
        whole = dropwhile(lambda at: before < low == at, begins)  # not cut off in front
        fitting = find_first(whole, lambda at: self.tokens.count(at, start) <= self.overlap)
        return coalesce(fitting, start)

    def _count_alone(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Trim a span and count its tokens as they are when it stands alone; halve it should they
        be too many.
        """
        start, end = _trim(self.text, start, end)
        if start >= end:
            return
        if (start, end) == (self.start, self.end):
            tokens = len(self.tokens)
        else:
            tokens = len(self.tokenizer.offsets(self.text[start:end]))
        if tokens <= self.max_tokens or end - start == 1:
            yield start, end, tokens
            return
        middle = (start + end) // 2
        space = self.text.rfind(" ", (start + middle) // 2 + 1, middle)
        if space >= 0:
            middle = space
        yield from self._count_alone(start, middle)
        yield from self._count_alone(middle, end)


def _trim(text: str, start: int, end: int) -> Span:
    """The span without the white space around it; empty or less when there is nothing else."""
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


class _Places:
    """Heading, page and place of a span."""

    def __init__(self, text: str, sections: list[Section]) -> None:
        self.sections = sections
        self._starts = list(map(attrgetter("start"), sections))
        breaks = re.compile("\n").finditer(text, sections[0].start, sections[-1].end)
        self._breaks = list(map(re.Match.start, breaks))

    def section_at(self, index: int) -> Section:
        """The section in which a character stands."""
        return self.sections[bisect_right(self._starts, index) - 1]

    def find(self, start: int, end: int) -> tuple[str, int | None, str]:
        """Heading (what the span's sections have in common), page, and place narrowed to the span's
        lines.
        """
        first = bisect_right(self._starts, start) - 1
        sections = self.sections[first : bisect_left(self._starts, end)]
        paths = list(map(_find_titles, sections))
        place = self._narrow(sections[0], start, min(end, sections[0].end))
        if len(sections) > 1:
            place = places.join(place, sections[-1].place)
        return _join_common(paths), sections[0].page, place

    def _narrow(self, section: Section, start: int, end: int) -> str:
        """The section's place, for the lines from start to end."""
        lines = self._count_breaks(section.start, section.end) + 1
        skipped = self._count_breaks(section.start, start)
        return places.narrow(section.place, lines, skipped, self._count_breaks(start, end) + 1)

    def _count_breaks(self, start: int, end: int) -> int:
        return bisect_left(self._breaks, end) - bisect_left(self._breaks, start)


def _join_common(paths: list[list[str]]) -> str:
    """The headings with which all paths begin."""
    levels = takewhile(lambda titles: len(set(titles)) == 1, zip(*paths, strict=False))
    return " > ".join(map(itemgetter(0), levels))


@lru_cache(maxsize=256)
def _find_last_words(heading: str) -> str:
    """The letters and digits of the last title on a path."""
    return _NO_WORD.sub("", heading.rpartition(" > ")[2])


def _find_titles(section: Section) -> list[str]:
    """The titles on the path to a section."""
    return section.heading.split(" > ")
