"""What an agent is to other agents: AutoGen's protocols `Agent` and `LLMAgent`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from agentkit.messages import AnyMessage, Given


@runtime_checkable
class Agent(Protocol):
    """Somebody with a name who can be sent messages and replies to them."""

    @property
    def name(self) -> str:
        """The agent's name, unique among those it works with."""

    @property
    def description(self) -> str:
        """What the agent is good for; others choose speakers by it."""

    def send(self, message: Given | str, recipient: Agent, request_reply: bool | None = None) -> None:
        """Send a message to another agent."""

    async def a_send(self, message: Given | str, recipient: Agent, request_reply: bool | None = None) -> None:
        """(async) Send a message to another agent."""

    def receive(self, message: Given | str, sender: Agent, request_reply: bool | None = None) -> None:
        """Receive a message from another agent."""

    async def a_receive(self, message: Given | str, sender: Agent, request_reply: bool | None = None) -> None:
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
