"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.retrieve_chat.vectordb.chroma import ChromaVectorDB as ChromaVectorDB

__all__: list[str]
