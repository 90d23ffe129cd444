"""An agent's language model: its configuration, its client, and the reply that it makes from a
history.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentkit.conversation import announcing
from agentkit.conversation.checks import redact
from agentkit.conversation.tooling import normalize_name
from agentkit.core.given import coalesce, copy_nested, pick, pick_filled
from agentkit.core.io import is_quiet
from agentkit.errors import BadModelReply, WrongArgument
from agentkit.events import ReplyEnd
from agentkit.llm.calls.ends import cut_by, end_of
from agentkit.llm.calls.retrieved import read_thinking
from agentkit.messages import (
    AnyMessage,
    FunctionCall,
    Stored,
    check_reply,
    has_calls,
    sendable_form,
    with_functions,
    without_keys,
)

if TYPE_CHECKING:
    from agentkit.llm.cache import AbstractCache

_EMPTY: tuple[LLMConfig, ...] = ({}, {"config_list": []}, {"config_list": [{"model": ""}]})
_TOOLS = ("tools", "functions")
_cut: ContextVar[tuple[list[CutReply], ...]] = ContextVar("agentkit_cut_replies", default=())
_lent: ContextVar[Mapping[Binding, AbstractCache | None]] = ContextVar(
    "agentkit_lent_caches", default=MappingProxyType({})
)


LLMConfig = dict[str, Any] | Literal[False]
"""What OpenAIWrapper takes, with `tools` and `functions` beside it; False for no model."""


@dataclass(frozen=True, slots=True)
class CutReply:
    """A reply of an agent's model of which there was to be more."""

    agent: str
    end: ReplyEnd
    """What cut it."""


@contextmanager
def note_cuts() -> Iterator[list[CutReply]]:
    """Collect the cut replies of all models that agents ask in the block, also within chats in
    it.
    """
    noted: list[CutReply] = []
    token = _cut.set((*_cut.get(), noted))
    try:
        yield noted
    finally:
        _cut.reset(token)


class Binding:
    """The model that speaks for an agent; `client` is None when there is none."""

    def __init__(self, owner: str, config: LLMConfig) -> None:
        """Raises WrongArgument for a configuration that cannot be, and what OpenAIWrapper
        raises.
        """
        if config in _EMPTY:
            raise WrongArgument(
                f"{owner}: llm_config names no model; give a non-empty 'model' in llm_config or in"
                " each config of 'config_list', or use llm_config=False for an agent without a"
                " model."
            )
        self.owner = owner
        self.config: LLMConfig = False
        self.client: Any = None
        self._cache: AbstractCache | None = None
        if config is False:
            return
        if not isinstance(config, dict):
            raise WrongArgument(
                f"{owner}: llm_config must be a dict, False or None, not {redact(config)}."
            )
        self.config = copy_nested(config)
        self.client = make_client(config)

    @property
    def cache(self) -> AbstractCache | None:
        """The cache of the chat that goes on here, else the agent's own."""
        return _lent.get().get(self, self._cache)

    @cache.setter
    def cache(self, cache: AbstractCache | None) -> None:
        """Use this cache: inside a chat until the chat ends, else from now on."""
        lent = _lent.get()
        if self in lent:
            _lent.set({**lent, self: cache})
        else:
            self._cache = cache

    @contextmanager
    def lend(self, cache: AbstractCache | None) -> Iterator[None]:
        """Use the cache of a chat while it lasts, then the one from before; chats in other tasks or
        threads have their own.
        """
        token = _lent.set({**_lent.get(), self: cache})
        try:
            yield
        finally:
            _lent.reset(token)


def make_client(llm_config: Mapping[str, Any]) -> Any:
    """The OpenAIWrapper of an `llm_config`; the tools in it are left out, as a client has no
    setting for them.

    Raises what OpenAIWrapper raises for a configuration that cannot be.
    """
    from agentkit.llm.compatible.wrapper import OpenAIWrapper

    return OpenAIWrapper(**without_keys(llm_config, _TOOLS))


def list_models(client: object) -> Sequence[Any]:
    """The models that a client asks, as it tells them: none for a client of another kind."""
    return coalesce(getattr(client, "models", None), ())


def list_tools(llm_config: Mapping[str, Any] | bool | None) -> dict[str, Any]:
    """The functions that an agent's model is told about, as parameters of a call."""
    if not isinstance(llm_config, Mapping):
        return {}
    return pick_filled(pick(llm_config, _TOOLS))


def model_reply(
    client: Any,
    messages: Sequence[AnyMessage],
    cache: AbstractCache | None,
    agent: Any,
    offered: Mapping[str, object],
) -> str | Stored | None:
    """Ask the client; the reply is a text or a message with calls, None when there was nothing in
    it.

    Raises what the client raises.
    """
    response = client.create(
        context=_merge_contexts(messages),
        messages=sendable_form(messages),
        cache=cache,
        agent=agent,
        **offered,
    )
    extracted = client.extract_text_or_completion_object(response)
    if end := cut_by(end_of(response)):
        for noted in _cut.get():
            noted.append(CutReply(getattr(agent, "name", ""), end))
    reply = next(iter(extracted), None)
    if isinstance(reply, str):
        _keep_thinking(agent, reply, response)
        return reply
    if reply is not None:
        reply = _parse_message(agent.name if agent else "the model", reply)
    if reply is None:
        announcing.note(agent.name, "the model gave an empty reply", is_quiet())
    return reply


def _keep_thinking(agent: object, reply: str, response: object) -> None:
    """Let the agent's history know what its model thought before it wrote the reply."""
    choices = coalesce(getattr(response, "choices", None), ())
    thinking = read_thinking(getattr(next(iter(choices), None), "message", None))
    engine = getattr(agent, "_engine", None)
    if thinking and engine is not None:
        engine.history.keep_thinking(reply, thinking)


def _merge_contexts(messages: Sequence[AnyMessage]) -> dict[str, Any] | None:
    """The contexts of all messages in one, later ones count: so a message can renew what an earlier
    one refers to.
    """
    contexts = [message["context"] for message in messages if "context" in message]
    if not contexts:
        return None
    return dict(ChainMap(*reversed(contexts)))


def _parse_message(owner: str, reply: Any) -> Stored | None:
    """A message in a form that servers take back, None for one with nothing in it; raises
    BadModelReply for anything else.
    """
    message = _to_mapping(reply)
    if not isinstance(message, Mapping):
        raise BadModelReply(
            f"{owner}: its model sent {reply!r:.200} as its message; it must be a text or a"
            " message."
        )
    check_reply(f"{owner}: its model", message)
    made = with_functions(message, _normalize)
    if made.get("content") is None and not has_calls(made):
        return None
    return made


def _to_mapping(reply: Any) -> Any:
    """A message of a library as a dict, parts of a content as its content."""
    if hasattr(reply, "model_dump"):
        return reply.model_dump()
    if isinstance(reply, list):
        return {"content": reply}
    return reply


def _normalize(function: FunctionCall) -> FunctionCall:
    return {**function, "name": normalize_name(function["name"])}
