"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.retrieve_chat.vectordb.pgvector import PGVectorDB as PGVectorDB

__all__: list[str]
