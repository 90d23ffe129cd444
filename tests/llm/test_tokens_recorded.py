"""Our count of prompts against what the servers of real models reported for them; each file names
where a call is recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentkit.llm.tokens.counting import TokenCounter, count_messages, count_text
from agentkit.llm.tokens.families import family_of
from agentkit.llm.tokens.images import read_image_size

RECORDED = Path(__file__).parent / "recorded_usage"
CALLS: list[dict[str, Any]] = [
    call for file in sorted(RECORDED.glob("openai_*.json")) for call in json.loads(file.read_text())
]


@pytest.mark.parametrize("call", CALLS, ids=[call["name"] for call in CALLS])
def test_prompts_count_as_reported(call: dict[str, Any]) -> None:
    counted = count_messages(call["messages"], call["model"], call["tools"])
    assert counted == (call["counted"], call["is_estimate"])
    assert call["kind"] in ("recorded", "documented")
    assert call["source"]


def test_exact_counts_are_those_of_the_server_and_estimates_are_near_or_above() -> None:
    exact = [call for call in CALLS if not call["is_estimate"]]
    assert len(exact) >= 45
    assert [
        call["name"] for call in exact if call["counted"] != call["usage"]["prompt_tokens"]
    ] == []
    for call in CALLS:
        assert call["counted"] >= call["usage"]["prompt_tokens"], call["name"]


def test_functions_are_counted_with_and_without_the_frame_of_a_tool() -> None:
    call = next(call for call in CALLS if call["name"] == "weather gpt-4o")
    bare = [tool["function"] for tool in call["tools"]]
    assert count_messages(call["messages"], "gpt-4o", bare) == count_messages(
        call["messages"], "gpt-4o", call["tools"]
    )


def test_the_recorded_picture_has_the_size_in_its_head() -> None:
    call = next(call for call in CALLS if call["name"] == "kiwi")
    assert read_image_size(call["messages"][0]["content"][1]["image_url"]["url"]) == (597, 566)


def test_prompts_are_counted_the_same_in_any_order_by_one_counter() -> None:
    counters: dict[str, TokenCounter] = {}
    for call in [*CALLS, *reversed(CALLS)]:
        one = counters.setdefault(call["model"], TokenCounter(call["model"]))
        assert one.prompt(call["messages"], call["tools"])[0] == call["counted"]


@pytest.mark.parametrize(
    ("model", "encoding", "text_is_known", "chat_is_known"),
    [
        ("gpt-4-0613", "cl100k_base", True, True),
        ("gpt-35-turbo", "cl100k_base", True, True),
        ("ft:gpt-4o-mini-2024-07-18:us::1", "o200k_base", True, True),
        ("openai/gpt-4.1-nano", "o200k_base", True, True),
        ("o1", "o200k_base", True, True),
        ("gpt-5-nano", "o200k_base", True, True),
        ("gpt-5.4", "o200k_base", True, False),
        ("gpt-oss-20b", "o200k_base", True, False),
        ("gpt-6-sol", "o200k_base", False, False),
        ("text-embedding-3-small", "cl100k_base", True, False),
        ("llama3.1:8b", "cl100k_base", False, False),
        ("claude-sonnet-4-5", "cl100k_base", False, False),
        ("olmo-2", "cl100k_base", False, False),
    ],
)
def test_what_is_known_of_a_model(
    model: str, encoding: str, text_is_known: bool, chat_is_known: bool
) -> None:
    family = family_of(model)
    assert (family.encoding, family.text_is_known, family.chat_is_known) == (
        encoding,
        text_is_known,
        chat_is_known,
    )
    assert count_text("hello world", model) == (2, not text_is_known)
    assert count_messages([{"role": "user", "content": "hello"}], model)[1] is not chat_is_known


def test_the_first_chat_model_counted_otherwise() -> None:
    named = [{"role": "user", "name": "ann", "content": "hello world"}]
    assert count_messages(named, "gpt-3.5-turbo-0301")[0] == 4 + 1 + 2 + 1 - 1 + 3
    assert count_messages(named, "gpt-3.5-turbo-0613")[0] == 3 + 1 + 2 + 1 + 1 + 3


def test_results_in_one_message_count_as_several() -> None:
    results = [
        {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{number} found"}
        for number in range(3)
    ]
    joined = {"role": "tool", "content": "0 found\n1 found\n2 found", "tool_responses": results}
    counter = TokenCounter("gpt-4o")
    assert counter.message(joined)[0] == sum(counter.message(result)[0] for result in results)


@pytest.mark.parametrize(
    "content",
    [[{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}], ["text"], 5],
)
def test_what_nobody_can_count_is_an_estimate(content: Any) -> None:
    tokens, is_estimate = count_messages([{"role": "user", "content": content}], "gpt-4o")
    assert is_estimate
    assert tokens > 7


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": ["string", "null"]}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, True],
)
def test_definitions_beyond_the_recorded_ones_are_estimates(schema: Any) -> None:
    tool = {
        "type": "function",
        "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": schema}}},
    }
    tokens, is_estimate = count_messages([{"role": "user", "content": "hello"}], "gpt-4o", [tool])
    assert is_estimate is (schema != {})
    assert 25 < tokens < 50
