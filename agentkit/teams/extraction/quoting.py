"""Words of a document: finding them in its text, and saying where they stand."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentkit.core.naming import name_source
from agentkit.documents import DocumentText, Section
from agentkit.documents.places import narrow

_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\u00ad": "",
    }
)
_CJK = "\u2e80"  # scripts from here on are written without blanks between words


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words that stand in a document, and where."""

    document_id: str
    document: str
    page: int | None
    place: str
    heading: str
    start: int
    end: int
    """Character span in the document's text."""
    text: str
    """The document's own words."""

    @property
    def where(self) -> str:
        """`invoice.pdf, p. 2` or `deployments.csv, row 2`."""
        return name_source(self.document, self.page, self.place)

    def to_json(self) -> dict[str, Any]:
        """As it stands under `citations`."""
        return {
            "document": self.document,
            "page": self.page,
            "place": self.place,
            "heading": self.heading,
            "span": [self.start, self.end],
            "text": self.text,
        }


class Paper:
    """A document that was read: quotes are looked up in it."""

    def __init__(self, document_id: str, name: str, document: DocumentText) -> None:
        self.id, self.name, self.document = document_id, name, document
        self.text = document.text
        self._starts = [section.start for section in document.sections]

    def quotation(self, start: int, end: int) -> Quotation:
        """The words of that span with their place."""
        section = self.section_at(start)
        page, place, heading = None, "", ""
        if section is not None:
            page, heading = section.page, section.heading
            place = _find_place(section, start, end)
        return Quotation(
            document_id=self.id,
            document=self.name,
            page=page,
            place=place,
            heading=heading,
            start=start,
            end=end,
            text=self.text[start:end],
        )

    def section_at(self, position: int) -> Section | None:
        """The section in which a character stands."""
        index = bisect_right(self._starts, position) - 1
        if index >= 0:
            return self.document.sections[index]
        return None

    def find(self, quote: str) -> Quotation | None:
        """Where a quote stands: word for word, else without regard to white space, case,
        typographic quotes and dashes.
        """
        wanted = quote.strip().strip("\u2026").strip()
        span = self._find_words(wanted, self.text, range(len(self.text)))
        if span is None:
            folded, _ = _fold(wanted)
            span = self._find_words(folded, *self._folded)
        if span is None:
            return None
        return self.quotation(*span)

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _fold(self.text)

    def _find_words(self, wanted: str, text: str, places: Sequence[int]) -> tuple[int, int] | None:
        """The first span of words in the document's text that does not begin or end inside of one;
        `places` are those of the characters of the compared text.
        """
        if not wanted:
            return None
        for found in re.finditer(re.escape(wanted), text):
            span = places[found.start()], places[found.end() - 1] + 1
            inside = [_is_inside_word(self.text, border) for border in span]
            if not any(inside):
                return span
        return None


def _find_place(section: Section, start: int, end: int) -> str:
    """The place of a span, narrowed to its lines; empty where the section has none."""
    if not section.place:
        return ""
    first = start - section.start
    last = end - section.start
    lines = section.text.count("\n") + 1
    skipped = section.text.count("\n", 0, first)
    quoted = section.text[first:last].count("\n") + 1
    return narrow(section.place, lines, skipped, quoted)


def holds(quote: str, value: str) -> bool:
    """Whether a value stands in a quote: its characters in a row, or all of its words; compared as
    `Paper.find` compares.
    """
    folded, _ = _fold(value)
    within, _ = _fold(quote)
    if folded in within:
        return True
    return _words(value) <= _words(quote)


def _words(text: str) -> set[str]:
    return {_fold(word)[0] for word in re.findall(r"\w+", text)}


def _fold(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, and for each of its characters the one that it came from."""
    made: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        plain = unicodedata.normalize("NFKC", character)
        folded = plain.translate(_FOLDED).casefold()
        for each in folded:
            if not each.isspace():
                made.append(each)
                places.append(at)
    return "".join(made), places


def _is_inside_word(text: str, at: int) -> bool:
    """Whether a place is between two letters or digits of a script that has blanks."""
    around = text[max(0, at - 1) : at + 1]
    is_at_end = at == 0 or len(around) != 2
    if is_at_end or not around.isalnum():
        return False
    return max(around) < _CJK
