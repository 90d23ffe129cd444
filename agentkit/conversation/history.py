"""What an agent has said and heard, by the agent it talked with; messages are stored in AutoGen's form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentkit.conversation.agent import Agent
from agentkit.errors import UnknownName, WrongArgument, WrongType

Stored = dict[str, Any]
"""A message as it is stored: an OpenAI chat dict with AutoGen's `tool_responses` and `context` beside the usual keys."""
_KEPT = ("content", "function_call", "tool_calls", "tool_responses", "tool_call_id", "name", "context")


class History:
    """The conversations of one agent; each is a list, oldest message first."""

    def __init__(self, chat_messages: Mapping[Agent, Sequence[Stored]] | None = None) -> None:
        """Begin with earlier conversations, whose lists are copied."""
        self.messages: dict[Agent, list[Stored]] = defaultdict(list)
        self.messages.update({agent: list(messages) for agent, messages in (chat_messages or {}).items()})

    def add(self, message: Stored | str, role: str, peer: Agent, speaker: str) -> bool:
        """Store a message of the conversation with `peer`; False when it has neither content nor a call."""
        if (stored := stored_form(as_dict(message), role, speaker)) is None:
            return False
        self.messages[peer].append(stored)
        return True

    def last(self, peer: Agent | None) -> Stored | None:
        """The newest message with `peer`, by default of the only conversation; None when there is none.

        Raises WrongArgument when several conversations are possible, UnknownName for a peer that was never met.
        """
        if peer is None:
            if len(self.messages) > 1:
                raise WrongArgument("There is more than one conversation; name the agent whose last message you want.")
            return next((messages[-1] for messages in self.messages.values() if messages), None)
        if peer not in self.messages:
            raise UnknownName(f"The agent {peer.name!r} is in no conversation; there is no history with it.")
        return self.messages[peer][-1] if self.messages[peer] else None

    def clear(self, peer: Agent | None, preserve: int | None, told: Callable[[str], None]) -> None:
        """Forget one conversation or all; the newest `preserve` messages stay, with the calls that their results answer."""
        if peer is None and not preserve:
            self.messages.clear()
            return
        for each in [peer] if peer is not None else list(self.messages):
            self.messages[each] = self._tail(self.messages[each], preserve or 0, told)

    def _tail(self, messages: list[Stored], count: int, told: Callable[[str], None]) -> list[Stored]:
        if count <= 0:
            messages.clear()
            return messages
        start = max(0, len(messages) - count)
        while start > 0 and _answers_a_call(messages[start]):
            start -= 1
            told("One more message is kept: a call must stay with its result.")
        return messages[start:]


def _answers_a_call(message: Stored) -> bool:
    return "tool_responses" in message or message.get("role") in ("tool", "function")


def as_dict(message: Any) -> Stored:
    """A message given as text or mapping as a dict; raises WrongType for anything else."""
    if isinstance(message, str):
        return {"content": message}
    if isinstance(message, dict):
        return message
    if isinstance(message, Mapping):
        return dict(message)
    raise WrongType(f"A message is a text or a dict, not {type(message).__name__} ({message!r:.80}).")


def stored_form(message: Stored, role: str, speaker: str) -> Stored | None:
    """The message as it is stored, or None when it is no valid one.

    `role` is what it gets unless it is the result of a tool or says `override_role`; `speaker` names who said it.
    """
    stored = {key: message[key] for key in _KEPT if message.get(key) is not None}
    if "context" in stored and not isinstance(stored["context"], Mapping):
        raise WrongType(f"{speaker}: the context of a message must be a dict, not {stored['context']!r:.80}.")
    if "content" not in stored:
        if "function_call" not in stored and "tool_calls" not in stored:
            return None
        stored["content"] = None
    if message.get("role") in ("function", "tool"):
        stored["role"] = message["role"]
        for response in stored.get("tool_responses", ()):
            response["content"] = str(response["content"])
    else:
        stored["role"] = message.get("override_role", role)
    if stored.get("function_call") or stored.get("tool_calls"):
        stored["role"] = "assistant"
    elif "name" not in stored:
        stored["name"] = speaker
    return stored
