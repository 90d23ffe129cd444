"""The sections of a document's text as they are kept beside it, so that it can be cut anew without
the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from agentkit.documents import DocumentText, Section
from agentkit.retrieval.types import Scope


def pack(sections: Sequence[Section]) -> str:
    """The sections as JSON: a list of [start, end, heading, page, place]; their text is the
    document's.
    """
    rows = [
        [section.start, section.end, section.heading, section.page, section.place]
        for section in sections
    ]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def unpack(packed: str, text: str) -> tuple[Section, ...]:
    """The sections that `pack` wrote, of the document's text."""
    return tuple(
        Section(text[start:end], start, end, heading, page, place)
        for start, end, heading, page, place in json.loads(packed)
    )


def within_pages(read: DocumentText, scope: Scope) -> DocumentText:
    """The document with only what stands on the scope's pages; the rest of the text is blanks, so
    that spans stay true.
    """
    if scope.first_page is None and scope.last_page is None:
        return read
    kept = tuple(section for section in read.sections if _is_within(section.page, scope))
    texts: list[str] = []
    at = 0
    for section in kept:
        texts += (" " * (section.start - at), section.text)
        at = section.end
    return replace(read, text="".join([*texts, " " * (len(read.text) - at)]), sections=kept)


def _is_within(page: int | None, scope: Scope) -> bool:
    if page is None:
        return False
    first = scope.first_page or 0
    last = math.inf if scope.last_page is None else scope.last_page
    return first <= page <= last
