"""What an agent is to other agents: AutoGen's protocols `Agent` and `LLMAgent`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from agentkit.messages import AnyMessage, Given, Stored


@runtime_checkable
class Agent(Protocol):
    """Somebody with a name who can be sent messages and replies to them."""

    @property
    def name(self) -> str:
        """The agent's name, unique among those it works with."""

    @property
    def description(self) -> str:
        """What the agent is good for; others choose speakers by it."""

    def send(
        self, message: Given | str, recipient: Agent, request_reply: bool | None = None
    ) -> None:
        """Send a message to another agent."""

    async def a_send(
        self, message: Given | str, recipient: Agent, request_reply: bool | None = None
    ) -> None:
        """(async) Send a message to another agent."""

    def receive(
        self, message: Given | str, sender: Agent, request_reply: bool | None = None
    ) -> None:
        """Receive a message from another agent."""

    async def a_receive(
        self, message: Given | str, sender: Agent, request_reply: bool | None = None
    ) -> None:
        """(async) Receive a message from another agent."""

    def generate_reply(
        self, messages: list[Given] | None = None, sender: Agent | None = None, **kwargs: Any
    ) -> str | AnyMessage | None:
        """A reply to the messages; None when there is none."""

    async def a_generate_reply(
        self, messages: list[Given] | None = None, sender: Agent | None = None, **kwargs: Any
    ) -> str | AnyMessage | None:
        """(async) A reply to the messages; None when there is none."""


@runtime_checkable
class LLMAgent(Agent, Protocol):
    """An agent that a language model speaks for."""

    @property
    def system_message(self) -> str:
        """What the model is told about its role."""

    def update_system_message(self, system_message: str) -> None:
        """Tell the model another role from now on."""


class Remembering(Protocol):
    """Somebody who keeps conversations."""

    @property
    def name(self) -> str:
        """The agent's name."""

    @property
    def chat_messages(self) -> Mapping[Agent, list[Stored]]:
        """The conversations, by the other agent."""


class ChatAgent(Agent, Remembering, Protocol):
    """An agent as its parts see it: what they use of a ConversableAgent."""

    DEFAULT_SUMMARY_PROMPT: str

    def last_message(self, agent: Agent | None = None) -> Stored | None:
        """The newest message with the agent."""

    def chat_messages_for_summary(self, agent: Agent) -> list[Stored]:
        """The conversation with an agent as it is summarised."""

    def run_code(self, code: str, **kwargs: Any) -> tuple[int, str, str | None]:
        """Run one piece of code: exit code, output, and the Docker image used."""

    def execute_code_blocks(self, code_blocks: list[tuple[str, str]]) -> tuple[int, str]:
        """Run blocks of (language, code): exit code and output."""
