"""The nearest documents of one collection of the embedded database, among all or among those that
pass a filter.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.agents.retrieve_chat.vectordb.filters import Condition
from agentkit.agents.retrieve_chat.vectordb.tables import EVERYTHING, Collection, with_numbers
from agentkit.errors import StoreError
from agentkit.retrieval.index.vector_index import EXACT_BELOW, IndexFigures, VectorIndex

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)

Near = dict[int, float]
"""Distances by the documents' numbers."""


@dataclass(frozen=True, slots=True)
class _CollectionChanges:
    """The changes to the documents of a collection; vectors that are compared by their angle get
    the length 1.
    """

    collection: Collection

    def last_change(self) -> int:
        return self.collection.tables.last_change(self.collection)

    def read_removed(self, after: int, until: int) -> list[int]:
        return self.collection.tables.read_removed(self.collection, after, until)

    def read_added(self, after: int, until: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        return self._vectors(("number > ? and number <= ?", [after, until]), limit)

    def read_stored(self, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
        return self._vectors(with_numbers(ids), None)

    def _vectors(self, condition: Condition, limit: int | None) -> tuple[np.ndarray, np.ndarray]:
        numbers, vectors = self.collection.tables.vectors(self.collection, condition, limit)
        return numbers, _unit(vectors) if self.collection.metric == "cosine" else vectors


class Neighbours:
    """Follows the table of documents; share it between threads. Files in `folder` (None: in memory
    only) are a cache.
    """

    def __init__(
        self,
        collection: Collection,
        dimension: int,
        folder: Path | None,
        exact_below: int = EXACT_BELOW,
    ) -> None:
        self.collection = collection
        self._index = VectorIndex(
            _CollectionChanges(collection), dimension, collection.metric, folder, exact_below
        )

    def nearest(self, vector: np.ndarray, k: int, condition: Condition = EVERYTHING) -> Near:
        """The at most `k` documents nearest to the vector (dimension), of those that fulfil the
        condition.
        """
        self._index.refresh()
        if self._index.is_far:
            self.save()
        allowed = None
        if condition != EVERYTHING:
            allowed = self.collection.tables.numbers(self.collection, condition)
        query = vector
        if self.collection.metric == "cosine":
            query = _unit(vector[None])[0]
        numbers, distances = self._index.search(query, k, allowed)
        return dict(zip(numbers.tolist(), distances.tolist(), strict=True))

    def figures(self) -> IndexFigures:
        """How the vectors are searched, and what that was measured to find."""
        return self._index.figures()

    def save(self) -> None:
        """Write what is worth it, and forget the removals that are in it."""
        self._index.save()
        try:
            self.collection.tables.forget_removed(self.collection, self._index.saved)
        except StoreError as error:  # a full disk: they are only in the way
            log.warning(
                "Notes of removed documents of collection %r stay in the database: %s",
                self.collection.name,
                error,
            )


def _unit(vectors: np.ndarray) -> np.ndarray:
    import numpy as np

    unit: np.ndarray = (
        vectors / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    ).astype(np.float32)
    return unit
