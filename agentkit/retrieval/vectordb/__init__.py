"""Vector databases with AutoGen's protocol: ours on DuckDB, Chroma, and PostgreSQL with pgvector."""

from agentkit.retrieval.index import Metric
from agentkit.retrieval.vectordb.base import Document, EmbeddingFunction, ItemID, QueryResults, Vector, VectorDB
from agentkit.retrieval.vectordb.chroma import ChromaVectorDB
from agentkit.retrieval.vectordb.embedded import DuckDBVectorDB
from agentkit.retrieval.vectordb.embedding import default_embedding_function, embedding_function_of
from agentkit.retrieval.vectordb.factory import VectorDBFactory
from agentkit.retrieval.vectordb.pgvector import PGVectorDB

__all__ = [
    "ChromaVectorDB", "Document", "DuckDBVectorDB", "EmbeddingFunction", "ItemID", "Metric", "PGVectorDB", "QueryResults",
    "Vector", "VectorDB", "VectorDBFactory", "default_embedding_function", "embedding_function_of",
]  # fmt: skip
