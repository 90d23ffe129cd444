"""Readers yield parts; here they become one text with sections that know their spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from agentkit.documents.decoding import clean
from agentkit.documents.document import DocumentText, Limits, Section
from agentkit.errors import DocumentTooLarge

BETWEEN = "\n\n"
"""What stands between two sections in the document's text."""
_LONGEST_HEADING = 120


@dataclass(slots=True)
class Part:
    """A section without its span."""

    text: str
    heading: str = ""
    page: int | None = None
    place: str = ""


@dataclass(slots=True)
class Reading:
    """What one reader found; `parts` may be lazy, so that a limit stops it early."""

    parts: Iterable[Part]
    title: str = ""
    pages: int | None = None
    pictures: bool = False
    """Whether there are pictures, which explains an absence of text."""


def assemble(reading: Reading, name: str, media_type: str, limits: Limits) -> DocumentText:
    """Join the parts; raise DocumentTooLarge beyond `limits.max_chars`. Empty parts are dropped."""
    texts: list[str] = []
    sections: list[Section] = []
    at = 0
    for part in reading.parts:
        text = clean(part.text)
        if not text.strip():
            continue
        if at + len(text) > limits.max_chars:
            raise DocumentTooLarge(
                f"{name} has more than {limits.max_chars:,} characters of text."
                " Split it into smaller files, or raise AGENTKIT_MAX_CHARS."
            )
        sections.append(
            Section(text, at, at + len(text), clean(part.heading), part.page, clean(part.place))
        )
        texts.append(text)
        at += len(text) + len(BETWEEN)
    return DocumentText(
        BETWEEN.join(texts), tuple(sections), media_type, clean(reading.title), reading.pages
    )


class HeadingPath:
    """The headings above the place that has been reached, from the highest down."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> None:
        """Go below a heading; it ends those of its own level and of lower ones."""
        above = filter(lambda heading: heading[0] < level, self._headings)
        self._headings = [*above, (level, title[:_LONGEST_HEADING])]

    def __str__(self) -> str:
        return " > ".join(map(itemgetter(1), self._headings))


@dataclass(slots=True)
class Outline:
    """Collects blocks under a path of headings and cuts a part at each heading."""

    place: str = ""
    _path: HeadingPath = field(default_factory=HeadingPath)
    _blocks: list[str] = field(default_factory=list)
    _done: list[Part] = field(default_factory=list)

    def heading(self, level: int, text: str) -> None:
        """Begin a section; `level` 1 is the highest. Its first line is the heading itself."""
        title = " ".join(text.split())
        if title:
            self.cut()
            self._path.enter(level, title)
            self._blocks.append(title)

    def add(self, text: str, between: str = BETWEEN, mark: str = "") -> None:
        """Add a block that is not blank, with its mark in front; `between` separates it from the
        block before (a list item takes one newline).
        """
        if text.strip():
            self._blocks += (between, mark, text) if self._blocks else (mark, text)

    def cut(self) -> None:
        """End the current section, keeping the path of headings."""
        if self._blocks:
            self._done.append(Part("".join(self._blocks), str(self._path), place=self.place))
            self._blocks.clear()

    def parts(self) -> Iterator[Part]:
        """All sections so far; the last one is ended."""
        self.cut()
        yield from self._done
        self._done.clear()
