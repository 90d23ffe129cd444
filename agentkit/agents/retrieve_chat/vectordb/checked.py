"""What all our vector databases share: the protocol's rules and errors, checked before a database
is asked for anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from agentkit.agents.retrieve_chat.vectordb.base import (
    Document,
    EmbeddingFunction,
    ItemID,
    QueryResults,
)
from agentkit.agents.retrieve_chat.vectordb.checks import (
    check,
    check_name,
    list_duplicates,
    list_some,
    read_ids,
)
from agentkit.agents.retrieve_chat.vectordb.embedding import (
    default_embedding_function,
    embed_texts,
    to_vectors,
)
from agentkit.agents.retrieve_chat.vectordb.filters import Filters
from agentkit.core.given import coalesce
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import without_keys
from agentkit.retrieval.index.graph import Metric

if TYPE_CHECKING:
    import numpy as np

METRICS: tuple[Metric, ...] = ("cosine", "l2", "ip")


@dataclass(frozen=True, slots=True)
class Rows:
    """Documents that are ready to be written, column by column."""

    ids: list[str]
    contents: list[str]
    metadatas: list[Mapping[str, Any] | None]
    vectors: np.ndarray
    """(n, dimension), float32."""


class Named(Protocol):
    """A collection; all that the shared rules need of it."""

    @property
    def name(self) -> str:
        """Its name."""


C = TypeVar("C", bound=Named)


class CheckedVectorDB(ABC, Generic[C]):
    """A VectorDB that checks what it is given; a database supplies the steps at the end. Close it
    when it is not needed any more.

    `metadata={"hnsw:space": "cosine" | "l2" | "ip"}` says how far apart vectors are in collections
    that are made from now on;
    cosine if nothing is said (Chroma's own default is l2). A collection keeps the distance that it
    was made with.

    `retrieve_docs` and `get_docs_by_ids` take `include=["embeddings"]` for documents with their
    vectors; `retrieve_docs` also takes Chroma's `where` and `where_document`. What is wrong with a
    call raises WrongArgument, which is a ValueError.
    """

    type: str

    def __init__(
        self, embedding_function: EmbeddingFunction | None, metadata: Mapping[str, Any] | None
    ) -> None:
        self.embedding_function: EmbeddingFunction | None = (
            embedding_function or default_embedding_function()
        )
        self.metadata = dict(coalesce(metadata, {}))
        self.active_collection: C | None = None
        metric = self.metadata.setdefault("hnsw:space", "cosine")
        if metric not in METRICS:
            raise WrongArgument(f"hnsw:space must be one of {', '.join(METRICS)}, not {metric!r}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Collections

    def create_collection(
        self, collection_name: str, overwrite: bool = False, get_or_create: bool = True
    ) -> C:
        """Make a collection; one that is there is emptied (`overwrite`), taken (`get_or_create`),
        or a ValueError is raised.

        It becomes the active one if there was none.
        """
        name = check_name(collection_name)
        collection = self._take_over(name, overwrite, get_or_create)
        if collection is None:
            collection = self._make(name)
        if self._active_name in (None, name):
            self.active_collection = collection
        return collection

    def _take_over(self, name: str, overwrite: bool, get_or_create: bool) -> C | None:
        """The collection of that name that is to be gone on with; None when one is to be made."""
        found = self._find(name)
        if found is None:
            return None
        if overwrite:
            self._drop(found)
            return None
        if not get_or_create:
            raise WrongArgument(
                f"Collection {name!r} already exists. Use get_or_create=True to go on with it,"
                " overwrite=True to empty it."
            )
        return found

    @property
    def _active_name(self) -> str | None:
        return getattr(self.active_collection, "name", None)

    def get_collection(self, collection_name: str | None = None) -> C:
        """The collection, which becomes the active one; raises ValueError when it is not there or
        none is active.
        """
        name = coalesce(collection_name, self._active_name)
        if name is None:
            raise WrongArgument(
                "No collection is specified. Name one, or call create_collection or get_collection"
                " before."
            )
        self.active_collection = self._require(str(name))
        return self.active_collection

    def _require(self, name: str) -> C:
        """The collection of that name; raises WrongArgument when it is not there."""
        found = self._find(name)
        if found is None:
            raise WrongArgument(
                f"Collection {name!r} does not exist in this {self.type} database;"
                " create_collection makes it."
            )
        return found

    def delete_collection(self, collection_name: str) -> None:
        """Remove the collection and all in it; raises ValueError when it is not there."""
        self._drop(self._require(collection_name))
        if self._active_name == collection_name:
            self.active_collection = None

    # Documents

    def insert_docs(
        self,
        docs: list[Document],
        collection_name: str | None = None,
        upsert: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add documents, all or (if one is wrong) none; with `upsert` they replace those of the
        same ids.

        Without it a document that is there already as it is given is passed over, and one that
        differs raises ValueError. A document without `metadata` keeps what it had.
        """
        _refuse_unknown(kwargs)
        if not docs:
            return
        given = _list_by_id(map(check, docs))
        if len(given) < len(docs):
            repeated = list_duplicates(docs)
            raise WrongArgument(
                f"Expected IDs to be unique, found duplicates of: {repeated}; give each document"
                " its own."
            )
        collection = self.get_collection(collection_name)
        there = _list_by_id(self._take(collection, list(given), vectors=False))
        if not upsert:
            _check_unchanged(given, there, collection.name)
            given = without_keys(given, there)
        if given:
            self._put(collection, self._rows(collection, given, there))

    def update_docs(
        self, docs: list[Document], collection_name: str | None = None, **kwargs: Any
    ) -> None:
        """Replace documents of the same ids; the others are added."""
        self.insert_docs(docs, collection_name, upsert=True, **kwargs)

    def delete_docs(
        self, ids: Sequence[ItemID], collection_name: str | None = None, **kwargs: Any
    ) -> None:
        """Remove the documents; ids that are not there are passed over."""
        _refuse_unknown(kwargs)
        collection = self.get_collection(collection_name)
        if ids:
            self._delete(collection, read_ids(ids))

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

        Documents equally far come in the order of their ids. See the class about `where`,
        `where_document` and `include`.
        """
        _refuse_unknown(kwargs, "where", "where_document", "include")
        if not isinstance(queries, list):
            raise WrongArgument(f"queries must be a list of texts, not {queries!r:.80}.")
        if n_results < 1:
            raise WrongArgument(f"n_results must be at least 1, not {n_results}.")
        filters = Filters.read(kwargs.get("where"), kwargs.get("where_document"))
        wanted = _wants_vectors(kwargs.get("include"))
        collection = self.get_collection(collection_name)
        results: QueryResults = []
        for vector in self._embed_queries(collection, queries):
            near = self._find_nearest(collection, vector, n_results, filters, wanted)
            results.append(_rank(near, distance_threshold))
        return results

    def _embed_queries(self, collection: C, queries: list[str]) -> Sequence[np.ndarray]:
        if not queries:
            return []
        return list(embed_texts(self._function(), queries, self._metric(collection)))

    def _find_nearest(
        self, collection: C, vector: np.ndarray, n: int, filters: Filters, vectors: bool
    ) -> list[tuple[Document, float]]:
        """The nearest documents; none in a collection that never had any."""
        dimension = self._dimension(collection)
        if dimension is None:
            return []
        self._check_dimension(collection, len(vector), "The query's vector", dimension)
        return self._query_nearest(collection, vector, n, filters, vectors)

    def get_docs_by_ids(
        self,
        ids: Sequence[ItemID] | None = None,
        collection_name: str | None = None,
        include: Iterable[str] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The documents of these ids, of those that are there, in that order; all when `ids` is
        None.
        """
        _refuse_unknown(kwargs)
        collection = self.get_collection(collection_name)
        vectors = _wants_vectors(include)
        if ids is None:
            return sorted(self._take(collection, None, vectors), key=_read_id)
        wanted = list(dict.fromkeys(read_ids(ids)))
        if not wanted:
            return []
        by_id = _list_by_id(self._take(collection, wanted, vectors))
        return [by_id[one] for one in wanted if one in by_id]

    # Parts

    def _function(self) -> EmbeddingFunction:
        if self.embedding_function is None:
            raise WrongArgument(
                f"This {self.type} database has no embedding_function; set one, or give documents"
                " an embedding."
            )
        return self.embedding_function

    def _rows(
        self, collection: C, docs: Mapping[str, Document], there: Mapping[str, Document]
    ) -> Rows:
        by_id = self._find_vectors(collection, docs)
        vectors = [by_id[each] for each in docs]
        dimension = coalesce(self._dimension(collection), len(vectors[0]))
        for one, vector in zip(docs, vectors, strict=True):
            whose = f"The vector of document {one!r}"
            self._check_dimension(collection, len(vector), whose, dimension)
        return _to_rows(docs, there, vectors)

    def _find_vectors(self, collection: C, docs: Mapping[str, Document]) -> dict[str, Any]:
        """The vectors by id: those that are given, and embeddings of the others' contents."""
        metric = self._metric(collection)
        given: dict[str, Any] = {}
        contents: dict[str, str] = {}
        for number, doc in docs.items():
            embedding = doc.get("embedding")
            if embedding is None:
                contents[number] = doc["content"]
            else:
                given[number] = embedding
        vectors: dict[str, Any] = {}
        if given:
            whose = list(map("document {!r}".format, given))
            made = to_vectors(list(given.values()), metric, whose)
            vectors.update(zip(given, made, strict=True))
        if contents:
            made = embed_texts(self._function(), list(contents.values()), metric)
            vectors.update(zip(contents, made, strict=True))
        return vectors

    def _check_dimension(self, collection: C, given: int, whose: str, dimension: int) -> None:
        if given != dimension:
            raise WrongArgument(
                f"{whose} has {given} numbers, collection {collection.name!r} has vectors of"
                f" {dimension}: use the embedding function that it was filled with, or overwrite"
                " the collection."
            )

    # What a database supplies

    @abstractmethod
    def close(self) -> None:
        """Free what the database holds open."""

    @abstractmethod
    def _find(self, name: str) -> C | None:
        """The collection of that name."""

    @abstractmethod
    def _make(self, name: str) -> C:
        """A new collection; one that somebody else has just made is taken."""

    @abstractmethod
    def _drop(self, collection: C) -> None:
        """Remove it."""

    @abstractmethod
    def _metric(self, collection: C) -> Metric:
        """How distances are measured in it."""

    @abstractmethod
    def _dimension(self, collection: C) -> int | None:
        """Numbers in its vectors; None while it never had any."""

    @abstractmethod
    def _put(self, collection: C, rows: Rows) -> None:
        """Write documents, in place of those of the same ids."""

    @abstractmethod
    def _take(self, collection: C, ids: list[str] | None, vectors: bool) -> list[Document]:
        """Documents (all when `ids` is None), in any order; with their vectors if wanted."""

    @abstractmethod
    def _delete(self, collection: C, ids: list[str]) -> None:
        """Remove documents."""

    @abstractmethod
    def _query_nearest(
        self, collection: C, vector: np.ndarray, n: int, filters: Filters, vectors: bool
    ) -> list[tuple[Document, float]]:
        """The at most `n` nearest documents that pass the filters with their distances; with their
        vectors if wanted.
        """


def to_document(
    number: str, content: str, metadata: Mapping[str, Any] | None, vector: np.ndarray | None = None
) -> Document:
    """A stored document as it is given out; `metadata` is None when there are no entries."""
    entries = dict(coalesce(metadata, {})) or None
    found = Document(id=number, content=content, metadata=entries)
    if vector is not None:
        found["embedding"] = list(map(float, vector))
    return found


def _read_id(doc: Document) -> str:
    return str(doc["id"])


def _list_by_id(docs: Iterable[Document]) -> dict[str, Document]:
    return {_read_id(doc): doc for doc in docs}


def _wants_vectors(include: Iterable[str] | None) -> bool:
    return "embeddings" in coalesce(include, ())


def _check_unchanged(
    given: Mapping[str, Document], there: Mapping[str, Document], name: str
) -> None:
    changed = []
    for one, doc in given.items():
        known = there.get(one, doc)
        if doc["content"] != known["content"] or _changes_metadata(doc, known):
            changed.append(one)
    if changed:
        raise WrongArgument(
            f"Collection {name!r} has other documents with the ids {list_some(changed)}; "
            "use upsert=True (or update_docs) to replace them, or other ids."
        )


def _changes_metadata(given: Document, there: Document) -> bool:
    return _find_metadata(given, there) != _find_metadata(there, there)


def _to_rows(
    docs: Mapping[str, Document], there: Mapping[str, Document], vectors: list[Any]
) -> Rows:
    import numpy as np

    rows = Rows([], [], [], np.stack(vectors))
    for one, doc in docs.items():
        rows.ids.append(one)
        rows.contents.append(doc["content"])
        rows.metadatas.append(_find_metadata(doc, there.get(one, doc)))
    return rows


def _find_metadata(given: Document, there: Document) -> Mapping[str, Any] | None:
    """That of a document to be written; without any, it keeps what is there."""
    return coalesce(given.get("metadata"), there.get("metadata")) or None


def _rank(found: list[tuple[Document, float]], threshold: float) -> list[tuple[Document, float]]:
    """The nearest first; only those that are nearer than the threshold, unless it is negative."""
    ranked = sorted(found, key=lambda hit: (hit[1], _read_id(hit[0])))
    if threshold < 0:
        return ranked
    return list(takewhile(lambda hit: hit[1] < threshold, ranked))


def _refuse_unknown(kwargs: Mapping[str, Any], *known: str) -> None:
    unknown = kwargs.keys() - known
    if not unknown:
        return
    others = f"; there are {', '.join(known)}" if known else ""
    raise WrongType(f"There is no argument {min(unknown)!r} here{others}.")
