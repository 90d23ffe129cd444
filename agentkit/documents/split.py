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
from itertools import groupby
from typing import Protocol

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
_LINE = re.compile(r"\n\s*")
_WORD = re.compile(r"\s+")
_NO_WORD = re.compile(r"[\W_]+")


_RECORDS = frozenset(
    {"text/csv", "text/tab-separated-values", "application/json", "application/jsonl"}
)


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
    cuts = _cuts(document.media_type)
    pieces: list[Piece] = []
    for _, group in groupby(document.sections, key=_together):
        pieces += _Group(document.text, list(group), tokenizer, max_tokens, cuts).pieces(overlap)
    return pieces


def _together(section: Section) -> tuple[int | None, str, str]:
    return section.page, section.heading.split(" > ", 1)[0], places.container(section.place)


def _cuts(media_type: str) -> tuple[Cut, ...]:
    """From the best places to cut at to the worst."""
    if media_type.startswith("text/x-"):
        return _at(_DEFINITION), _at(_PARAGRAPH), _at(_LINE), _at(_WORD)
    if media_type in _RECORDS or "spreadsheet" in media_type:
        return _at(_LINE), _at_sentences, _at(_WORD)
    return _at(_PARAGRAPH), _at_sentences, _at(_LINE), _at(_WORD)


def _at(pattern: re.Pattern[str]) -> Cut:
    return lambda text, start, end: (match.end() for match in pattern.finditer(text, start, end))


def _at_sentences(text: str, start: int, end: int) -> Iterable[int]:
    return (start + begin for begin, _ in sentences(text[start:end]))


class _Group:
    """The sections of one page, sheet or chapter, which pieces may span."""

    def __init__(
        self,
        text: str,
        sections: list[Section],
        tokenizer: Tokenizer,
        max_tokens: int,
        cuts: tuple[Cut, ...],
    ) -> None:
        self.text, self.sections, self.tokenizer, self.cuts = text, sections, tokenizer, cuts
        self.max_tokens, self.max_chars = max_tokens, max_tokens * _CHARS_PER_TOKEN
        self._begins = [section.start for section in sections]
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in self._windows():
            for begin, finish in tokenizer.offsets(text[start:end]):
                self.starts.append(start + begin)
                self.ends.append(start + finish)

    def pieces(self, overlap: int) -> Iterator[Piece]:
        """The pieces of this group, each counted alone."""
        places_ = _Places(self.text, self.sections)
        budget = self.max_tokens - overlap
        before = self.sections[0].start
        for run in self._runs(budget):
            units = list(self._with_what_follows(run, budget))
            for start, end in _pack(units, self.count, budget, self.max_chars):
                for low, high, tokens in self._counted(self._extended(before, start, overlap), end):
                    heading, page, place = places_.of(low, high)
                    yield Piece(self.text[low:high], low, high, heading, page, place, tokens)
                before = start

    def count(self, start: int, end: int) -> int:
        """Tokens that lie in the span, wholly or in part."""
        return max(0, bisect_left(self.starts, end) - bisect_right(self.ends, start))

    def _windows(self) -> Iterator[Span]:
        start, last = self.sections[0].start, self.sections[-1].end
        while last - start > _WINDOW:
            border = start + _WINDOW
            cut = max(
                self.text.rfind("\n", start, border), self.text.rfind(" ", border - 200, border)
            )
            cut = border if cut <= start else cut
            yield start, cut
            start = cut
        yield start, last

    def _fits(self, start: int, end: int, budget: int) -> bool:
        return end - start <= self.max_chars and self.count(start, end) <= budget

    def _runs(self, budget: int) -> Iterator[list[Span]]:
        """Runs of units that may be packed: short neighbouring sections together, a long section
        for itself.
        """
        run: list[Span] = []
        for section in self.sections:
            if self._fits(section.start, section.end, budget):
                run.append((section.start, section.end))
                continue
            headings = self._last_headings(run)
            yield run[: len(run) - len(headings)]
            run = []
            yield [*headings, *self._units(section.start, section.end, self.cuts, budget)]
        yield run

    def _last_headings(self, run: list[Span]) -> list[Span]:
        """The bare headings at the end of a run; what they announce comes after it."""
        first = len(run)
        while first and self._is_heading(*run[first - 1]):
            first -= 1
        return run[first:]

    def _is_heading(self, start: int, end: int) -> bool:
        """Whether the span has its section's heading and no other word."""
        section = self.sections[bisect_right(self._begins, start) - 1]
        words = _NO_WORD.sub("", section.heading.rpartition(" > ")[2])
        return (
            bool(words)
            and len(words) >= (end - start) // 2
            and _words_are(self.text, start, end, words)
        )

    def _with_what_follows(self, units: list[Span], budget: int) -> Iterator[Span]:
        """The units, with headings joined to as much of the next unit as fits with them."""
        heading: Span | None = None
        for start, end in units:
            begin = heading[0] if heading else start
            if self._is_heading(start, end) and self._fits(begin, end, budget):
                heading = (begin, end)
                continue
            middle = self._first_fit(begin, start, end, budget) if heading else end
            if heading and middle == start:
                yield heading
            else:
                yield begin, middle
            if middle < end:
                yield middle, end
            heading = None
        if heading:
            yield heading

    def _first_fit(self, begin: int, start: int, end: int, budget: int) -> int:
        """The last place in start..end that fits with what begins at `begin`; start when none
        does.
        """
        if self._fits(begin, end, budget):
            return end
        for cut in self.cuts:
            places_ = [at for at in cut(self.text, start, end) if self._fits(begin, at, budget)]
            if places_:
                return places_[-1]
        return start

    def _units(self, start: int, end: int, cuts: tuple[Cut, ...], budget: int) -> Iterator[Span]:
        """Spans that fit, cut as high in the order of cuts as possible."""
        if self._fits(start, end, budget):
            yield start, end
        elif not cuts:
            yield from self._hard(start, end, budget)
        else:
            begin = start
            for at in [*cuts[0](self.text, start, end), end]:
                if at > begin:
                    yield from self._units(begin, at, cuts[1:], budget)
                    begin = at

    def _hard(self, start: int, end: int, budget: int) -> Iterator[Span]:
        """Cut a word that is too long, between tokens where there are some."""
        while not self._fits(start, end, budget):
            index = bisect_right(self.ends, start) + budget
            border = self.starts[index] if index < len(self.starts) else end
            border = min(border, end, start + self.max_chars)
            border = border if start < border < end else start + max(1, (end - start) // 2)
            yield start, border
            start = border
        yield start, end

    def _extended(self, before: int, start: int, overlap: int) -> int:
        """Where a piece begins when it repeats the last sentences of the one before."""
        if not overlap or before >= start or not self.text[before:start].strip():
            return start
        low = max(before, start - overlap * _CHARS_PER_TOKEN)
        candidates = (
            low + begin
            for begin, _ in sentences(self.text[low:start])
            if low + begin > low or low == before
        )
        return next((at for at in candidates if self.count(at, start) <= overlap), start)

    def _counted(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Trim a span and count its tokens as they are when it stands alone; halve it should they
        be too many.
        """
        text = self.text[start:end]
        start, end = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
        if start >= end:
            return
        tokens = len(self.tokenizer.offsets(self.text[start:end]))
        if tokens <= self.max_tokens or end - start == 1:
            yield start, end, tokens
            return
        middle = (start + end) // 2
        space = self.text.rfind(" ", start + 1, middle)
        middle = space if space > (start + middle) // 2 else middle
        yield from self._counted(start, middle)
        yield from self._counted(middle, end)


def _pack(
    units: list[Span], count: Callable[[int, int], int], budget: int, max_chars: int
) -> Iterator[Span]:
    """Join neighbouring units into spans that fit, of about equal size."""
    if not units:
        return
    first, last = units[0][0], units[-1][1]
    parts = max(-(-count(first, last) // budget), -(-(last - first) // max_chars), 1)
    target = count(first, last) / parts
    start, end = units[0]
    for low, high in units[1:]:
        joined = count(start, high)
        if (
            joined > budget
            or high - start > max_chars
            or joined - target > target - count(start, end)
        ):
            yield start, end
            start = low
        end = high
    yield start, end


def _words_are(text: str, start: int, end: int, words: str) -> bool:
    """Whether letters and digits of the span are `words`."""
    return _NO_WORD.sub("", text[start:end]) == words


class _Places:
    """Heading, page and place of a span; spans come in order, so that lines are counted once."""

    def __init__(self, text: str, sections: list[Section]) -> None:
        self.text, self.sections = text, sections
        self.starts = [section.start for section in sections]
        self._lines: dict[int, int] = {}
        self._section, self._at, self._seen = -1, 0, 0

    def of(self, start: int, end: int) -> tuple[str, int | None, str]:
        """Heading (what the span's sections have in common), page, and place narrowed to the span's
        lines.
        """
        first, last = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end) - 1
        heading = _common([section.heading for section in self.sections[first : last + 1]])
        begin = self._narrowed(first, start, min(end, self.sections[first].end))
        place = begin if first == last else places.join(begin, self.sections[last].place)
        return heading, self.sections[first].page, place

    def _narrowed(self, index: int, start: int, end: int) -> str:
        section = self.sections[index]
        if not section.place or index != self._section or start < self._at:
            self._section, self._at, self._seen = index, section.start, 0
        if not section.place:
            return ""
        self._seen += self.text.count("\n", self._at, start)
        self._at = start
        if index not in self._lines:
            self._lines[index] = section.text.count("\n") + 1
        return places.narrow(
            section.place, self._lines[index], self._seen, self.text.count("\n", start, end) + 1
        )


def _common(headings: list[str]) -> str:
    """The longest path of headings that all begin with."""
    paths = [heading.split(" > ") for heading in headings]
    shared = paths[0]
    for path in paths[1:]:
        length = next(
            (i for i, (a, b) in enumerate(zip(shared, path, strict=False)) if a != b),
            min(len(shared), len(path)),
        )
        shared = shared[:length]
    return " > ".join(shared)
