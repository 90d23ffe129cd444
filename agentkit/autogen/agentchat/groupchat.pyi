"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import GroupChat as GroupChat
from agentkit.agents import GroupChatManager as GroupChatManager

__all__: list[str]
