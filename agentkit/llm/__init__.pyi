from .calls.client import call
from .connections.config import (
    Connection,
    available_models,
    connections,
    delete_connection,
    model_by_id,
    save_connection,
)
from .model import Model, ModelClient, Reply

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
