"""An agent's language model: its configuration, its client, and the reply that it makes from a history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from agentkit.conversation import telling
from agentkit.conversation.checks import discreet
from agentkit.conversation.history import Stored
from agentkit.conversation.tooling import normalized_name
from agentkit.core.io import is_quiet
from agentkit.errors import BadModelReply, WrongArgument, WrongType

_EMPTY: tuple[Any, ...] = ({}, {"config_list": []}, {"config_list": [{"model": ""}]})
_TOOLS = ("tools", "functions")


class Voice:
    """The model that speaks for an agent; `client` is None when there is none."""

    def __init__(self, owner: str, config: dict[str, Any] | bool) -> None:
        """Raises WrongType or WrongArgument for a configuration that cannot be."""
        if config is not False and not isinstance(config, dict):
            raise WrongArgument(f"{owner}: llm_config must be a dict, False or None, not {discreet(config)}.")
        if config in _EMPTY:
            raise WrongArgument(
                f"{owner}: llm_config names no model; give a non-empty 'model' in llm_config or in each config of 'config_list', "
                "or use llm_config=False for an agent without a model."
            )
        self.owner = owner
        self.config: dict[str, Any] | bool = _copied(config)
        self.client: Any = None
        self.cache: Any = None
        self._own_cache: Any = None
        self._lent: list[list[Any]] = []
        if isinstance(self.config, dict):
            from agentkit.llm.wrapper import OpenAIWrapper

            self.client = OpenAIWrapper(**{key: value for key, value in self.config.items() if key not in _TOOLS})

    @contextmanager
    def lent(self, cache: Any) -> Iterator[None]:
        """Use the cache of a chat while it lasts, then the one from before; chats may overlap and end in any order."""
        if not self._lent:
            self._own_cache = self.cache
        loan = [cache]
        self._lent.append(loan)
        self.cache = cache
        try:
            yield
        finally:
            self._lent = [each for each in self._lent if each is not loan]
            self.cache = self._lent[-1][0] if self._lent else self._own_cache

    def offered(self) -> dict[str, Any]:
        """The functions that the model is told about, as parameters of a call."""
        if not isinstance(self.config, dict):
            return {}
        return {key: self.config[key] for key in _TOOLS if self.config.get(key)}


def model_reply(client: Any, messages: Sequence[Stored], cache: Any, agent: Any, offered: Mapping[str, Any]) -> Any:
    """Ask the client; the reply is a text or a message with calls, None when there was nothing in it.

    Raises what the client raises.
    """
    response = client.create(context=_context(messages), messages=sendable(messages), cache=cache, agent=agent, **offered)
    extracted = client.extract_text_or_completion_object(response)
    reply = extracted[0] if extracted else None
    if reply is None:
        telling.note(agent.name, "the model gave an empty reply", is_quiet())
        return None
    return reply if isinstance(reply, str) else _accepted(agent.name if agent else "the model", reply)


def sendable(messages: Sequence[Stored]) -> list[Stored]:
    """The messages as the chat API takes them: every tool response one message, nothing but the API's keys."""
    sent: list[Stored] = []
    for message in messages:
        responses = message.get("tool_responses") or []
        sent += responses
        # The content of a message of role tool only repeats the responses.
        if not responses or message.get("role") != "tool":
            sent.append({key: value for key, value in message.items() if key not in ("tool_responses", "context")})
            if message.get("role") == "function":
                sent[-1]["content"] = str(message.get("content"))
    return sent


def _context(messages: Sequence[Stored]) -> dict[str, Any] | None:
    """The contexts of all messages in one, later ones count: so a message can renew what an earlier one refers to."""
    contexts = [message["context"] for message in messages if "context" in message]
    return {key: value for context in contexts for key, value in context.items()} if contexts else None


def _accepted(owner: str, reply: Any) -> Any:
    """A message with calls in a form that servers take back; raises WrongType or BadModelReply for what can be none."""
    made = reply.model_dump() if hasattr(reply, "model_dump") else reply
    if not isinstance(made, dict):
        raise WrongType(f"{owner}: its model client gave {reply!r:.200} as its message; it must be a text or a message.")
    calls = made.get("tool_calls") or []
    for function in [*filter(None, [made.get("function_call")]), *(call.get("function") for call in calls)]:
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise BadModelReply(f"{owner}: its model called a function without a name: {function!r:.200}; ask again.")
        function["name"] = normalized_name(function["name"])
    for call in calls:
        for key in ("id", "type"):
            if call.get(key, "") is None:
                del call[key]
    return made


def _copied(config: Any) -> Any:
    """A copy of the nested dicts and lists; what lies in them is shared."""
    if type(config) is dict:
        return {key: _copied(value) for key, value in config.items()}
    return [_copied(each) for each in config] if type(config) is list else config
