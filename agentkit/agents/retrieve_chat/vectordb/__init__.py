"""Vector databases with AutoGen's protocol: ours on DuckDB, Chroma, and PostgreSQL with
pgvector.
"""

from agentkit.agents.retrieve_chat.vectordb.base import (
    Document,
    EmbeddingFunction,
    ItemID,
    QueryResults,
    Vector,
    VectorDB,
)
from agentkit.agents.retrieve_chat.vectordb.chroma import ChromaVectorDB
from agentkit.agents.retrieve_chat.vectordb.embedded import DuckDBVectorDB
from agentkit.agents.retrieve_chat.vectordb.embedding import (
    default_embedding_function,
    embedding_function_of,
)
from agentkit.agents.retrieve_chat.vectordb.factory import VectorDBFactory
from agentkit.agents.retrieve_chat.vectordb.pgvector import PGVectorDB
from agentkit.retrieval.index.graph import Metric

__all__ = [
    "ChromaVectorDB",
    "Document",
    "DuckDBVectorDB",
    "EmbeddingFunction",
    "ItemID",
    "Metric",
    "PGVectorDB",
    "QueryResults",
    "Vector",
    "VectorDB",
    "VectorDBFactory",
    "default_embedding_function",
    "embedding_function_of",
]
