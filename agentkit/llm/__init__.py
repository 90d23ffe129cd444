"""Models: any OpenAI-compatible server, and one that answers offline by quoting."""

from __future__ import annotations

from agentkit.llm.calls.client import call
from agentkit.llm.connections.config import (
    Connection,
    available_models,
    connections,
    delete_connection,
    model_by_id,
    save_connection,
)
from agentkit.llm.model import Model, ModelClient, Reply

__all__ = [
    "Connection",
    "Model",
    "ModelClient",
    "Reply",
    "available_models",
    "call",
    "connections",
    "delete_connection",
    "model_by_id",
    "save_connection",
]
