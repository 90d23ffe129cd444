"""How passages are written into a prompt and read back from it; both ends keep to this one format."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

_PASSAGE = re.compile(r'<passage number="(\d{1,6})" source="([^"\n]*)">\n(.*?)\n</passage>', re.DOTALL)
_TAG = re.compile(r"<(\\*)(/?passage)", re.IGNORECASE)
_ESCAPED_TAG = re.compile(r"<\\(\\*)(/?passage)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document in a prompt; answers cite it by its `marker`, as in `[1]`."""

    marker: int
    source: str
    """Document, page and heading in one line."""
    text: str


def format_passages(passages: Sequence[Passage]) -> str:
    """The passages as they stand in a prompt; a text that holds the same tags is escaped."""
    return "\n".join(_format(passage) for passage in passages)


def parse_passages(text: str) -> list[Passage]:
    """The passages that `format_passages` wrote, wherever in `text` they stand; white space in sources is narrowed."""
    return [
        Passage(int(found[1]), html.unescape(found[2]), _ESCAPED_TAG.sub(r"<\1\2", found[3])) for found in _PASSAGE.finditer(text)
    ]


def without_passages(text: str) -> str:
    """What else stands in `text`."""
    return _PASSAGE.sub("", text)


def _format(passage: Passage) -> str:
    source = html.escape(" ".join(passage.source.split()))
    return f'<passage number="{passage.marker}" source="{source}">\n{_TAG.sub(_escape, passage.text)}\n</passage>'


def _escape(tag: re.Match[str]) -> str:
    return f"<\\{tag[1]}{tag[2]}"
