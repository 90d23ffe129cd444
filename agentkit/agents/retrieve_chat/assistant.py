"""RetrieveAssistantAgent: an assistant that knows when a chat about documents is done or needs
other passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentkit.agents.assistant import AssistantAgent
from agentkit.agents.retrieve_chat.prompts import ASK_AGAIN, ASKS_AGAIN
from agentkit.conversation.agent import Agent
from agentkit.conversation.tooling import conversation
from agentkit.messages import AnyMessage, text_of

SUCCEEDED = "exitcode: 0 (execution succeeded)"
_NEAR_END = 20
"""Characters at both ends of a message where the words for other passages count."""


class RetrieveAssistantAgent(AssistantAgent):
    """An AssistantAgent that ends the chat when its code ran well, and hands a wish for other
    passages back to the retriever.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """The arguments of AssistantAgent."""
        super().__init__(*args, **kwargs)
        self.register_reply(Agent, RetrieveAssistantAgent._generate_retrieve_assistant_reply)

    def _generate_retrieve_assistant_reply(
        self,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: Any | None = None,
    ) -> tuple[bool, str | None]:
        """Reply function: TERMINATE to code that ran well, the words for other passages to
        themselves.
        """
        *_, last = [{}, *conversation(self, messages, sender)]
        text = text_of(last.get("content"))
        if SUCCEEDED in text:
            return True, "TERMINATE"
        ends = (text[:_NEAR_END].upper(), text[-_NEAR_END:].upper())
        if any(map(ASKS_AGAIN.search, ends)):
            return (True, ASK_AGAIN)
        return (False, None)
