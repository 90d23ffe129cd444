"""Files whose bytes are their text: plain text, source code, configuration, and markup with
headings.

The text is kept as it is, so `place` counts the file's own lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import compress, count
from operator import attrgetter
from typing import NamedTuple

from agentkit.documents.assembly import HeadingPath, Part, Reading
from agentkit.documents.decoding import decode
from agentkit.documents.document import Limits
from agentkit.documents.places import span


class Heading(NamedTuple):
    """A heading in a file: the index of its first line, its level from 1, its title."""

    line: int
    level: int
    title: str


FindHeadings = Callable[[list[str]], Iterator[Heading]]

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]++(.*+)\Z")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_SETEXT_LEVELS = {"=": 1, "-": 2}
_CAN_BE_SETEXT = re.compile(r"(?! {4})\s*+[^-*+>|#`]")
"""A line of text, neither code nor an item of a list, a quote, a table or a fence."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RST_RULE = re.compile(r"([^\w\s])\1{2,}\s*\Z")
_RST_TITLE = re.compile(rf"(?!{_RST_RULE.pattern})\S")
_ORG = re.compile(r"(\*+)[ \t]+(.+)")
_ADOC = re.compile(r"(={1,6})[ \t]+(.+)")
_TEX = re.compile(
    r"\s*+\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{([^}]*)\}"
)
_LINK_OR_MARK = re.compile(r"\[([^\[\]]*)\]\([^)]*\)|[*`]")
_LONGEST_TITLE = 1_000
"""Characters of a line that are looked at for a title."""
_LONGEST_FRONT_MATTER = 200
_END_OF_FRONT_MATTER = re.compile(r"(?:---|\.\.\.)\s*")
_DEEPEST = 12
"""Levels of headings; what is marked as deeper than that counts as being on the last one."""
_TEX_LEVELS = {
    "part": 1,
    "chapter": 2,
    "section": 3,
    "subsection": 4,
    "subsubsection": 5,
    "paragraph": 6,
}


def read_plain(data: bytes, name: str, limits: Limits) -> Reading:
    """Read text without any structure but lines."""
    return _read(data, lambda lines: iter(()))


def read_markdown(data: bytes, name: str, limits: Limits) -> Reading:
    """Read Markdown; what looks like a heading inside fenced code is skipped."""
    return _read(data, _find_markdown)


def read_rst(data: bytes, name: str, limits: Limits) -> Reading:
    """Read reStructuredText; a level is known by its underline's character, in order of
    appearance.
    """
    return _read(data, _find_rst)


def read_org(data: bytes, name: str, limits: Limits) -> Reading:
    """Read Org mode."""
    return _read(data, lambda lines: _find_marked(lines, _ORG, len))


def read_asciidoc(data: bytes, name: str, limits: Limits) -> Reading:
    """Read AsciiDoc."""
    return _read(data, lambda lines: _find_marked(lines, _ADOC, len))


def read_tex(data: bytes, name: str, limits: Limits) -> Reading:
    """Read LaTeX sources; sections follow its sectioning commands."""
    return _read(data, lambda lines: _find_marked(lines, _TEX, _TEX_LEVELS.__getitem__))


def _read(data: bytes, find_headings: FindHeadings) -> Reading:
    """A file with its headings; the first of them is its title."""
    lines = decode(data).split("\n")
    headings = list(find_headings(lines))
    title = ""
    if headings:
        title = headings[0].title[:_LONGEST_TITLE]
    return Reading(_cut_at_headings(lines, headings), title)


def _cut_at_headings(lines: list[str], headings: list[Heading]) -> Iterator[Part]:
    borders = [*map(attrgetter("line"), headings), len(lines)]
    yield from _make_part(lines, 0, borders[0], "")
    path = HeadingPath()
    for heading, end in zip(headings, borders[1:], strict=True):
        path.enter(min(heading.level, _DEEPEST), heading.title)
        yield from _make_part(lines, heading.line, end, str(path))


def _make_part(lines: list[str], start: int, end: int, heading: str) -> Iterator[Part]:
    """The lines without the blank ones around them, if others are left."""
    filled = list(compress(range(start, end), map(str.strip, lines[start:end])))
    if filled:
        first, last = filled[0], filled[-1]
        text = "\n".join(lines[first : last + 1])
        yield Part(text, heading, place=span("lines ", first + 1, last + 1))


def _find_markdown(lines: list[str]) -> Iterator[Heading]:
    start = _find_end_of_front_matter(lines)
    for index in find_outside_fences(lines, start):
        if atx := _ATX.match(lines[index]):
            marks, title = atx.groups()
            yield Heading(index, len(marks), _clean_title(title.rstrip("#").rstrip(" \t")))
            continue
        under = _SETEXT.match(lines[index])
        if under and index > start and _can_be_setext(lines, index - 1):
            title = lines[index - 1]
            yield Heading(index - 1, _SETEXT_LEVELS[under[1][0]], _clean_title(title))


def _find_end_of_front_matter(lines: list[str]) -> int:
    """Index of the first line behind a YAML front matter; 0 when there is none."""
    if lines[0].rstrip() != "---":
        return 0
    block = lines[1:_LONGEST_FRONT_MATTER]
    return next(compress(count(2), map(_END_OF_FRONT_MATTER.fullmatch, block)), 0)


def find_outside_fences(lines: list[str], start: int) -> Iterator[int]:
    """The indexes of the lines that are neither fences nor code between them."""
    fence = ""
    for index in range(start, len(lines)):
        mark = _FENCE.match(lines[index])
        if mark and mark[1].startswith(fence):
            fence = _turn_fence(fence, mark[1])
        elif not fence:
            yield index


def _turn_fence(fence: str, mark: str) -> str:
    """The fence that is open behind a mark that fits: none where it closes one."""
    if fence:
        return ""
    return mark


def _can_be_setext(lines: list[str], index: int) -> bool:
    """Whether an underline below this line makes it a heading: one line of text, and nothing
    directly above it.
    """
    above = "".join(lines[index - 1 : index])
    if above.strip():
        return False
    return _CAN_BE_SETEXT.match(lines[index]) is not None


def _clean_title(title: str) -> str:
    """A heading without emphasis and link targets."""
    return _LINK_OR_MARK.sub(r"\1", title[:_LONGEST_TITLE]).strip()


def _find_rst(lines: list[str]) -> Iterator[Heading]:
    levels: dict[tuple[str, bool], int] = {}
    for index, (above, title, under) in enumerate(
        zip(["", *lines], lines, lines[1:], strict=False)
    ):
        has_overline = above.strip() == under.strip()
        if _is_underlined(title, under) and (has_overline or not above.strip()):
            level = levels.setdefault((under[0], has_overline), len(levels) + 1)
            yield Heading(index - has_overline, level, title.strip())


def _is_underlined(title: str, under: str) -> bool:
    """Whether the second line is a rule, and long enough for the first, which can be a title."""
    if len(under.rstrip()) < len(title.strip()):
        return False
    return _RST_TITLE.match(title) is not None and _RST_RULE.match(under) is not None


def _find_marked(
    lines: list[str], pattern: re.Pattern[str], level_of: Callable[[str], int]
) -> Iterator[Heading]:
    """Headings that are told by a mark in front of their title."""
    for index, line in enumerate(lines):
        if match := pattern.match(line):
            yield Heading(index, level_of(match[1]), match[2].strip())
