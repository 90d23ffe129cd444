"""The vector database behind an agent, and questions to it: which one it is, texts that must occur,
hits as events tell them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.config import RetrieveConfig
from agentkit.errors import ConfigError, WrongType

if TYPE_CHECKING:
    from agentkit.agents.retrieve_chat.vectordb.base import (
        Document,
        EmbeddingFunction,
        QueryResults,
        VectorDB,
    )

_NEEDED = ("create_collection", "insert_docs", "retrieve_docs", "get_docs_by_ids")
_PACKAGED_MODEL = "all-MiniLM-L6-v2"


def open_database(owner: str, config: RetrieveConfig) -> VectorDB:
    """The database of the settings: the one that is given, one of the named type, or with None
    Chroma by its `client`.

    Raises ConfigError when a package is missing, WrongArgument (a ValueError) for an unknown type,
    WrongType for anything else.
    """
    given = config.vector_db
    if isinstance(given, str | None):
        return _make_database(given, config)
    if lacking := [name for name in _NEEDED if not callable(getattr(given, name, None))]:
        raise WrongType(
            f"{owner}: vector_db must be the name of a database or a VectorDB, not"
            f" {given!r:.200}; it lacks {', '.join(lacking)}."
        )
    return given


def _make_database(kind: str | None, config: RetrieveConfig) -> VectorDB:
    """A database of the named type; with None Chroma, in memory unless there is a client."""
    from agentkit.agents.retrieve_chat.vectordb.factory import VectorDBFactory

    settings = dict(config.db_config)
    if function := config.embedding_function or _load_embedding(config.embedding_model):
        settings.setdefault("embedding_function", function)
    if kind is not None:
        return VectorDBFactory.create_vector_db(kind, **settings)
    settings |= {"path": None} if config.client is None else {"client": config.client}
    return VectorDBFactory.create_vector_db("chroma", **settings)


def _load_embedding(model: str) -> EmbeddingFunction | None:
    """The embedding function of a sentence-transformers model; None for the packaged one, which
    databases use by themselves.
    """
    packaged = model.removeprefix("sentence-transformers/") == _PACKAGED_MODEL
    return None if packaged else lambda texts: _load_model(model).encode(list(texts)).tolist()


@cache
def _load_model(model: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(model)
    except (ImportError, OSError, ValueError) as error:
        raise ConfigError(
            f"The embedding_model {model!r} cannot be loaded ({error}); check its name and the"
            " network, or leave it out."
        ) from error


def query(
    database: VectorDB,
    config: RetrieveConfig,
    texts: Sequence[str],
    n_results: int,
    search_string: str,
    options: dict[str, object],
) -> QueryResults:
    """The nearest documents to each text, nearer than the threshold, that contain the search string
    (any, when it is empty).
    """
    from agentkit.agents.retrieve_chat.vectordb.checked import CheckedVectorDB

    if search_string and isinstance(database, CheckedVectorDB):
        wanted = {"$contains": search_string}
        given = options.get("where_document")
        options = {**options, "where_document": {"$and": [wanted, given]} if given else wanted}
        search_string = ""
    asked = n_results
    while True:
        found = database.retrieve_docs(
            queries=list(texts),
            collection_name=config.collection_name,
            n_results=asked,
            distance_threshold=config.distance_threshold,
            **options,
        )
        fits = partial(_fits, search_string, config.distance_threshold)
        kept = [list(islice(filter(fits, row), n_results)) for row in found]
        # A database that cannot look for the string itself is asked for more until enough of its
        # documents contain it.
        lacking = (few for few, row in zip(kept, found, strict=True) if len(row) >= asked)
        if not search_string or all(len(few) == n_results for few in lacking):
            return kept
        asked *= 4


def _fits(search_string: str, threshold: float, hit: tuple[Document, float]) -> bool:
    document, distance = hit
    return search_string in document["content"] and (threshold < 0 or distance < threshold)


def to_hits(results: QueryResults) -> list[dict[str, object]]:
    """What was found for the first query, nearest first, as an event tells it."""
    first = results[0] if results else []
    return [
        {
            "rank": rank,
            "id": document["id"],
            "document": (document.get("metadata") or {}).get("source", ""),
            "text": document["content"],
            "distance": float(distance),
        }
        for rank, (document, distance) in enumerate(first, start=1)
    ]
