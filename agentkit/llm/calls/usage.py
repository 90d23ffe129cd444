"""Token counts of a call from what the server says, or from our own count when it says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeGuard

from agentkit.core.given import pick_given
from agentkit.core.lenient import find_below, is_number
from agentkit.events import Usage
from agentkit.llm.tokens.counting import count_messages, count_text
from agentkit.messages import mappings_in

# Where servers put the same figure; the first one there counts. A dot leads into a part of the
# object.
_PROMPT = ("prompt_tokens", "input_tokens", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "eval_count")
_READ = (
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "cache_read_input_tokens",
    "prompt_cache_hit_tokens",
    "cached_tokens",
)
_WRITTEN = (
    "prompt_tokens_details.cache_write_tokens",
    "input_tokens_details.cache_write_tokens",
    "cache_creation_input_tokens",
    "prompt_tokens_details.cache_creation_tokens",
)
_REASONING = (
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "reasoning_tokens",
)
_TOTAL = ("total_tokens",)
_ANTHROPIC = frozenset({"cache_read_input_tokens", "cache_creation_input_tokens"})
_LONGEST = 200  # characters of anything else in there
_MOST = 10**12
"""Tokens that no call can have; a server that says so counts something else."""


def check_usage(raw: object) -> dict[str, Any]:
    """A server's `usage` object as it can be kept: empty when there is none, or when a count of
    tokens in it cannot be.
    """
    if not isinstance(raw, Mapping) or not _can_be(raw):
        return {}
    return _to_storable(raw)


def to_usage(raw: Mapping[str, object]) -> Usage:
    """A server's `usage` object in exclusive buckets; missing and impossible counts are 0.

    It may be that of OpenAI's chat or responses API, of a server that follows them in its own way,
    or Anthropic's. Cached and reasoning tokens are parts of the prompt and of the completion,
    except where the server counts them beside: in Anthropic's object the cached ones, and where
    the total is larger than both, the reasoning.
    """
    prompt, read, written = map(partial(_find_count, raw), (_PROMPT, _READ, _WRITTEN))
    output, reasoning = _separate_reasoning(raw, prompt)
    if not _counts_cached_beside(raw):
        read = min(read, prompt)
        written = min(written, prompt - read)
        prompt -= read + written
    return Usage(
        input=prompt, cache_read=read, cache_write=written, output=output, reasoning=reasoning
    )


def _counts_cached_beside(raw: Mapping[str, object]) -> bool:
    """Whether it is Anthropic's object, in which the prompt lacks what was cached."""
    return "prompt_tokens" not in raw and not _ANTHROPIC.isdisjoint(raw)


def estimate_usage(
    messages: Iterable[Mapping[str, object]],
    text: str,
    model: str,
    tools: Sequence[Mapping[str, object]] = (),
    thinking: str = "",
) -> Usage:
    """Our own count of a prompt with its tools and of a reply, marked as an estimate."""
    prompt, _ = count_messages(messages, model, tools)
    completion, _ = count_text(text, model)
    reasoning, _ = count_text(thinking, model)
    return Usage(input=prompt, output=completion, reasoning=reasoning, estimated=True)


def add_reasoning(usage: Usage, thinking: str, model: str) -> Usage:
    """The usage with the part of the completion that was thinking, where the server did not say."""
    if usage.reasoning or not thinking:
        return usage
    tokens, _ = count_text(thinking, model)
    reasoning = min(usage.output, tokens)
    return replace(usage, output=usage.output - reasoning, reasoning=reasoning)


def _separate_reasoning(raw: Mapping[str, object], prompt: int) -> tuple[int, int]:
    """Completion tokens without reasoning, and reasoning tokens."""
    completion = _find_count(raw, _COMPLETION)
    reasoning = _find_count(raw, _REASONING)
    beside = _find_count(raw, _TOTAL) - prompt - completion
    # xAI and Gemini's compatible address; the latter names only the total.
    if min(prompt, beside) > 0 and reasoning in (0, beside):
        return completion, beside
    if reasoning > completion:
        return completion, reasoning
    return completion - reasoning, reasoning


def _find_count(raw: Mapping[str, object], names: Sequence[str]) -> int:
    """The first of the figures that is a number other than 0."""
    return next(filter(None, map(partial(_read_count, raw), names)), 0)


def _read_count(raw: Mapping[str, object], name: str) -> int:
    value = find_below(raw, *name.split("."))
    if not _is_count(value):
        return 0
    return int(value)


def _can_be(raw: Mapping[str, object]) -> bool:
    """Whether every count of tokens is one; null says nothing."""
    counts, parts = _find_named(raw).values(), mappings_in(list(raw.values()))
    return all(chain(map(_is_count, counts), map(_can_be, parts)))


def _find_named(raw: Mapping[str, Any]) -> dict[str, Any]:
    """All that has the name of a count, but for null."""
    return pick_given({name: value for name, value in raw.items() if _names_count(name)})


def _to_storable(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Counts as whole numbers, and of the rest what the ledger can hold."""
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        if isinstance(value, Mapping):
            kept[name] = _to_storable(value)
        elif _is_note(name, value):
            kept[name] = value
    for name, value in _find_named(raw).items():
        kept[name] = int(value)
    return kept


def _is_note(name: object, value: object) -> bool:
    """Whether the ledger can hold what a server adds to its counts."""
    if str(name).endswith("_details"):
        return False
    if isinstance(value, str):
        return len(value) <= _LONGEST
    return isinstance(value, int | float) and -_MOST <= value <= _MOST


def _names_count(name: object) -> bool:
    return str(name).endswith("_tokens") or name in (*_PROMPT, *_COMPLETION)


def _is_count(value: Any) -> TypeGuard[int | float]:
    if not is_number(value):
        return False
    return 0 <= value <= _MOST and value % 1 == 0
