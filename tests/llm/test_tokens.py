from __future__ import annotations

import pytest

from agentkit.llm.calls.usage import estimate_usage, to_usage
from agentkit.llm.tokens.counting import count_messages, count_text
from agentkit.llm.tokens.families import load_encoding
from agentkit.messages import message


def test_known_encodings_give_known_tokens() -> None:
    assert load_encoding("cl100k_base").encode_ordinary("hello world") == [15339, 1917]
    assert load_encoding("o200k_base").encode_ordinary("hello world") == [24912, 2375]
    assert count_text("tiktoken is great!", "gpt-4") == (6, False)


@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-5-mini", "openai/gpt-4o-mini", "gpt-oss-20b", "gpt-3.5-turbo"]
)
def test_known_models_are_counted_exactly(model: str) -> None:
    assert count_text("hello world", model) == (2, False)


def test_unknown_models_are_estimated_and_say_so() -> None:
    count, estimated = count_text("Der Mietvertrag beginnt am ersten April.", "llama3.1:8b")
    assert estimated
    assert 5 <= count <= 20


def test_special_tokens_in_documents_are_plain_text() -> None:
    assert count_text("<|endoftext|>", "gpt-4")[0] > 1


def test_messages_count_more_than_their_text() -> None:
    one = [message("user", "hello world")]
    two = [*one, message("assistant", "hello world")]
    assert count_messages(one, "gpt-4")[0] == 2 + 4 + 3
    assert count_messages(two, "gpt-4")[0] - count_messages(one, "gpt-4")[0] == 6
    called = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}],
        }
    ]
    assert count_messages(called, "gpt-4")[0] > 10


def test_server_usage_falls_into_exclusive_buckets() -> None:
    raw = {
        "prompt_tokens": 1000,
        "completion_tokens": 500,
        "total_tokens": 1500,
        "prompt_tokens_details": {"cached_tokens": 400, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 300},
    }
    usage = to_usage(raw)
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) == (
        600,
        400,
        0,
        200,
        300,
    )
    assert usage.total == 1500
    assert not usage.estimated


@pytest.mark.parametrize(
    "raw", [{}, {"prompt_tokens": None, "completion_tokens": -4}, {"prompt_tokens_details": None}]
)
def test_missing_and_impossible_counts_are_nothing(raw: dict[str, object]) -> None:
    assert to_usage(raw).total == 0


def test_own_counts_are_marked() -> None:
    usage = estimate_usage([message("user", "hello world")], "hello", "gpt-4")
    assert usage.estimated
    assert (usage.prompt, usage.completion) == (9, 1)
