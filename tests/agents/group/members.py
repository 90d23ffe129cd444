"""Agents for the tests of group chats: they say what they are told to, without a model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from agentkit.agents.group import GroupChat, GroupChatManager
from agentkit.conversation.agent import Agent
from agentkit.conversation.chats import ChatResult
from agentkit.conversation.conversable import ConversableAgent


class Member(ConversableAgent):
    """Says its lines one after the other, then always `<name> speaks`."""

    def __init__(self, name: str, lines: Iterable[Any] = (), **kwargs: Any) -> None:
        super().__init__(
            name,
            human_input_mode="NEVER",
            llm_config=False,
            default_auto_reply=f"{name} speaks",
            **kwargs,
        )
        self.lines = list(lines)
        self.register_reply([Agent, None], Member.say, position=2)

    def say(self, messages: Any = None, sender: Any = None, config: Any = None) -> tuple[bool, Any]:
        """Reply function: the next line, if there is one; an exception is raised."""
        if not self.lines:
            return False, None
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return True, line


def members(names: str, **lines: list[Any]) -> list[Any]:
    """A member for each letter."""
    return [Member(name, lines.get(name, ())) for name in names]


def group(
    agents: list[Any], manager: dict[str, Any] | None = None, **settings: Any
) -> GroupChatManager:
    """A silent manager of these agents, who speak in turn unless told otherwise."""
    chat = GroupChat(agents, [], **{"speaker_selection_method": "round_robin", **settings})
    return GroupChatManager(chat, **{"llm_config": False, "silent": True, **(manager or {})})


def chat_with(
    manager: GroupChatManager,
    message: Any = "go",
    sender: Any = None,
    face: str = "sync",
    **kwargs: Any,
) -> ChatResult:
    """The first member, or the sender, begins a chat by one of the faces."""
    sender = manager.groupchat.agents[0] if sender is None else sender
    kwargs = {"silent": True, "message": message, **kwargs}
    if face == "async":
        return asyncio.run(sender.a_initiate_chat(manager, **kwargs))  # type: ignore[no-any-return]
    return sender.initiate_chat(manager, **kwargs)  # type: ignore[no-any-return]


def said(manager: GroupChatManager) -> list[tuple[str, str]]:
    """The transcript as (speaker, text)."""
    return [(message["name"], message["content"]) for message in manager.groupchat.messages]


def speakers(manager: GroupChatManager) -> str:
    """The letters of those who spoke."""
    return "".join(name for name, _ in said(manager))
