"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.retrieve_chat.vectordb.base import Document as Document
from agentkit.agents.retrieve_chat.vectordb.base import ItemID as ItemID
from agentkit.agents.retrieve_chat.vectordb.base import Metadata as Metadata
from agentkit.agents.retrieve_chat.vectordb.base import QueryResults as QueryResults
from agentkit.agents.retrieve_chat.vectordb.base import Vector as Vector
from agentkit.agents.retrieve_chat.vectordb.base import VectorDB as VectorDB
from agentkit.agents.retrieve_chat.vectordb.factory import VectorDBFactory as VectorDBFactory

__all__: list[str]
