"""How many tokens a model is sent: the history, the system message and the tools; what was counted
once is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from agentkit.conversation.model import list_models
from agentkit.core.given import coalesce, pick_kind
from agentkit.errors import UnknownModel
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import TokenCounter, counter, counter_of
from agentkit.llm.tokens.windows import (
    DEFAULT_MODEL,
    cut_to_fit,
    get_max_token_limit,
    how_to_set_window,
    truncate,
    window_of,
)
from agentkit.messages import (
    AnyMessage,
    Message,
    content_of,
    sendable_form,
    without_thinking,
)


class Meter:
    """Counts stored messages as they are sent to one model; by the model's own tokenizer where its
    client has one.
    """

    def __init__(self, model: str, client: Any = None) -> None:
        asked = _find_first(client)
        self.model = model
        self._counter: TokenCounter = counter(model) if asked is None else counter_of(asked)
        _, self.estimated = self._counter.prompt([])

    def count(self, messages: Iterable[AnyMessage]) -> int:
        """Tokens of these messages, without the opening of the reply."""
        total = 0
        for message in chain.from_iterable(map(_to_sent, messages)):
            tokens, _ = self._counter.message(message)
            total += tokens
        return total

    def text(self, text: str) -> int:
        """Tokens of a text."""
        tokens, _ = self._counter.text(text)
        return tokens

    def cut(self, text: str, tokens: int) -> str:
        """The beginning of the text, of at most so many tokens."""
        return cut_to_fit(truncate(text, tokens, self.model), tokens, self.text)

    def count_fixed(self, system: Iterable[AnyMessage], offered: Mapping[str, Any]) -> int:
        """Tokens that are sent whatever the history is: the system message, the tools and the
        opening of the reply.

        `offered` holds the definitions under `tools` and `functions`, as an `llm_config` does.
        """
        said = sendable_form(each for each in system if each.get("content"))
        tools = [*offered.get("tools", ()), *offered.get("functions", ())]
        tokens, _ = self._counter.prompt(said, tools)
        return tokens


def model_of(agent: Any) -> tuple[str, int | None]:
    """The name of the model that an agent asks first, and the smallest window (tokens, None when
    unknown) of all it may ask.

    Without a model the name is a default one, by which texts can be counted.
    """
    return model_asked_by(agent.client, agent.llm_config)


def model_asked_by(client: Any, config: object = None) -> tuple[str, int | None]:
    """The same of a client; `config` is looked into for a client that does not say."""
    name = getattr(_find_first(client), "name", "") or _find_name(config)
    if not name:
        return DEFAULT_MODEL, None
    windows = list(map(window_of, models_of(client))) or [window_named(name)]
    return name, min(filter(None, windows), default=None)


def models_of(client: Any) -> list[Model]:
    """The models that a client may ask, in order; those that it does not tell are left out."""
    return pick_kind(list_models(client), Model)


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


def _to_sent(message: AnyMessage) -> list[Message]:
    """A message as the API takes it; a content that is a function is what it gives."""
    if callable(message.get("content")):
        message = {**message, "content": content_of(message)}
    return list(map(without_thinking, sendable_form([message])))


def _find_first(client: Any) -> Model | None:
    """The model that is asked first, if the client tells it."""
    first = next(iter(list_models(client)), None)
    if not isinstance(first, Model):
        return None
    return first


def _find_name(config: Any) -> str | None:
    """The name of the first model in an `llm_config`."""
    if not isinstance(config, Mapping):
        return None
    entries = coalesce(config.get("config_list"), [])
    for entry in (*entries[:1], config):
        if entry.get("model"):
            return str(entry["model"])
    return None
