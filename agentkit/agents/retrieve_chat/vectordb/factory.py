"""A vector database by the name of its kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from agentkit.agents.retrieve_chat.vectordb.base import VectorDB
from agentkit.agents.retrieve_chat.vectordb.chroma import ChromaVectorDB
from agentkit.agents.retrieve_chat.vectordb.embedded import DuckDBVectorDB
from agentkit.agents.retrieve_chat.vectordb.pgvector import PGVectorDB
from agentkit.core.given import list_missing
from agentkit.errors import WrongArgument, WrongType


class VectorDBFactory:
    """Makes vector databases."""

    PREDEFINED_VECTOR_DB: ClassVar[list[str]] = ["duckdb", "chroma", "pgvector"]

    @staticmethod
    def create_vector_db(db_type: str, **kwargs: Any) -> VectorDB:
        """The vector database of that kind; the rest is for its class.

        Raises WrongArgument (a ValueError), WrongType for keys that the class does not take, and
        ConfigError.
        """
        kind = _KINDS.get(str(db_type).lower())
        if kind is None:
            known = VectorDBFactory.PREDEFINED_VECTOR_DB
            raise WrongArgument(
                f"Unsupported vector database type: {db_type}. Valid types are {known}."
            )
        known_keys = inspect.signature(kind).parameters
        if unknown := list_missing(kwargs, known_keys):
            takes = ", ".join(known_keys)
            raise WrongType(
                f"A vector database of type {db_type!r} takes no {unknown[0]!r} (db_config); it"
                f" takes {takes}."
            )
        return kind(**kwargs)


_KINDS: dict[str, Callable[..., VectorDB]] = {
    "duckdb": DuckDBVectorDB,
    "chroma": ChromaVectorDB,
    "chromadb": ChromaVectorDB,
    "pgvector": PGVectorDB,
    "pgvectordb": PGVectorDB,
}
