"""Managers and groups of one's own, as AutoGen scripts write them."""

from __future__ import annotations

from typing import Any

from agentkit.agents.group import GroupChat, GroupChatManager
from tests.agents.group.members import chat_with, members


class Counting(GroupChatManager):
    """Runs its chats itself, over the group that it finds in `config`."""

    def __init__(self, groupchat: GroupChat, **kwargs: Any) -> None:
        super().__init__(groupchat, **kwargs)
        self.given: list[Any] = []
        self.replace_reply_func(GroupChatManager.run_chat, Counting.run_chat)

    def run_chat(
        self, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        """Reply function: the stock one, noting its config."""
        self.given.append(config)
        final, reply = super().run_chat(messages, sender, config)
        return bool(final), reply


def test_a_run_chat_of_ones_own_is_given_the_group_itself() -> None:
    chat = GroupChat(members("abc"), [], speaker_selection_method="round_robin")
    manager = Counting(chat, llm_config=False, silent=True)
    chat.max_round = 3
    assert len(chat_with(manager).chat_history) == 3
    assert [config is chat for config in manager.given] == [True]


def test_reset_forgets_what_the_group_said() -> None:
    chat = GroupChat(members("ab"), [], max_round=2, speaker_selection_method="round_robin")
    manager = GroupChatManager(chat, llm_config=False, silent=True)
    chat_with(manager)
    assert len(chat.messages) == 2
    manager.reset()
    assert chat.messages == []
