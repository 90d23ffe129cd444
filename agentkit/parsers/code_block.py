"""Replies with code in a fenced block of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentkit.core.given import find_first
from agentkit.errors import TagNotFoundError
from agentkit.parsers.base import MOST_TRIED, TextParser, excerpt
from agentkit.parsers.reasoning import find_answer

_FENCE = re.compile(r"(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?P<language>[^\s`~{(\[\"':;,]*+)")
_BLANK = re.compile(r"[ \t\r]*+(?:\n|\Z)")
_LINE = re.compile(r"[^\n]*+")
_LONGEST_FENCE = 20  # more marks than that count as so many


class MarkdownCodeBlockParser(TextParser):
    """Reads the first block of a language out of a reply, or the first block without a language if
    there is none.

    What is parsed is the text between the fences as it stands there, with the line break behind the
    language. Languages are compared as a whole, in any case: `c` is not `cpp`. Raises
    TagNotFoundError when there is no such block or it is not closed.
    """

    def __init__(self, language_name: str, content_hint: str | None = None) -> None:
        self.language_name = language_name
        self.name = f"{language_name} block"
        self.tag_begin = f"```{language_name}"
        self.tag_end = "```"
        self.content_hint = (
            f"{{your {language_name} code}}" if content_hint is None else content_hint
        )
        example = f"{self.tag_begin}\n{self.content_hint}\n{self.tag_end}"
        self.format_instruction = (
            f"Reply with {language_name} code in a fenced block, in this form:\n{example}"
        )

    def _read(self, text: str) -> str:
        start = find_answer(text)
        wanted = self.language_name.strip().lower()
        fences = list(_FENCE.finditer(text, start))
        named = _find_language(filter(_ends_line, fences), wanted)
        named = named or _find_language(fences, wanted)
        opening = named or _find_language(_find_openings(text, start), "")
        if opening is None:
            raise self._report_missing(text, start)
        closing = _find_closing(text, opening)
        if closing is not None:
            return text[opening.end() : closing[0]]
        # A lone fence without a language, behind some text, closes what never began.
        if named is None and text[start : opening.start()].strip():
            raise self._report_missing(text, start)
        raise TagNotFoundError(
            f"The block of {self.language_name} is not closed; end it with as many marks as it"
            f" begins with. The reply: {excerpt(text)}",
            text,
            missing_begin_tag=False,
        )

    def _report_missing(self, text: str, start: int) -> TagNotFoundError:
        return TagNotFoundError(
            f"There is no block of {self.language_name} in the reply; begin it with"
            f" {self.tag_begin} and end it with {self.tag_end}. The reply: {excerpt(text)}",
            text,
            missing_end_tag=_FENCE.search(text, start) is None,
        )


def _find_language(fences: Iterable[re.Match[str]], wanted: str) -> re.Match[str] | None:
    """The first of the fences that names that language."""
    return find_first(fences, lambda fence: fence["language"].lower() == wanted)


def _ends_line(fence: re.Match[str]) -> bool:
    """Whether nothing is behind the language: else it may be words about blocks."""
    return _BLANK.match(fence.string, fence.end()) is not None


def _find_openings(text: str, start: int) -> Iterator[re.Match[str]]:
    """The first fences that open a block; the last one may be never closed."""
    for _ in range(MOST_TRIED):
        opening = _FENCE.search(text, start)
        if opening is None:
            return
        yield opening
        closing = _find_closing(text, opening)
        if closing is None:
            return
        start = closing[1]


def _find_closing(text: str, opening: re.Match[str]) -> tuple[int, int] | None:
    """The span of the closing fence: in the same line, else the first that begins a line, else the
    next one anywhere.
    """
    marks = opening["marks"][:_LONGEST_FENCE]
    fence = f"(?P<fence>{marks}{marks[0]}*+)"
    line = _LINE.match(text, opening.end())
    assert line is not None, "the pattern takes an empty text, too"
    found = (
        re.compile(fence).search(text, opening.end(), line.end())
        or re.compile(rf"\n[ \t]*+{fence}").search(text, line.end())
        or re.compile(fence).search(text, line.end())
    )
    return found.span("fence") if found else None
