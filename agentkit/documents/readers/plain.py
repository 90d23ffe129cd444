"""Files whose bytes are their text: plain text, source code, configuration, and markup with
headings.

The text is kept as it is, so `place` counts the file's own lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agentkit.documents.assembly import Part, Reading
from agentkit.documents.decoding import decode
from agentkit.documents.document import Limits
from agentkit.documents.places import span

Found = tuple[int, int, str]
"""A heading: index of its first line, level from 1, title."""

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]++(.*+)\Z")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"([^\w\s])\1{2,}\s*\Z")
_ORG = re.compile(r"(\*+)[ \t]+(.+)")
_ADOC = re.compile(r"(={1,6})[ \t]+(.+)")
_TEX = re.compile(
    r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{([^}]*)\}"
)
_LINK_OR_MARK = re.compile(r"\[([^\[\]]*)\]\([^)]*\)|[*`]")
_LONGEST_TITLE = 1_000
"""Characters of a line that are looked at for a title."""
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
    return _sectioned(data, lambda lines: iter(()))


def read_markdown(data: bytes, name: str, limits: Limits) -> Reading:
    """Read Markdown; headings inside fenced code are none."""
    return _sectioned(data, _markdown)


def read_rst(data: bytes, name: str, limits: Limits) -> Reading:
    """Read reStructuredText; a level is known by its underline's character, in order of
    appearance.
    """
    return _sectioned(data, _rst)


def read_org(data: bytes, name: str, limits: Limits) -> Reading:
    """Read Org mode."""
    return _sectioned(data, lambda lines: _matching(lines, _ORG))


def read_asciidoc(data: bytes, name: str, limits: Limits) -> Reading:
    """Read AsciiDoc."""
    return _sectioned(data, lambda lines: _matching(lines, _ADOC))


def read_tex(data: bytes, name: str, limits: Limits) -> Reading:
    """Read LaTeX sources; sections follow its sectioning commands."""
    return _sectioned(data, _tex)


def _sectioned(data: bytes, find: Callable[[list[str]], Iterator[Found]]) -> Reading:
    lines = decode(data).split("\n")
    found = list(find(lines))
    title = next((title[:_LONGEST_TITLE] for _, level, title in found if level == found[0][1]), "")
    return Reading(_parts(lines, found), title)


def _parts(lines: list[str], found: list[Found]) -> Iterator[Part]:
    path: list[tuple[int, str]] = []
    borders = [index for index, _, _ in found] + [len(lines)]
    yield from _part(lines, 0, borders[0], "")
    for (first, level, title), last in zip(found, borders[1:], strict=True):
        level = min(level, _DEEPEST)
        path = [entry for entry in path if entry[0] < level] + [(level, title[:120])]
        yield from _part(lines, first, last, " > ".join(title for _, title in path))


def _part(lines: list[str], first: int, last: int, heading: str) -> Iterator[Part]:
    while first < last and not lines[first].strip():
        first += 1
    while first < last and not lines[last - 1].strip():
        last -= 1
    if first < last:
        yield Part("\n".join(lines[first:last]), heading, place=span("lines ", first + 1, last))


def _markdown(lines: list[str]) -> Iterator[Found]:
    fence = ""
    begin = _front_matter(lines)
    for index in range(begin, len(lines)):
        line = lines[index]
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            continue
        elif atx := _ATX.match(line):
            yield index, len(atx[1]), _plain(atx[2].rstrip("#").rstrip(" \t"))
        elif index > begin and (under := _SETEXT.match(line)) and _paragraph_line(lines, index - 1):
            yield index - 1, 1 if under[1][0] == "=" else 2, _plain(lines[index - 1])


def _front_matter(lines: list[str]) -> int:
    """Index of the first line behind a YAML front matter."""
    if lines[0].rstrip() == "---":
        for index in range(1, min(len(lines), 200)):
            if lines[index].rstrip() in {"---", "..."}:
                return index + 1
    return 0


def _paragraph_line(lines: list[str], index: int) -> bool:
    """Whether an underline below this line makes it a heading: text of one line, no list, table or
    quote.
    """
    line = lines[index].strip()
    alone = index == 0 or not lines[index - 1].strip()
    return bool(line) and alone and line[0] not in "-*+>|#`" and not lines[index].startswith("    ")


def _plain(title: str) -> str:
    """A heading without emphasis and link targets."""
    return _LINK_OR_MARK.sub(lambda match: match[1] or "", title[:_LONGEST_TITLE]).strip()


def _rst(lines: list[str]) -> Iterator[Found]:
    levels: dict[str, int] = {}
    for index in range(1, len(lines)):
        rule = _RULE.match(lines[index])
        if not rule or not _underlines(rule, lines[index - 1]):
            continue

        title = lines[index - 1].strip()
        above = lines[index - 2].strip() if index >= 2 else ""
        if above == rule.group().strip():  # a line over the title as well
            yield index - 2, levels.setdefault(rule[1] + "over", len(levels) + 1), title
        elif not above:
            yield index - 1, levels.setdefault(rule[1], len(levels) + 1), title


def _underlines(rule: re.Match[str], line: str) -> bool:
    """Whether the rule is long enough for the line above it, and that line can be a title."""
    title = line.strip()
    if not title or line[0].isspace() or _RULE.match(title):
        return False
    return len(rule.group().rstrip()) >= len(title)


def _matching(lines: list[str], pattern: re.Pattern[str]) -> Iterator[Found]:
    for index, line in enumerate(lines):
        if match := pattern.match(line):
            yield index, len(match[1]), match[2].strip()


def _tex(lines: list[str]) -> Iterator[Found]:
    for index, line in enumerate(lines):
        if "\\" in line and (match := _TEX.match(line)):
            yield index, _TEX_LEVELS[match[1]], match[2].strip()
