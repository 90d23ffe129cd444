"""What a vector database does for retrieval, with AutoGen's names: documents in named collections,
found by nearness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, Protocol, TypedDict, runtime_checkable

ItemID = str | int
"""A document's id; a number is kept and given back as its text."""
Vector = Sequence[float] | Sequence[int]
EmbeddingFunction = Callable[[list[str]], Sequence[Vector]]
"""Texts to vectors, one each, all of the same dimension."""

Metadata = Mapping[str, Any]
"""What belongs to a document: texts, numbers and booleans by key."""


class Document(TypedDict):
    """A text with what belongs to it."""

    id: ItemID
    content: str
    metadata: NotRequired[Metadata | None]
    """None when there is none."""
    embedding: NotRequired[Vector | None]
    """The vector of the content; computed when it is not given."""


QueryResults = list[list[tuple[Document, float]]]
"""For each query the documents found with their distances, nearest first."""


@runtime_checkable
class VectorDB(Protocol):
    """A vector database. Where `collection_name` is None the active collection is meant, the one
    last named.
    """

    active_collection: Any
    """The collection that is meant where none is named; has a `name`. None at first."""
    type: str
    """Which database it is: `duckdb`, `chroma`, `pgvector`, or a name of your own."""
    embedding_function: EmbeddingFunction | None
    """What turns documents and queries into vectors."""

    def create_collection(
        self, collection_name: str, overwrite: bool = False, get_or_create: bool = True
    ) -> Any:
        """Make a collection; one that is there is emptied (`overwrite`), taken (`get_or_create`),
        or a ValueError is raised.
        """

    def get_collection(self, collection_name: str | None = None) -> Any:
        """The collection, which becomes the active one; raises ValueError when it is not there or
        none is active.
        """

    def delete_collection(self, collection_name: str) -> Any:
        """Remove the collection and all in it; raises ValueError when it is not there."""

    def insert_docs(
        self,
        docs: list[Document],
        collection_name: str | None = None,
        upsert: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add documents; with `upsert` they replace those of the same ids."""

    def update_docs(
        self, docs: list[Document], collection_name: str | None = None, **kwargs: Any
    ) -> None:
        """Replace documents of the same ids; the others are added."""

    def delete_docs(
        self, ids: list[ItemID], collection_name: str | None = None, **kwargs: Any
    ) -> None:
        """Remove the documents; ids that are not there are passed over."""

    def retrieve_docs(
        self,
        queries: list[str],
        collection_name: str | None = None,
        n_results: int = 10,
        distance_threshold: float = -1,
        **kwargs: Any,
    ) -> QueryResults:
        """For each query the `n_results` nearest documents whose distance is below the threshold
        (any, if it is negative).
        """

    def get_docs_by_ids(
        self,
        ids: list[ItemID] | None = None,
        collection_name: str | None = None,
        include: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The documents of these ids, of those that are there, in that order; all when `ids` is
        None.
        """
