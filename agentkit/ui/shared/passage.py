"""Where a citation stands: its passage in the text around it, the sentence that the answer leans
on, its page in the picture.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from agentkit.core.text import sentences
from agentkit.errors import NotFound
from agentkit.retrieval import Library
from agentkit.ui.shared.components import Part

AROUND = 700  # characters of context on either side
_ENOUGH = (
    0.5  # share of the answer's words that a sentence must have to count as the one it leans on
)
_FEW = 3  # words; a sentence with fewer in common is not one that the answer repeats
_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


@dataclass(frozen=True, slots=True)
class Place:
    """A citation as it can be shown now."""

    parts: list[Part]
    document: Literal["as cited", "changed", "deleted"] = "as cited"
    """What became of the document; if it is not as cited, the passage is the citation's own copy,
    without text around.
    """
    sentences: tuple[tuple[int, int], ...] = ()
    """Spans of the marked sentences in the document's text; none when the document is not as
    cited.
    """


def find_place(
    library: Library, owner: str, citation: dict[str, Any], answer: str, nth: int | None = None
) -> Place:
    """The passage within its document; from the citation's own copy when the document no longer has
    it.

    Marked is what the answer says at the citation's marker: wherever it stands, or at its `nth`
    occurrence, counted from 0.
    """
    passage = str(citation["text"])
    found = find_quotes(passage, find_leaning(answer, int(citation["marker"]), nth))
    marked = mark(passage, found)
    try:
        text = library.text(owner, citation["document_id"])
    except NotFound:
        return Place(marked, "deleted")
    start = (
        int(citation["start"])
        if text[citation["start"] : citation["end"]] == passage
        else text.find(passage)
    )
    if start < 0:
        return Place(marked, "changed")
    parts = [*_before(text, start), *marked, *_after(text, start + len(passage))]
    return Place(parts, sentences=tuple((start + first, start + last) for first, last in found))


def find_leaning(answer: str, marker: int, nth: int | None = None) -> str:
    """The sentences of an answer behind which, or in which, `[marker]` stands, joined.

    With `nth`, only the one with that occurrence of the marker, counted from 0.
    """
    pieces: list[str] = []
    places: list[int] = []
    length = at = last = 0  # `last`: where the text so far ends without white space
    for match in _MARKER.finditer(answer):
        piece = answer[at : match.start()]
        pieces.append(piece)
        if piece.strip():
            last = length + len(piece.rstrip())
        length += len(piece)
        at = match.end()
        places += [last] * _WORD.findall(match.group()).count(str(marker))
    if nth is not None and nth < len(places):
        places = [places[nth]]
    clean = "".join([*pieces, answer[at:]])
    return " ".join(
        clean[start:end]
        for start, end in sentences(clean)
        if bisect_right(places, end) > bisect_right(places, start)
    )


def mark(passage: str, found: Iterable[tuple[int, int]]) -> list[Part]:
    """The passage in parts, with these sentences of it marked as such."""
    parts: list[Part] = []
    at = 0
    for start, end in found:
        parts += [(passage[at:start], "passage"), (passage[start:end], "sentence")]
        at = end
    parts.append((passage[at:], "passage"))
    return [part for part in parts if part[0]]


def heading_at(library: Library, owner: str, document_id: str, at: int) -> str:
    """The heading under which a character of a document's text stands; raises NotFound when it is
    gone.
    """

    def begins(number: int) -> int:
        (chunk,) = library.chunks(owner, document_id, number, 1)
        return chunk.start

    count = library.document(owner, document_id).chunks
    number = max(0, bisect_right(range(count), at, key=begins) - 1)
    if count:
        return library.chunks(owner, document_id, number, 1)[0].heading
    return ""


def page_span(
    library: Library, owner: str, document_id: str, page: int, span: tuple[int, int]
) -> tuple[int, int]:
    """Where a passage that begins on this page stands in the text of the page; raises NotFound when
    the document is gone.

    `span` is the passage's in the document's text.
    """

    def page_of(number: int) -> int:
        (chunk,) = library.chunks(owner, document_id, number, 1)
        return chunk.page or 0

    # Pages ascend; the passage may be of another index version, or of none, which is why no chunk
    # leads to the page.
    first = bisect_left(range(library.document(owner, document_id).chunks), page, key=page_of)
    (top,) = library.chunks(owner, document_id, first, 1)
    before = library.text(owner, document_id)[: top.start].rstrip()
    page_start = len(before) + 2 if before else 0  # sections are joined by a blank line
    return span[0] - page_start, span[1] - page_start


def unwrap(text: str) -> str:
    """The lines of a page joined to paragraphs: where they broke on paper means nothing on a
    screen.
    """
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def find_quotes(passage: str, said: str) -> list[tuple[int, int]]:
    """Spans of the sentences of a passage that `said` repeats; if it repeats none, of none."""
    wanted = set(_WORD.findall(said.lower()))
    if not wanted:
        return []
    scored = []
    for start, end in sentences(passage):
        words = set(_WORD.findall(passage[start:end].lower()))
        scored.append(
            (
                len(words & wanted) / max(1, len(words)),
                len(words & wanted) / len(wanted),
                start,
                end,
            )
        )
    few = min(_FEW, len(wanted)) / len(wanted)  # a heading of a word or two is not a sentence
    whole = [(start, end) for own, share, start, end in scored if own >= 0.9 and share >= few]
    if whole:
        return whole
    best = max(scored, key=lambda item: item[1], default=None)
    if best and best[1] >= _ENOUGH:
        return [best[2:]]
    return []


def _before(text: str, start: int) -> list[Part]:
    begin = max(0, start - AROUND)
    if begin:
        begin = min(start, text.find(" ", begin) + 1 or begin)
    if start:
        return [(("… " if begin else "") + text[begin:start], "")]
    return []


def _after(text: str, end: int) -> list[Part]:
    stop = min(len(text), end + AROUND)
    if stop < len(text):
        stop = max(end, text.rfind(" ", end, stop)) if " " in text[end:stop] else stop
    if end < len(text):
        return [(text[end:stop] + (" …" if stop < len(text) else ""), "")]
    return []
