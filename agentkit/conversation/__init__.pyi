from .agent import Agent, LLMAgent
from .chats import (
    ChatResult,
    a_initiate_chats,
    gather_usage_summary,
    initiate_chats,
)
from .conversable import ConversableAgent, register_function

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
