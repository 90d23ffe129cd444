"""How much text a server really takes at once, which is often less than its model could."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.llm.calls.openai_client import OpenAIClient


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a model on a server, in tokens of prompt and reply together."""

    tokens: int | None
    """What the server gives the model; None when it does not tell."""
    trained: int | None = None
    """What the model was made for, where that is told."""
    cuts: bool = False
    """Whether the server leaves out what does not fit without an error, as Ollama does."""

    @property
    def is_less(self) -> bool:
        """Whether the server gives the model less than it was made for."""
        return self.tokens is not None and self.trained is not None and self.tokens < self.trained


def context_of(client: OpenAIClient, model: str, listed: int | None = None) -> Context | None:
    """What the server tells of a model; `listed` is what its list of models says.

    Ask the model first: Ollama tells the size only of a model that is loaded. None when nothing
    is told. Raises ModelUnreachable and Stopped.
    """
    if listed:
        return Context(listed)
    return next((found for look in _SERVERS for found in look(client, model)), None)


def _ollama(client: OpenAIClient, model: str) -> Iterator[Context]:
    running = _rows(client.beside("/api/ps"), "models")
    if running is None:
        return
    same = {model, f"{model}:latest"}
    given = [_size(one.get("context_length")) for one in running if one.get("name") in same]
    shown = _mapping(client.beside("/api/show", {"model": model}))
    facts = _mapping(shown.get("model_info"))
    trained = _size(facts.get(f"{facts.get('general.architecture')}.context_length"))
    wanted = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE)
    tokens = next((size for size in given if size), None) or (int(wanted[1]) if wanted else None)
    yield Context(tokens, trained, cuts=True)


def _llama_cpp(client: OpenAIClient, model: str) -> Iterator[Context]:
    settings = _mapping(_mapping(client.beside("/props")).get("default_generation_settings"))
    if tokens := _size(settings.get("n_ctx")):
        yield Context(tokens)


def _lm_studio(client: OpenAIClient, model: str) -> Iterator[Context]:
    for one in _rows(client.beside("/api/v0/models"), "data") or ():
        loaded, most = _size(one.get("loaded_context_length")), _size(one.get("max_context_length"))
        if one.get("id") == model and (loaded or most):
            yield Context(loaded, most)


_SERVERS: tuple[Callable[[OpenAIClient, str], Iterator[Context]], ...] = (
    _ollama,
    _llama_cpp,
    _lm_studio,
)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: object, key: str) -> list[Mapping[str, Any]] | None:
    rows = _mapping(value).get(key)
    return [_mapping(row) for row in rows] if isinstance(rows, list) else None


def _size(value: Any) -> int | None:
    is_one = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return value if is_one else None
