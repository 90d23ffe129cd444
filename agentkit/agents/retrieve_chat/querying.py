"""The vector database behind an agent, and questions to it: which one it is, texts that must occur,
hits as events tell them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.config import RetrieveConfig
from agentkit.agents.retrieve_chat.context import find_first
from agentkit.core.given import coalesce
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
    function = coalesce(config.embedding_function, _load_embedding(config.embedding_model))
    if function is not None:
        settings.setdefault("embedding_function", function)
    if kind is None:
        settings |= {"path": None} if config.client is None else {"client": config.client}
    return VectorDBFactory.create_vector_db(coalesce(kind, "chroma"), **settings)


def _load_embedding(model: str) -> EmbeddingFunction | None:
    """The embedding function of a sentence-transformers model; None for the packaged one, which
    databases use by themselves.
    """
    if model.removeprefix("sentence-transformers/") == _PACKAGED_MODEL:
        return None
    return lambda texts: _load_model(model).encode(list(texts)).tolist()


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
        options = _with_search_string(options, search_string)
        search_string = ""
    fits = partial(_fits, search_string, config.distance_threshold)
    asked = n_results
    while True:
        found = database.retrieve_docs(
            queries=list(texts),
            collection_name=config.collection_name,
            n_results=asked,
            distance_threshold=config.distance_threshold,
            **options,
        )
        kept = [list(islice(filter(fits, row), n_results)) for row in found]
        if not search_string:
            return kept
        # A database that cannot look for the string itself is asked for more until enough of its
        # documents contain it.
        lacking = [few for few, row in zip(kept, found, strict=True) if len(row) >= asked]
        if all(len(few) == n_results for few in lacking):
            return kept
        asked *= 4


def _with_search_string(options: dict[str, object], search_string: str) -> dict[str, object]:
    """The options of a database that looks for the string itself."""
    wanted: dict[str, object] = {"$contains": search_string}
    if given := options.get("where_document"):
        wanted = {"$and": [wanted, given]}
    return {**options, "where_document": wanted}


def _fits(search_string: str, threshold: float, hit: tuple[Document, float]) -> bool:
    document, distance = hit
    if search_string not in document["content"]:
        return False
    return threshold < 0 or distance < threshold


def to_hits(results: QueryResults) -> list[dict[str, object]]:
    """What was found for the first query, nearest first, as an event tells it."""
    return list(starmap(_to_hit, enumerate(find_first(results), start=1)))


def _to_hit(rank: int, found: tuple[Document, float]) -> dict[str, object]:
    document, distance = found
    metadata = coalesce(document.get("metadata"), {})
    return {
        "rank": rank,
        "id": document["id"],
        "document": metadata.get("source", ""),
        "text": document["content"],
        "distance": float(distance),
    }
