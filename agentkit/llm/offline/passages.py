"""How passages are written into a prompt and read back from it; both ends keep to this one
format.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_OPENING = re.compile(r'<passage number="(\d{1,6})" source="([^"\n]*)">\n')
_CLOSING = "\n</passage>"
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
    """The passages that `format_passages` wrote, wherever in `text` they stand; white space in
    sources is narrowed.
    """
    return [
        Passage(
            int(opening[1]),
            html.unescape(opening[2]),
            _ESCAPED_TAG.sub(r"<\1\2", text[opening.end() : closing]),
        )
        for opening, closing in _escape_text(text)
    ]


def without_passages(text: str) -> str:
    """What else stands in `text`."""
    kept, at = [], 0
    for opening, closing in _escape_text(text):
        kept.append(text[at : opening.start()])
        at = closing + len(_CLOSING)
    return "".join([*kept, text[at:]])


def _escape_text(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """The opening tag of each passage, and where the closing one begins; behind one that is never
    closed there is none.
    """
    at = 0
    while opening := _OPENING.search(text, at):
        closing = text.find(_CLOSING, opening.end())
        if closing < 0:
            return
        yield opening, closing
        at = closing + len(_CLOSING)


def _format(passage: Passage) -> str:
    source = html.escape(" ".join(passage.source.split()))
    return (
        f'<passage number="{passage.marker}"'
        f' source="{source}">\n{_TAG.sub(_escape, passage.text)}\n</passage>'
    )


def _escape(tag: re.Match[str]) -> str:
    return f"<\\{tag[1]}{tag[2]}"
