"""The sections of a document's text as they are kept beside it, so that it can be cut anew without the file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentkit.documents import Section


def pack(sections: Sequence[Section]) -> str:
    """The sections as JSON: a list of [start, end, heading, page, place]; their text is the document's."""
    rows = [[section.start, section.end, section.heading, section.page, section.place] for section in sections]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def unpack(packed: str, text: str) -> tuple[Section, ...]:
    """The sections that `pack` wrote, of the document's text."""
    return tuple(
        Section(text[start:end], start, end, heading, page, place) for start, end, heading, page, place in json.loads(packed)
    )
