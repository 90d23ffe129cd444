"""How many tokens a model is sent: the history, the system message and the tools; what was counted
once is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentkit.errors import UnknownModel
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import TokenCounter, counter, counter_of
from agentkit.llm.tokens.windows import (
    DEFAULT_MODEL,
    fitting,
    get_max_token_limit,
    how_to_set_window,
    truncated,
)
from agentkit.messages import AnyMessage, Message, content_of, sendable_form

_PLAIN = {"role", "name", "content"}
"""A message with no other keys is sent as it is stored."""


class Meter:
    """Counts stored messages as they are sent to one model; by the model's own tokenizer where its
    client has one.
    """

    def __init__(self, model: str, client: Any = None) -> None:
        asked = _first(client)
        self.model = model
        self._counter: TokenCounter = (
            counter_of(asked) if isinstance(asked, Model) else counter(model)
        )
        self.estimated = self._counter.prompt([])[1]

    def count(self, messages: Iterable[AnyMessage]) -> int:
        """Tokens of these messages, without the opening of the reply."""
        count = self._counter.message
        return sum(
            count(message)[0]
            if message.keys() <= _PLAIN
            else sum(count(each)[0] for each in _sent(message))
            for message in messages
        )

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return self._counter.text(text)[0]

    def cut(self, text: str, tokens: int) -> str:
        """The beginning of the text, of at most so many tokens."""
        return fitting(truncated(text, tokens, self.model), tokens, self.text)

    def fixed(self, system: Iterable[AnyMessage], offered: Mapping[str, Any]) -> int:
        """Tokens that are sent whatever the history is: the system message, the tools and the
        opening of the reply.

        `offered` holds the definitions under `tools` and `functions`, as an `llm_config` does.
        """
        said = sendable_form([each for each in system if each.get("content")])
        return self._counter.prompt(
            said, [*offered.get("tools", ()), *offered.get("functions", ())]
        )[0]


def model_of(agent: Any) -> tuple[str, int | None]:
    """The name of the model that an agent asks first, and the smallest window (tokens, None when
    unknown) of all it may ask.

    Without a model the name is a default one, by which texts can be counted.
    """
    return model_asked_by(agent.client, agent.llm_config)


def model_asked_by(client: Any, config: object = None) -> tuple[str, int | None]:
    """The same of a client; `config` is looked into for a client that does not say."""
    model = _first(client) or _named_in(config)
    name = getattr(model, "name", model)
    if not isinstance(name, str) or not name:
        return DEFAULT_MODEL, None
    others = [one for one in getattr(client, "models", None) or () if isinstance(one, Model)]
    windows = [
        getattr(one, "context_window", None) or window_named(getattr(one, "name", name))
        for one in others or [model]
    ]
    return name, min((window for window in windows if window), default=None)


def no_window(client: Any, model: str) -> str:
    """Why the window of the model that is asked is not known, and what to do, for a person to
    read.
    """
    if client is None:
        return "there is no model whose window that could be; give an llm_config"
    return f"the window of the model {model!r} is not known; {how_to_set_window(model)}"


def window_named(name: str) -> int | None:
    """Tokens of the window of the model of this name; None when no list tells."""
    try:
        return get_max_token_limit(name)
    except UnknownModel:
        return None


def _sent(message: AnyMessage) -> list[Message]:
    """A message as the API takes it; a content that is a function is what it gives."""
    return sendable_form(
        [
            {**message, "content": content_of(message)}
            if callable(message.get("content"))
            else message
        ]
    )


def _first(client: Any) -> Any:
    return next(iter(getattr(client, "models", None) or ()), None)


def _named_in(config: Any) -> Any:
    entries = config.get("config_list") or [config] if isinstance(config, Mapping) else []
    return entries[0].get("model") or config.get("model") if entries else None
