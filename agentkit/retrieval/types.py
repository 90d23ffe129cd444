"""What retrieval speaks of: collections, documents, chunks, hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from agentkit.retrieval.names import storable, to_shown_name

Mode = Literal["hybrid", "dense", "lexical"]


def utc_now() -> datetime:
    """Now, in UTC without zone, as the tables hold it."""
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents of one owner; `hidden` ones hold what is attached to a chat
    alone.
    """

    id: str
    owner: str
    name: str
    created_at: datetime
    documents: int
    chunks: int
    embedder: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents and pages are searched; an empty field does not narrow, several fields narrow
    together.
    """

    document_ids: Sequence[str] | None = None
    """Only these documents; None for all, an empty sequence for none."""
    media_types: Sequence[str] = ()
    """Only documents of one of these types, such as `application/pdf`."""
    tags: Sequence[str] = ()
    """Only documents that have at least one of these tags."""
    added_from: datetime | None = None
    """Only documents added at this time or later, UTC without zone."""
    added_before: datetime | None = None
    """Only documents added before this time, UTC without zone."""
    first_page: int | None = None
    """Only what stands on this page or a later one; what has no pages is left out then."""
    last_page: int | None = None
    """Only what stands on this page or an earlier one; what has no pages is left out then."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document and how far it got; times are UTC without zone."""

    id: str
    collection_id: str
    name: str
    source: str
    """Where it came from, its identity in the collection: "upload:NAME", an absolute path or a
    URL.
    """
    sha256: str
    """Of the content that answers; empty while there is none."""
    bytes: int
    media_type: str = ""
    status: str = "waiting"
    """`waiting`, `parse`, `split`, `embed`, `commit`, `index`, then `indexed`, `failed` or
    `stopped`.
    """
    error: str = ""
    note: str = ""
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0
    pages: int | None = None
    title: str = ""
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document; `text` is the document's text from `start` to `end`."""

    id: int
    document_id: str
    ordinal: int
    text: str
    heading: str
    page: int | None
    place: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that answers a query, with the scores of each stage."""

    rank: int
    """From 1."""
    score: float
    """What it was ranked by: the cosine, the share of the highest BM25 score that is possible, or
    both fused; 0 to 1.
    """
    chunk_id: int
    document_id: str
    document: str
    """The document's name."""
    page: int | None
    heading: str
    place: str
    start: int
    end: int
    text: str
    scores: dict[str, float]
    """`dense` (cosine), `dense_rank`, `lexical` (BM25), `lexical_rank`, `fused`, `rerank`, `mmr`,
    `by_rank`.

    Absent where a stage had no part.
    """
    chunk_ids: tuple[int, ...] = ()
    """All chunks that the passage was merged from, in their order; `chunk_id` is the best of
    them.
    """
    also_in: tuple[str, ...] = ()
    """Names of documents that say nearly the same, whose chunks were left out for it."""
    collection: str = ""
    """Where it was found, when several collections were searched, each by its own settings."""

    def to_json(self) -> dict[str, Any]:
        """As it travels in an event; `dataclasses.asdict` copies deeply, which takes longer than
        the search.
        """
        return {name: getattr(self, name) for name in _HIT} | {"scores": dict(self.scores)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Hit:
        """What `to_json` gave, here or read from a stored event."""
        lists = {name: tuple(data.get(name, ())) for name in ("chunk_ids", "also_in")}
        return cls(**{name: data[name] for name in _HIT if name in data} | lists)


_HIT = tuple(one.name for one in fields(Hit))


@dataclass(frozen=True)
class Source:
    """A file to take in; `origin` is its identity within the collection.

    Both may be given as any text: the name becomes one that can be kept and shown, the origin one
    that can be kept.
    """

    name: str
    path: Path
    origin: str
    error: str = ""
    """Why it could not be had; it becomes a document that failed, which can be retried."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", to_shown_name(self.name))
        object.__setattr__(self, "origin", storable(self.origin))


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with the store, and what to do."""

    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """What the chunks of a collection were made with; vectors of different versions are never
    compared.
    """

    id: str
    collection_id: str
    embedder: str
    dimension: int
    max_tokens: int
    """Tokens in a chunk at most."""
    overlap: int = 0
    """Tokens that a chunk repeats of the one before, at most."""
    active: bool = True
    """Whether it is the one that answers; a collection has one such version, and others beside
    it.
    """
    created_at: datetime = field(default_factory=utc_now)
    precision: str = ""
    """What the embedder computed in when the version was made; empty where that is not known. The
    same model in another precision serves it as well.
    """
