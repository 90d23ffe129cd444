"""Functions that users hang into an agent: they see and may change what is sent and what is replied
to.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_kind, check_messages
from agentkit.conversation.history import snapshot
from agentkit.core.given import copy_nested
from agentkit.core.twin import Mode, core_of_method
from agentkit.errors import WrongArgument
from agentkit.messages import Stored, function_call_of

HOOKABLE = (
    "process_last_received_message",
    "process_all_messages_before_reply",
    "process_message_before_send",
    "update_agent_state",
)
_BEFORE_REPLY = (
    "update_agent_state_before_reply",
    "process_last_received_message",
    "process_all_messages_before_reply",
)


class Hooks:
    """One list of hooks for each hookable method; they are called in the order of their
    registration.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.lists: dict[str, list[Callable[..., object]]] = {name: [] for name in HOOKABLE}

    def register(self, hookable_method: str, hook: Callable[..., object]) -> None:
        """Add a hook; raises WrongArgument for an unknown method or a hook that is there, WrongType
        unless it can be called.
        """
        if hookable_method not in self.lists:
            raise WrongArgument(
                f"{self.owner}: {hookable_method!r} is not a hookable method; choose one of"
                f" {', '.join(self.lists)}."
            )
        check_kind(self.owner, "a hook", hook, Callable, "callable")
        if hook in self.lists[hookable_method]:
            raise WrongArgument(
                f"{self.owner}: {hook!r} is already registered as a hook of {hookable_method}."
            )
        self.lists[hookable_method].append(hook)

    async def before_send(
        self, mode: Mode, /, sender: Agent, message: object, recipient: Agent, silent: bool
    ) -> Any:
        """The message as the hooks want it sent."""
        for hook in self.lists["process_message_before_send"]:
            message = await mode.invoke(
                hook, sender=sender, message=message, recipient=recipient, silent=silent
            )
        return message

    async def before_reply(
        self, mode: Mode, /, agent: Agent, messages: list[Stored]
    ) -> list[Stored]:
        """The messages as the agent's methods for hooks want them replied to; they are not asked
        where they have nothing to do.
        """
        if not any(self.lists.values()) and all(map(core_of_method, repeat(agent), _BEFORE_REPLY)):
            return messages
        update_state, last_message, all_messages = _BEFORE_REPLY
        await mode.peer(agent, update_state, messages)
        asked = await mode.peer(agent, last_message, messages)
        processed: list[Stored] = await mode.peer(agent, all_messages, asked)
        return processed

    async def update_state(self, mode: Mode, /, agent: Agent, messages: list[Stored]) -> None:
        """Let the hooks look at the messages before a reply, usually to set context variables."""
        check_messages(self.owner, messages)
        for hook in self.lists["update_agent_state"]:
            await mode.invoke(hook, agent, messages)

    async def all_messages(self, mode: Mode, /, messages: list[Stored]) -> list[Stored]:
        """The messages as the hooks want them replied to; the given list is not changed."""
        check_messages(self.owner, messages)
        hooks = self.lists["process_all_messages_before_reply"]
        if not hooks or not messages:
            return messages
        processed = snapshot(messages)
        for hook in hooks:
            processed = await mode.invoke(hook, processed)
        return processed

    async def last_message(self, mode: Mode, /, messages: list[Stored]) -> list[Stored]:
        """The messages with the text of the last one as the hooks want it; calls and the exit
        command are left alone.
        """
        check_messages(self.owner, messages)
        hooks = self.lists["process_last_received_message"]
        if not hooks or not messages:
            return messages
        *earlier, last = messages
        if not _is_plain(last):
            return messages
        before, processed = last["content"], copy_nested(last["content"])
        for hook in hooks:
            processed = await mode.invoke(hook, processed)
        if processed == before:
            return messages
        return [*earlier, {**last, "content": processed}]


def _is_plain(message: Stored) -> bool:
    if function_call_of(message) is not None or "context" in message:
        return False
    content = message.get("content")
    return isinstance(content, str | list) and content != "exit"
