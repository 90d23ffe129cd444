"""How much of a model's context window a text or a history takes, with AutoGen's names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Any

from agentkit.errors import UnknownModel, WrongArgument
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import count_messages, count_text
from agentkit.llm.tokens.families import (
    TextCounter,
    base_name,
    encode,
    family_of,
    find_by_name,
    load_encoding,
)
from agentkit.llm.tokens.tools import DEFAULT_MODEL, num_tokens_from_functions

__all__ = [
    "DEFAULT_MODEL",
    "count_token",
    "cut_to_fit",
    "find_registered_window",
    "get_max_token_limit",
    "num_tokens_from_functions",
    "percentile_used",
    "register_context_window",
    "token_left",
    "truncate",
    "window_of",
]

# Windows that the price list lacks, rounds, or gives for a later model of the same name (OpenAI's
# model pages, 2024 to 2026; for other makers what is said of these models in 2025, since when newer
# ones under the same name may hold more).
_WINDOWS = {
    "gpt-3.5-turbo-0301": 4096,
    "gpt-3.5-turbo-0613": 4096,
    "gpt-3.5-turbo-instruct": 4096,
    "gpt-4-32k*": 32768,
    "gpt-4.1*": 1_047_576,
    "gpt-4.5-preview*": 128_000,
    "gpt-5-chat*": 128_000,
    "chatgpt-4o*": 128_000,
    "gemini-2.5-pro*": 1_048_576,
    "gemini-3-pro*": 1_048_576,
    "mistral-large-latest": 128_000,
    "mistral-medium-latest": 128_000,
    "mistral-small-latest": 128_000,
    "ministral-*": 128_000,
    "command-r*": 128_000,
    "command-a*": 256_000,
}
_own: dict[str, int] = {}


def count_token(input: str | list[Any] | Mapping[str, object], model: str = DEFAULT_MODEL) -> int:
    """Tokens of a text, of a message or of a list of messages; an estimate for models whose
    tokenizer is not known.

    Raises WrongArgument for anything else.
    """
    if isinstance(input, str):
        return count_text(input, model)[0]
    if isinstance(input, Mapping):
        input = [input]
    if isinstance(input, list):
        return count_messages(input, model)[0]
    raise WrongArgument(
        f"count_token: input is a {type(input).__name__}; give a text, a message or a list of"
        " messages."
    )


def get_max_token_limit(model: str = DEFAULT_MODEL) -> int:
    """Tokens of prompt and reply together that the model takes; raises UnknownModel where no list
    tells.
    """
    window = (
        find_registered_window(model)
        or _find_listed_window(base_name(model))
        or _find_listed_window(model)
    )
    if window is None:
        how = how_to_set_window(model)
        raise UnknownModel(
            f"The context window of the model {model!r} is not known; {how}, or set the limit"
            " yourself."
        )
    return window


def window_of(model: Model) -> int | None:
    """The context window of a model: its own figure, else that of the lists; None where nobody
    knows.
    """
    if model.context_window is not None:
        return model.context_window
    try:
        return get_max_token_limit(model.name)
    except UnknownModel:
        return None


def register_context_window(model: str, tokens: int) -> None:
    """Set the window of a model; `model` is a name, or a pattern such as `llama3*`, and the one set
    last wins.

    Raises WrongArgument for less than one token.
    """
    if tokens < 1:
        raise WrongArgument(
            f"register_context_window: tokens={tokens} for {model!r}; a window has at least 1"
            " token."
        )
    _own.pop(model.lower(), None)
    _own[model.lower()] = tokens


def find_registered_window(model: str) -> int | None:
    """The window that `register_context_window` set for a model of this name; None without one."""
    return find_by_name(model.lower(), reversed(_own.items()))


def how_to_set_window(model: str) -> str:
    """What to do about a window that is not known, for a person to read."""
    return f"call agentkit.llm.tokens.windows.register_context_window({model!r}, tokens)"


def percentile_used(
    input: str | list[Any] | Mapping[str, object], model: str = DEFAULT_MODEL
) -> float:
    """The share of the model's window that is used, 1.0 when full; raises as `count_token` and
    `get_max_token_limit`.
    """
    return count_token(input, model) / get_max_token_limit(model)


def token_left(input: str | list[Any] | Mapping[str, object], model: str = DEFAULT_MODEL) -> int:
    """Tokens of the model's window that are left, negative when exceeded; raises as
    `percentile_used`.
    """
    return get_max_token_limit(model) - count_token(input, model)


def truncate(text: str, tokens: int, model: str = DEFAULT_MODEL) -> str:
    """The beginning of the text: whole characters, and at most so many tokens; the text itself when
    it is short enough.
    """
    family = family_of(model)
    if family.own is not None:
        return cut_to_fit(text, tokens, family.own)
    coder = load_encoding(family.encoding)
    codes = list(chain.from_iterable(encode(text, family.encoding)))
    if len(codes) <= tokens:
        return text
    for size in range(max(0, tokens), 0, -1):
        start = coder.decode_bytes(codes[:size]).decode(errors="ignore")
        # A cut text may be split into more tokens than the whole one.
        if family.count(start) <= tokens:
            return start
    return ""


def cut_to_fit(text: str, tokens: int, count: TextCounter) -> str:
    """The same by halving, for a counter that cannot show its tokens."""
    if count(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]


@cache
def _find_listed_window(model: str) -> int | None:
    corrected = find_by_name(model, _WINDOWS.items())
    if corrected is not None:
        return corrected
    from genai_prices import data_snapshot

    try:
        _, listed = data_snapshot.get_snapshot().find_provider_model(model, None, None, None)
    except LookupError:
        return None
    return listed.context_window
