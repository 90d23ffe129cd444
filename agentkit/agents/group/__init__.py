"""Group chats: several agents share one conversation, and a manager gives the floor."""

from __future__ import annotations

from agentkit.agents.group.chat import GroupChat
from agentkit.agents.group.manager import GroupChatManager

__all__ = ["GroupChat", "GroupChatManager"]
