"""How much text a server really takes at once, which is often less than its model could."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from agentkit.core.lenient import count_or_zero, find_below
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.messages import mappings_in, text_or_empty


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
        if self.tokens is None or self.trained is None:
            return False
        return self.tokens < self.trained


def find_context(client: OpenAIClient, model: str, listed: int | None = None) -> Context | None:
    """What the server tells of a model; `listed` is what its list of models says.

    Ask the model first: Ollama tells the size only of a model that is loaded. None when nothing
    is told. Raises ModelUnreachable and Stopped.
    """
    if listed:
        return Context(listed)
    found = chain.from_iterable(look(client, model) for look in _SERVERS)
    return next(found, None)


def _ask_ollama(client: OpenAIClient, model: str) -> Iterator[Context]:
    running = client.beside("/api/ps")
    if not isinstance(find_below(running, "models"), list):
        return
    rows = {row.get("name"): row for row in reversed(mappings_in(running["models"]))}
    same = map(rows.get, (model, f"{model}:latest"))
    given = map(_read_size, same, repeat("context_length"))
    shown = client.beside("/api/show", {"model": model})
    architecture = find_below(shown, "model_info", "general.architecture")
    trained = _read_size(shown, "model_info", f"{architecture}.context_length")
    tokens = next(filter(None, [*given, _read_wanted(shown)]), None)
    yield Context(tokens, trained, cuts=True)


def _read_wanted(shown: object) -> int | None:
    """The size that the parameters of a model of Ollama set."""
    parameters = text_or_empty(find_below(shown, "parameters"))
    wanted = re.search(r"^num_ctx\s+(\d+)", parameters, re.MULTILINE)
    if wanted is None:
        return None
    return int(wanted[1])


def _ask_llama_cpp(client: OpenAIClient, model: str) -> Iterator[Context]:
    settings = client.beside("/props")
    if tokens := _read_size(settings, "default_generation_settings", "n_ctx"):
        yield Context(tokens)


def _ask_lm_studio(client: OpenAIClient, model: str) -> Iterator[Context]:
    for row in mappings_in(find_below(client.beside("/api/v0/models"), "data")):
        context = Context(
            _read_size(row, "loaded_context_length"), _read_size(row, "max_context_length")
        )
        if row.get("id") == model and context != Context(None):
            yield context


_SERVERS: tuple[Callable[[OpenAIClient, str], Iterator[Context]], ...] = (
    _ask_ollama,
    _ask_llama_cpp,
    _ask_lm_studio,
)


def _read_size(value: object, *keys: str) -> int | None:
    """The number of tokens below these keys; None where there is no such number."""
    return count_or_zero(find_below(value, *keys)) or None
