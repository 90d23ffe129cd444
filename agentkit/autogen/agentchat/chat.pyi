"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation import ChatResult as ChatResult
from agentkit.conversation import a_initiate_chats as a_initiate_chats
from agentkit.conversation import initiate_chats as initiate_chats

__all__: list[str]
