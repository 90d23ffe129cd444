"""What an answer points to: passages by their numbers, and the markers `[n]` that name them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agentkit.core.given import list_known, pick
from agentkit.core.naming import name_source
from agentkit.llm.offline.passages import Passage
from agentkit.llm.support import Checked
from agentkit.retrieval import Hit

MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that an answer points to; it keeps its own text, so that it outlives its
    document.
    """

    marker: int
    document_id: str
    document: str
    chunk_id: int
    page: int | None
    place: str
    heading: str
    start: int
    end: int
    """Character span in the document's text."""
    text: str
    score: float
    collection: str = ""
    """Where it stands, when several collections were searched."""

    @classmethod
    def of_hit(cls, marker: int, hit: Hit) -> Citation:
        """The citation of a hit under a number."""
        return cls(
            marker,
            hit.document_id,
            hit.document,
            hit.chunk_id,
            hit.page,
            hit.place,
            hit.heading,
            hit.start,
            hit.end,
            hit.text,
            hit.score,
            hit.collection,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Citation:
        """What `to_json` gave, or a hit as it travels in an event with its marker."""
        known = pick(data, cls.__dataclass_fields__)
        return cls(**known)  # older versions stored no collection

    def to_json(self) -> dict[str, Any]:
        """As it travels with a message under `citations`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer rests on: its citations, and what came of checking each of its markers."""

    citations: tuple[Citation, ...] = ()
    checks: tuple[Checked, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As it travels with a message."""
        return {
            "citations": [one.to_json() for one in self.citations],
            "checks": [one.to_json() for one in self.checks],
        }


def to_passages(hits: Sequence[Hit]) -> list[Passage]:
    """The hits as numbered passages for a prompt, numbered from 1 in their order."""
    passages: list[Passage] = []
    for marker, hit in enumerate(hits, start=1):
        source = describe_source(hit)
        passages.append(Passage(marker, source, hit.text))
    return passages


def describe_source(hit: Hit | Citation) -> str:
    """Document, page or place, and heading of a passage in one line; in front its collection where
    several were searched.
    """
    source = name_source(hit.document, hit.page, hit.place, hit.heading)
    if hit.collection:
        return f"{hit.collection}: {source}"
    return source


def covers(known: Hit, hit: Hit) -> bool:
    """Whether all of a hit stands in a known one: neighbours are merged as each search finds
    them.
    """
    if known.document_id != hit.document_id:
        return False
    return known.start <= hit.start and hit.end <= known.end


def find_markers(text: str) -> list[int]:
    """The numbers of the markers `[n]` that occur in a text, in order, each once."""
    return sorted(set(read_markers(text)))


def read_markers(text: str) -> list[int]:
    """The numbers of the markers in a text, in order, as often as they stand there."""
    numbers: list[int] = []
    for group in MARKER.findall(text):
        numbers += map(int, group.split(","))
    return numbers


def renumber_by_use(text: str, hits: Sequence[Hit]) -> tuple[str, list[Hit]]:
    """The text with its markers numbered from 1 in the order of their first use, and the hits in
    that order.

    Hits that it does not cite come last; numbers that name no hit are left as they are.
    """
    by_number = dict(enumerate(hits, start=1))
    named = dict.fromkeys(read_markers(text))
    used = list_known(named, by_number)
    new = {old: number for number, old in enumerate(used, start=1)}

    def renumber(marker: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(new.get(int(number[0]), number[0])), marker[0])

    renumbered = MARKER.sub(renumber, text)
    in_order = dict.fromkeys([*used, *by_number])
    return renumbered, [by_number[number] for number in in_order]


def cite_hits(text: str, hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The citations for the markers `[n]` that occur in `text`, by marker; numbers that name no hit
    are left out.
    """
    by_number = dict(enumerate(hits, start=1))
    cited = pick(by_number, find_markers(text))
    return tuple(Citation.of_hit(number, hit) for number, hit in cited.items())
