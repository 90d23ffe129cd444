"""What an agent has said and heard, by the agent it talked with; messages are stored in AutoGen's form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_all, check_conversations, check_kind
from agentkit.errors import UnknownName, WrongArgument, WrongType
from agentkit.llm.calls.thinking import FIELD

Stored = dict[str, Any]
"""A message as it is stored: an OpenAI chat dict with AutoGen's `tool_responses` and `context` beside the usual keys."""
_KEPT = ("content", "function_call", "tool_calls", "tool_responses", "tool_call_id", "name", "context", "metadata")


class History:
    """The conversations of one agent; each is a list, oldest message first."""

    def __init__(self, owner: str, chat_messages: Mapping[Agent, Sequence[Stored]] | None = None) -> None:
        """Begin with earlier conversations, whose lists are copied; raises WrongType for what is none."""
        check_conversations(owner, chat_messages)
        self.owner = owner
        self._thought = ("", "")
        self.messages: dict[Agent, list[Stored]] = defaultdict(list)
        self.messages.update({agent: list(messages) for agent, messages in (chat_messages or {}).items()})

    def add(self, message: Stored | str, role: str, peer: Agent, speaker: str) -> bool:
        """Store a message of the conversation with `peer`; False when it has neither content nor a call."""
        given = as_dict(self.owner, message)
        if (stored := stored_form(given, role, speaker)) is None:
            return False
        if speaker == self.owner and (thinking := given.get(FIELD) or self._thinking(stored)):
            stored[FIELD] = thinking
        self.messages[peer].append(stored)
        return True

    def thought(self, content: str, thinking: str) -> None:
        """What the model thought before it wrote `content`: it is stored with that, never sent."""
        self._thought = (content, thinking)

    def _thinking(self, stored: Stored) -> str:
        content, thinking = self._thought
        if stored.get("content") != content:
            return ""
        self._thought = ("", "")
        return thinking

    def last(self, peer: Agent | None) -> Stored | None:
        """The newest message with `peer`, by default of the only conversation; None when there is none.

        Raises WrongArgument when several conversations are possible, UnknownName for a peer that was never met.
        """
        if peer is None:
            if len(self.messages) > 1:
                raise WrongArgument(
                    f"{self.owner} is in more than one conversation; name the agent whose last message you want as agent=."
                )
            return next((messages[-1] for messages in self.messages.values() if messages), None)
        if peer not in self.messages:
            known = [each.name for each in self.messages]
            raise UnknownName(
                f"{self.owner}: the agent {peer.name!r} is in no conversation with it; those with {known} are known."
            )
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


def as_dict(owner: str, message: Any) -> Stored:
    """A message given as text or mapping as a dict; raises WrongType for anything else."""
    if isinstance(message, str):
        return {"content": message}
    if isinstance(message, dict):
        return message
    if isinstance(message, Mapping):
        return dict(message)
    raise WrongType(f"{owner}: message must be a text or a dict, not {message!r:.80}.")


def content_of(message: Mapping[str, Any]) -> Any:
    """The content of a message; of a content that is a function, what it gives for the message's `context`."""
    content = message.get("content")
    return content(message.get("context") or {}) if callable(content) else content


def _check(stored: Stored, role: Any, speaker: str) -> None:
    """Raise WrongType for what no model could be told, and for calls that are none; functions may return anything."""
    content = stored.get("content")
    if isinstance(content, list | tuple):
        fits = all(isinstance(part, Mapping) for part in content)
    else:
        fits = content is None or isinstance(content, str) or callable(content)
    if not fits and role not in ("function", "tool"):
        raise WrongType(
            f"{speaker}: the content of a message must be a text, a list of parts or a callable, not {content!r:.80}."
        )
    if not isinstance(stored.get("context", {}), Mapping):
        raise WrongType(f"{speaker}: the context of a message must be a dict, not {stored['context']!r:.80}.")
    for key in ("tool_calls", "tool_responses"):
        check_all(speaker, key, stored.get(key, ()), Mapping, "a dict")
    for call in (stored, *stored.get("tool_calls", ())):
        for key in ("function", "function_call"):
            check_kind(speaker, key, call.get(key), Mapping | None, "a dict with name and arguments")


def stored_form(message: Stored, role: str, speaker: str) -> Stored | None:
    """The message as it is stored, or None when it is no valid one.

    `role` is what it gets unless it is the result of a tool or says `override_role`; `speaker` names who said it.
    """
    stored = {key: message[key] for key in _KEPT if message.get(key) is not None}
    if type(stored.get("content")) is not str or len(stored) > 1 + ("name" in stored):  # more than plain words
        _check(stored, message.get("role"), speaker)
    if "content" not in stored:
        if "function_call" not in stored and "tool_calls" not in stored:
            return None
        stored["content"] = None
    if message.get("role") in ("function", "tool"):
        stored["role"] = message["role"]
        if "tool_responses" in stored:
            stored["tool_responses"] = [{**each, "content": str(each.get("content", ""))} for each in stored["tool_responses"]]
    else:
        stored["role"] = message.get("override_role", role)
    if stored.get("function_call") or stored.get("tool_calls"):
        stored["role"] = "assistant"
    elif "name" not in stored:
        stored["name"] = speaker
    return stored
