"""The conversation engine: agents that send, receive and reply, and everything that makes a
reply.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentkit.conversation.agent import Agent, LLMAgent
    from agentkit.conversation.chats import (
        ChatResult,
        a_initiate_chats,
        gather_usage_summary,
        initiate_chats,
    )
    from agentkit.conversation.conversable import ConversableAgent, register_function

_HOME = {
    "Agent": "agent",
    "ChatResult": "chats",
    "ConversableAgent": "conversable",
    "LLMAgent": "agent",
    "a_initiate_chats": "chats",
    "gather_usage_summary": "chats",
    "initiate_chats": "chats",
    "register_function": "conversable",
}

__all__ = [
    "Agent",
    "ChatResult",
    "ConversableAgent",
    "LLMAgent",
    "a_initiate_chats",
    "gather_usage_summary",
    "initiate_chats",
    "register_function",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'agentkit.conversation' has no attribute {name!r}")
    return getattr(import_module(f"agentkit.conversation.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
