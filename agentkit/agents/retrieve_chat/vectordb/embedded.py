"""Our own vector database, the default: documents and vectors in one DuckDB file or in memory, no
server, nothing to install.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentkit.agents.retrieve_chat.vectordb.base import Document, EmbeddingFunction
from agentkit.agents.retrieve_chat.vectordb.checked import CheckedVectorDB, Rows
from agentkit.agents.retrieve_chat.vectordb.filters import Filters
from agentkit.agents.retrieve_chat.vectordb.neighbours import Neighbours
from agentkit.agents.retrieve_chat.vectordb.tables import (
    DUCKDB,
    EVERYTHING,
    Collection,
    Tables,
    with_ids,
    with_numbers,
)
from agentkit.database import Database
from agentkit.errors import StoreError
from agentkit.retrieval.index.graph import Metric

if TYPE_CHECKING:
    import numpy as np


class DuckDBVectorDB(CheckedVectorDB[Collection]):
    """A vector database in the file `path`, or in memory when it is None; for all threads of one
    process at a time.

    What was written is durable when the call returns, a restart and `kill -9` included. The indexes
    beside the file (`.indexes`) are caches: they catch up with the file, and are built anew when
    they are missing or damaged.
    """

    type = "duckdb"

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        embedding_function: EmbeddingFunction | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(embedding_function, metadata)
        self._opened: _Opened | None = _Opened.of(Path(path) if path is not None else None)

    def close(self) -> None:
        """Save the indexes; the file is closed when nobody in this process uses it any more."""
        if self._opened is not None:
            self._opened.leave()
            self._opened = None

    @property
    def _at(self) -> _Opened:
        if self._opened is None:
            raise StoreError(
                "This vector database is closed; open it again with DuckDBVectorDB(path=...)."
            )
        return self._opened

    def _find(self, name: str) -> Collection | None:
        return self._at.tables.collection(name)

    def _make(self, name: str) -> Collection:
        return self._at.tables.add_collection(name, self.metadata["hnsw:space"])

    def _drop(self, collection: Collection) -> None:
        self._at.tables.drop_collection(collection)
        self._at.forget(collection)

    def _metric(self, collection: Collection) -> Metric:
        return collection.metric

    def _dimension(self, collection: Collection) -> int | None:
        return collection.dimension

    def _put(self, collection: Collection, rows: Rows) -> None:
        self._at.tables.put(collection, rows)

    def _take(self, collection: Collection, ids: list[str] | None, vectors: bool) -> list[Document]:
        return list(
            self._at.tables.documents(
                collection, EVERYTHING if ids is None else with_ids(ids), vectors
            ).values()
        )

    def _delete(self, collection: Collection, ids: list[str]) -> None:
        self._at.tables.remove(collection, ids)

    def _query_nearest(
        self, collection: Collection, vector: np.ndarray, n: int, filters: Filters, vectors: bool
    ) -> list[tuple[Document, float]]:
        near = self._at.index(collection, len(vector)).nearest(vector, n, DUCKDB.condition(filters))
        found = self._at.tables.documents(collection, with_numbers(list(near)), vectors)
        return [(document, near[number]) for number, document in found.items()]


class _Opened:
    """An open database with its indexes; one for all in this process that use the same file."""

    _all: ClassVar[dict[Path, _Opened]] = {}
    _lock = threading.Lock()

    @classmethod
    def of(cls, path: Path | None) -> _Opened:
        """The opened file; raises DatabaseInUse and StoreError."""
        if path is None:
            return cls(None)
        path = path.resolve()
        with cls._lock:
            if path not in cls._all:
                cls._all[path] = cls(path)
            cls._all[path]._users += 1
            return cls._all[path]

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._users = 0
        self._database = Database(path or Path(":memory:"))
        self.tables = Tables(self._database)
        self._indexes: dict[str, Neighbours] = {}
        self._turn = threading.Lock()

    def index(self, collection: Collection, dimension: int) -> Neighbours:
        """The index of the collection."""
        with self._turn:
            if collection.id not in self._indexes:
                self._indexes[collection.id] = Neighbours(
                    collection, dimension, self._folder(collection)
                )
            return self._indexes[collection.id]

    def forget(self, collection: Collection) -> None:
        """Remove the index of a collection that was deleted."""
        with self._turn:
            self._indexes.pop(collection.id, None)
            folder = self._folder(collection)
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    def leave(self) -> None:
        """One user less; the last one saves and closes."""
        with self._lock:
            self._users -= 1
            if self._users <= 0:
                for index in self._indexes.values():
                    index.save()
                self._database.close()
                if self._path:
                    del self._all[self._path]

    def _folder(self, collection: Collection) -> Path | None:
        if self._path:
            return self._path.with_name(self._path.name + ".indexes") / collection.id
        return None
