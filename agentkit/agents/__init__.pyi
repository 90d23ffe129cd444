from .assistant import AssistantAgent
from .group import GroupChat, GroupChatManager
from .retrieve_chat import RetrieveAssistantAgent, RetrieveUserProxyAgent
from .user_proxy import UserProxyAgent

__all__ = [
    "AssistantAgent",
    "GroupChat",
    "GroupChatManager",
    "RetrieveAssistantAgent",
    "RetrieveUserProxyAgent",
    "UserProxyAgent",
]
