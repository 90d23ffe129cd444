"""What retrieval speaks of: collections, documents, chunks, hits."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

Mode = Literal["hybrid", "dense", "lexical"]


def utc_now() -> datetime:
    """Now, in UTC without zone, as the tables hold it."""
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents of one owner; `hidden` ones hold what is attached to a chat alone."""

    id: str
    owner: str
    name: str
    created_at: datetime
    documents: int
    chunks: int
    embedder: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document and how far it got; times are UTC without zone."""

    id: str
    collection_id: str
    name: str
    source: str
    """Where it came from, its identity in the collection: "upload:NAME", an absolute path or a URL."""
    sha256: str
    """Of the content that answers; empty while there is none."""
    bytes: int
    media_type: str = ""
    status: str = "waiting"
    """`waiting`, `parse`, `split`, `embed`, `commit`, `index`, then `indexed`, `failed` or `stopped`."""
    error: str = ""
    note: str = ""
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0
    pages: int | None = None
    title: str = ""
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)


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
    """What it was ranked by: cosine, BM25, or the fused score (0 to 1) in hybrid mode."""
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
    """`dense` (cosine), `dense_rank`, `lexical` (BM25), `lexical_rank`, `fused`; a stage that did not find it is absent."""


@dataclass(frozen=True)
class Source:
    """A file to take in; `origin` is its identity within the collection."""

    name: str
    path: Path
    origin: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with the store, and what to do."""

    what: str
    advice: str


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """What the chunks of a collection were made with; vectors of different versions are never compared."""

    id: str
    collection_id: str
    embedder: str
    dimension: int
    max_tokens: int
    """Tokens in a chunk at most."""
