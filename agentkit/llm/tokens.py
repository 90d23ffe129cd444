"""Counting tokens: exact for models whose tokenizer is known, else an estimate that says so; never asks the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentkit.llm.token_counter import TokenCounter, counter, counter_of
from agentkit.llm.token_families import encoding, family_of, register_token_counter

__all__ = [
    "TokenCounter", "count_messages", "count_text", "counter", "counter_of", "encoding", "family_of", "register_token_counter",
]  # fmt: skip


def count_text(text: str, model: str) -> tuple[int, bool]:
    """Tokens of `text` for `model`, and whether that is an estimate."""
    family = family_of(model)
    return family.count(text), not family.text_is_known


def count_messages(
    messages: Iterable[Mapping[str, Any]], model: str, tools: Sequence[Mapping[str, Any]] = ()
) -> tuple[int, bool]:
    """Tokens of a prompt for `model` with the definitions of its tools or functions, and whether that is an estimate.

    Messages that were counted before are only looked up.
    """
    return counter(model).prompt(messages, tools)
