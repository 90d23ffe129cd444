"""Chroma as vector database, in this process or as a server; an extra: `pip install chromadb`."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.vectordb.base import Document, EmbeddingFunction
from agentkit.agents.retrieve_chat.vectordb.checked import CheckedVectorDB, Rows, to_document
from agentkit.agents.retrieve_chat.vectordb.filters import Filters
from agentkit.core.given import coalesce
from agentkit.core.lenient import find_below
from agentkit.errors import ConfigError, StoreError, WrongArgument
from agentkit.retrieval.index.graph import Metric

if TYPE_CHECKING:
    import chromadb
    import numpy as np
    from chromadb.api import ClientAPI
    from chromadb.api.types import Include

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
_EFFORT = 128
"""Chroma's ef_search: candidates looked at when searching."""
_NOT_YET, _WAITS_S = "Nothing found on disk", (0.05, 0.1, 0.2, 0.4, 0.8)


class ChromaVectorDB(CheckedVectorDB["chromadb.Collection"]):
    """A Chroma database: `client` (any client of Chroma), else a server at `host`, else the folder
    `path`, else in memory.

    All in-memory databases of a process are one, as Chroma has it. Keys of `metadata` other than
    `hnsw:space` are for Chroma (`hnsw:M`, `hnsw:construction_ef`). Names of collections are 3 to
    512 of the characters a-z, A-Z, 0-9, `.`, `_` and `-`.
    Raises ConfigError when chromadb is not installed, StoreError when no server answers.
    """

    type = "chroma"

    def __init__(
        self,
        *,
        client: ClientAPI | None = None,
        path: str | None = "tmp/db",
        host: str | None = None,
        port: int = 8000,
        embedding_function: EmbeddingFunction | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(embedding_function, metadata)
        self._owned = client is None
        self.client: Any = client
        if self._owned:
            self.client = _open_client(path, host, port)

    def close(self) -> None:
        """Close the client, unless it was given."""
        if not self._owned:
            return
        sessions = [_find_session(self.client)]
        sessions.append(_find_session(getattr(self.client, "_admin_client", None)))
        self.client.close()
        for session in filter(None, sessions):
            session.close()  # Chroma leaves the connections to its server open

    def _find(self, name: str) -> chromadb.Collection | None:
        from chromadb.errors import NotFoundError

        with _translate_errors():
            try:
                found: chromadb.Collection = self.client.get_collection(
                    name, embedding_function=None
                )
            except NotFoundError:
                return None
        return found

    def _make(self, name: str) -> chromadb.Collection:
        if not _NAME.fullmatch(name):
            raise WrongArgument(
                f"{name!r} cannot be the name of a collection in Chroma; use 3 to 512 of the"
                " characters a-z A-Z 0-9 . _ -, a letter or digit at both ends."
            )
        with _translate_errors():
            made: chromadb.Collection = self.client.get_or_create_collection(
                name, metadata={"hnsw:search_ef": _EFFORT, **self.metadata}, embedding_function=None
            )
        return made

    def _drop(self, collection: chromadb.Collection) -> None:
        with _translate_errors():
            self.client.delete_collection(collection.name)

    def _metric(self, collection: chromadb.Collection) -> Metric:
        space: Metric | None = find_below(collection.configuration, "hnsw", "space")
        return coalesce(space, "l2")

    def _dimension(self, collection: chromadb.Collection) -> int | None:
        found = _read(collection.get, limit=1, include=["embeddings"])["embeddings"]
        if found is None or not len(found):
            return None
        return len(found[0])

    def _put(self, collection: chromadb.Collection, rows: Rows) -> None:
        # Chroma adds new entries to old ones; those that are not to stay must be None.
        entries: dict[str, Any] = {one: {} for one in rows.ids}
        for doc in self._take(collection, rows.ids, vectors=False):
            entries[str(doc["id"])].update(dict.fromkeys(coalesce(doc["metadata"], {})))
        for one, new in zip(rows.ids, rows.metadatas, strict=True):
            entries[one].update(coalesce(new, {}))
        metadatas: list[Any] = [entries[one] or None for one in rows.ids]
        for part in self._make_batches(len(rows.ids)):
            with _translate_errors():
                collection.upsert(
                    rows.ids[part],
                    embeddings=rows.vectors[part],
                    metadatas=metadatas[part],
                    documents=rows.contents[part],
                )

    def _take(
        self, collection: chromadb.Collection, ids: list[str] | None, vectors: bool
    ) -> list[Document]:
        parts = [None] if ids is None else [ids[part] for part in self._make_batches(len(ids))]
        found: list[Document] = []
        for part in parts:
            got = _read(collection.get, ids=part, include=_list_included(vectors))
            found += _to_documents(
                got["ids"], got["documents"], got["metadatas"], got["embeddings"]
            )
        return found

    def _delete(self, collection: chromadb.Collection, ids: list[str]) -> None:
        for part in self._make_batches(len(ids)):
            with _translate_errors():
                collection.delete(ids[part])

    def _query_nearest(
        self,
        collection: chromadb.Collection,
        vector: np.ndarray,
        n: int,
        filters: Filters,
        vectors: bool,
    ) -> list[tuple[Document, float]]:
        got = _read(
            collection.query,
            query_embeddings=[vector],
            n_results=n,
            where=filters.where,
            where_document=filters.where_document,
            include=[*_list_included(vectors), "distances"],
        )
        vectors_found = got["embeddings"][0] if vectors else None
        documents = _to_documents(
            got["ids"][0], got["documents"][0], got["metadatas"][0], vectors_found
        )
        floor = -math.inf if self._metric(collection) == "ip" else 0.0
        distances = [max(floor, distance) for distance in got["distances"][0]]
        return list(zip(documents, distances, strict=True))

    def _make_batches(self, count: int) -> list[slice]:
        size = self.client.get_max_batch_size()
        return [slice(start, start + size) for start in range(0, count, size)]


def _find_session(side: object) -> Any:
    """What holds connections of one side of a client to its server."""
    server = getattr(side, "_server", None)
    return getattr(server, "_session", None)


def _list_included(vectors: bool) -> Include:
    included: Include = ["documents", "metadatas"]
    if vectors:
        included.append("embeddings")
    return included


def _to_documents(
    ids: list[str], contents: list[str | None], metadatas: list[Any], vectors: Any
) -> list[Document]:
    texts = [coalesce(content, "") for content in contents]
    embeddings = coalesce(vectors, repeat(None))
    return list(map(to_document, ids, texts, metadatas, embeddings))


def _open_client(path: str | None, host: str | None, port: int) -> ClientAPI:
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError as error:
        raise ConfigError(
            "Chroma is not installed; run `pip install chromadb`, or use the vector database"
            " duckdb."
        ) from error
    settings = Settings(anonymized_telemetry=False)
    with _translate_errors():
        if host:
            try:
                return chromadb.HttpClient(host, port, settings=settings)
            except ValueError as error:
                raise StoreError(
                    f"No Chroma server answers at {host}:{port} ({error}); start it with `chroma"
                    " run`."
                ) from error
        try:
            if path:
                return chromadb.PersistentClient(path, settings=settings)
            return chromadb.EphemeralClient(settings)
        except ValueError as error:
            raise ConfigError(
                f"Chroma cannot open {path or 'its memory'} ({error}); give the client in use as"
                " client=."
            ) from error


def _read(read: Callable[..., Any], **asked: Any) -> Any:
    """What Chroma gives. While another thread puts the first entries into a collection, a server
    says for a moment that it finds nothing.
    """
    for wait_s in _WAITS_S:
        try:
            with _translate_errors():
                return read(**asked)
        except StoreError as error:
            if _NOT_YET not in str(error):
                raise
            time.sleep(wait_s)
    with _translate_errors():
        return read(**asked)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Chroma's errors as ours."""
    import httpx
    from chromadb.errors import ChromaError, InvalidArgumentError, InvalidDimensionException

    try:
        yield
    except (InvalidArgumentError, InvalidDimensionException) as error:
        raise WrongArgument(f"Chroma refuses this: {error}.") from error
    except httpx.TransportError as error:
        raise StoreError(
            f"The Chroma server does not answer ({error}); check that it runs."
        ) from error
    except ChromaError as error:
        raise StoreError(f"Chroma failed: {error}.") from error
