"""The vector database behind an agent, and questions to it: which one it is, texts that must occur,
hits as events tell them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
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


def database_of(owner: str, config: RetrieveConfig) -> VectorDB:
    """The database of the settings: the one that is given, one of the named type, or with None
    Chroma by its `client`.

    Raises ConfigError when a package is missing, WrongArgument (a ValueError) for an unknown type,
    WrongType for what is none.
    """
    given = config.vector_db
    if given is not None and not isinstance(given, str):
        if lacking := [name for name in _NEEDED if not callable(getattr(given, name, None))]:
            raise WrongType(
                f"{owner}: vector_db must be the name of a database or a VectorDB, not"
                f" {given!r:.200}; it lacks {', '.join(lacking)}."
            )
        return given
    from agentkit.agents.retrieve_chat.vectordb.factory import VectorDBFactory

    settings = dict(config.db_config)
    if function := config.embedding_function or _named(config.embedding_model):
        settings.setdefault("embedding_function", function)
    if given is None:  # in memory, unless there is a client
        settings |= {"path": None} if config.client is None else {"client": config.client}
    return VectorDBFactory.create_vector_db("chroma" if given is None else given, **settings)


def _named(model: str) -> EmbeddingFunction | None:
    """The embedding function of a sentence-transformers model; None for the packaged one, which
    databases use by themselves.
    """
    packaged = model.removeprefix("sentence-transformers/") == _PACKAGED_MODEL
    return None if packaged else lambda texts: _loaded(model).encode(list(texts)).tolist()


@cache
def _loaded(model: str) -> Any:
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
        kept = [
            [hit for hit in row if _fits(hit, search_string, config.distance_threshold)][:n_results]
            for row in found
        ]
        # A database that cannot look for the string itself is asked for more until enough of its
        # documents contain it.
        if not search_string or all(
            len(few) == n_results or len(row) < asked for few, row in zip(kept, found, strict=True)
        ):
            return kept
        asked *= 4


def _fits(hit: tuple[Document, float], search_string: str, threshold: float) -> bool:
    document, distance = hit
    return search_string in document["content"] and (threshold < 0 or distance < threshold)


def hits_of(results: QueryResults) -> list[dict[str, object]]:
    """What was found for the first query, nearest first, as an event tells it."""
    return [
        {
            "rank": rank,
            "id": document["id"],
            "document": (document.get("metadata") or {}).get("source", ""),
            "text": document["content"],
            "distance": float(distance),
        }
        for rank, (document, distance) in enumerate(results[0] if results else [], start=1)
    ]
