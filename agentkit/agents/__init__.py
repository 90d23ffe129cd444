"""Kinds of agents on the engine of conversations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.agents.assistant import AssistantAgent
    from agentkit.agents.group import GroupChat, GroupChatManager
    from agentkit.agents.retrieve_chat import RetrieveAssistantAgent, RetrieveUserProxyAgent
    from agentkit.agents.user_proxy import UserProxyAgent

_HOME = {
    "AssistantAgent": "agentkit.agents.assistant",
    "GroupChat": "agentkit.agents.group",
    "GroupChatManager": "agentkit.agents.group",
    "RetrieveAssistantAgent": "agentkit.agents.retrieve_chat",
    "RetrieveUserProxyAgent": "agentkit.agents.retrieve_chat",
    "UserProxyAgent": "agentkit.agents.user_proxy",
}

__all__ = [
    "AssistantAgent",
    "GroupChat",
    "GroupChatManager",
    "RetrieveAssistantAgent",
    "RetrieveUserProxyAgent",
    "UserProxyAgent",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit.agents' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
