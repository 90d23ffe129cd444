"""How much of a model's context window a text or a history takes, with AutoGen's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.errors import UnknownModel, WrongArgument
from agentkit.llm.tokens import _encoding_name, count_messages, count_text, encoding

DEFAULT_MODEL = "gpt-3.5-turbo-0613"

# Windows of old models that the price list lacks or gives for a later model of the same name (OpenAI's model pages, 2024).
_WINDOWS = {
    "gpt-3.5-turbo-0301": 4096,
    "gpt-3.5-turbo-0613": 4096,
    "gpt-3.5-turbo-instruct": 4096,
    "gpt-4-32k": 32768,
    "gpt-4-32k-0314": 32768,
    "gpt-4-32k-0613": 32768,
}


def count_token(input: str | list[Any] | dict[str, Any], model: str = DEFAULT_MODEL) -> int:
    """Tokens of a text, of a message or of a list of messages; an estimate for models whose tokenizer is not known.

    Raises WrongArgument for anything else.
    """
    if isinstance(input, str):
        return count_text(input, model)[0]
    if isinstance(input, Mapping):
        return count_messages([input], model)[0]
    if isinstance(input, list):
        return count_messages(input, model)[0]
    raise WrongArgument(f"count_token: input is a {type(input).__name__}; give a text, a message or a list of messages.")


def get_max_token_limit(model: str = DEFAULT_MODEL) -> int:
    """Tokens of prompt and reply together that the model takes; raises UnknownModel where no list tells."""
    if model in _WINDOWS:
        return _WINDOWS[model]
    from genai_prices import data_snapshot

    try:
        window = data_snapshot.get_snapshot().find_provider_model(model, None, None, None)[1].context_window
    except LookupError:
        window = None
    if window is None:
        raise UnknownModel(f"The context window of the model {model!r} is not known; set the limit yourself.")
    return window


def percentile_used(input: str | list[Any] | dict[str, Any], model: str = DEFAULT_MODEL) -> float:
    """The share of the model's window that is used, 1.0 when full; raises as `count_token` and `get_max_token_limit`."""
    return count_token(input, model) / get_max_token_limit(model)


def token_left(input: str | list[Any] | dict[str, Any], model: str = DEFAULT_MODEL) -> int:
    """Tokens of the model's window that are left, negative when exceeded; raises as `percentile_used`."""
    return get_max_token_limit(model) - count_token(input, model)


def truncated(text: str, tokens: int, model: str = DEFAULT_MODEL) -> str:
    """The beginning of the text: whole characters, and at most so many tokens; the text itself when it is short enough."""
    coder = encoding(_encoding_name(model) or "cl100k_base")
    codes = coder.encode_ordinary(text)
    if len(codes) <= tokens:
        return text
    for size in range(max(0, tokens), 0, -1):
        start = coder.decode_bytes(codes[:size]).decode(errors="ignore")
        if len(coder.encode_ordinary(start)) <= tokens:  # a cut text may be split into more tokens than the whole one
            return start
    return ""
