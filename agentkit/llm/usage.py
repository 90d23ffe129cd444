"""Token counts of a call from what the server says, or from our own count when it says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentkit.events import Usage
from agentkit.llm.tokens import count_messages, count_text


def usage_from(raw: Mapping[str, Any]) -> Usage:
    """OpenAI's `usage` object in exclusive buckets; missing and impossible counts are 0."""
    prompt, completion = _count(raw, "prompt_tokens"), _count(raw, "completion_tokens")
    read = _count(_details(raw, "prompt_tokens_details"), "cached_tokens")
    written = _count(_details(raw, "prompt_tokens_details"), "cache_write_tokens")
    reasoning = _count(_details(raw, "completion_tokens_details"), "reasoning_tokens")
    return Usage(
        input=max(0, prompt - read - written), cache_read=read, cache_write=written,
        output=max(0, completion - reasoning), reasoning=reasoning,
    )  # fmt: skip


def estimated_usage(messages: Iterable[Mapping[str, Any]], text: str, model: str) -> Usage:
    """Our own count of a prompt and a reply, marked as an estimate."""
    prompt, _ = count_messages(messages, model)
    completion, _ = count_text(text, model)
    return Usage(input=prompt, output=completion, estimated=True)


def _details(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = raw.get(name)
    return found if isinstance(found, Mapping) else {}


def _count(raw: Mapping[str, Any], name: str) -> int:
    value = raw.get(name)
    return max(0, int(value)) if isinstance(value, (int, float)) else 0
