"""Functions that users hang into an agent: they see and may change what is sent and what is replied to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agentkit.conversation.agent import Agent
from agentkit.core.twin import wait_for
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import Stored, copied, function_call_of

HOOKABLE = (
    "process_last_received_message",
    "process_all_messages_before_reply",
    "process_message_before_send",
    "update_agent_state",
)


class Hooks:
    """One list of hooks for each hookable method; they are called in the order of their registration."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.lists: dict[str, list[Callable[..., object]]] = {name: [] for name in HOOKABLE}

    def register(self, hookable_method: str, hook: Callable[..., object]) -> None:
        """Add a hook; raises WrongArgument for an unknown method or a hook that is there, WrongType for no callable."""
        if hookable_method not in self.lists:
            raise WrongArgument(
                f"{self.owner}: {hookable_method!r} is not a hookable method; choose one of {', '.join(self.lists)}."
            )
        if not callable(hook):
            raise WrongType(f"{self.owner}: a hook must be callable, not {hook!r}.")
        if hook in self.lists[hookable_method]:
            raise WrongArgument(f"{self.owner}: {hook!r} is already registered as a hook of {hookable_method}.")
        self.lists[hookable_method].append(hook)

    def before_send(self, sender: Agent, message: object, recipient: Agent, silent: bool) -> Any:
        """The message as the hooks want it sent."""
        for hook in self.lists["process_message_before_send"]:
            message = _result(hook(sender=sender, message=message, recipient=recipient, silent=silent))
        return message

    def update_state(self, agent: Agent, messages: list[Stored]) -> None:
        """Let the hooks look at the messages before a reply, usually to set context variables."""
        for hook in self.lists["update_agent_state"]:
            _result(hook(agent, messages))

    def all_messages(self, messages: list[Stored]) -> list[Stored]:
        """The messages as the hooks want them replied to; the given list is not changed."""
        hooks = self.lists["process_all_messages_before_reply"]
        if not hooks or not messages:
            return messages
        processed = [copied(message) for message in messages]
        for hook in hooks:
            processed = _result(hook(processed))
        return processed

    def last_message(self, messages: list[Stored]) -> list[Stored]:
        """The messages with the text of the last one as the hooks want it; calls and the exit command are left alone."""
        hooks = self.lists["process_last_received_message"]
        if not hooks or not messages or not _is_plain(messages[-1]):
            return messages
        before = processed = messages[-1]["content"]
        for hook in hooks:
            processed = _result(hook(processed))
        return messages if processed == before else [*messages[:-1], {**messages[-1], "content": processed}]


def _is_plain(message: Stored) -> bool:
    if function_call_of(message) is not None or "context" in message:
        return False
    content = message.get("content")
    return isinstance(content, str | list) and content != "exit"


def _result(value: object) -> Any:
    """What a hook returned; an async hook is waited for."""
    return wait_for(value) if inspect.isawaitable(value) else value
