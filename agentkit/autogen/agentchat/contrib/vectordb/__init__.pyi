"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.autogen.agentchat.contrib.vectordb import base as base
from agentkit.autogen.agentchat.contrib.vectordb import chromadb as chromadb
from agentkit.autogen.agentchat.contrib.vectordb import pgvectordb as pgvectordb

__all__: list[str]
