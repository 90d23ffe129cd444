"""The usage that servers report falls into exclusive buckets; each shape names where it is
recorded, or that it is made up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core.address import on_this_machine
from agentkit.events import Usage
from agentkit.llm.calls.assembly import assemble_stream
from agentkit.llm.calls.usage import estimate_usage, to_usage
from agentkit.llm.calls.wire import Sender
from agentkit.llm.prices import price

RECORDED = Path(__file__).parent / "recorded_usage"
SHAPES: list[dict[str, Any]] = json.loads((RECORDED / "usage_shapes.json").read_text())
CALLS = [
    call for file in sorted(RECORDED.glob("openai_*.json")) for call in json.loads(file.read_text())
]
STREAMS = [call for call in CALLS if "chunks" in call]


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["name"] for shape in SHAPES])
def test_shapes_fall_into_exclusive_buckets(shape: dict[str, Any]) -> None:
    assert to_usage(shape["usage"]) == Usage(**shape["buckets"])
    assert shape["kind"] in ("recorded", "documented", "constructed")
    assert shape["source"]


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["name"] for shape in SHAPES])
def test_the_ledgers_total_is_the_servers(shape: dict[str, Any]) -> None:
    if "total_tokens" in shape["usage"]:
        assert to_usage(shape["usage"]).total == shape["usage"]["total_tokens"]


@pytest.mark.parametrize("shape", SHAPES, ids=[shape["name"] for shape in SHAPES])
def test_an_unknown_price_is_unknown(shape: dict[str, Any]) -> None:
    cost = price(shape["model"], shape["provider"], to_usage(shape["usage"]))
    if on_this_machine(shape["provider"]):
        assert cost == 0.0
    else:
        assert (cost is not None) is shape["has_price"]
        assert cost is None or cost > 0


def test_a_server_elsewhere_may_have_an_unknown_price() -> None:
    usage = to_usage({"prompt_tokens": 9, "completion_tokens": 3})
    assert price("llama3.2", "llm.example.com", usage) is None


@pytest.mark.parametrize("call", STREAMS, ids=[call["name"] for call in STREAMS])
def test_a_stream_reports_at_its_end(call: dict[str, Any]) -> None:
    whole = assemble_stream(
        [(json.dumps(chunk).encode(), True) for chunk in call["chunks"]],
        Sender("a server", call["model"]),
    )
    assert whole.usage is not None
    usage = to_usage(whole.usage.model_dump())
    assert (usage.prompt, usage.completion) == (
        call["usage"]["prompt_tokens"],
        call["usage"]["completion_tokens"],
    )
    text = whole.choices[0].message.content
    if text:  # the server counts the end of the reply as well
        assert (
            estimate_usage(call["messages"], text, call["model"]).completion == usage.completion - 1
        )


def test_our_estimate_counts_the_tools_of_a_call() -> None:
    call = next(call for call in CALLS if call["name"] == "two tools, result")
    usage = estimate_usage(call["messages"], "", call["model"], call["tools"])
    assert (usage.prompt, usage.estimated) == (call["usage"]["prompt_tokens"], True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
)
KEYS = st.sampled_from(
    [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "reasoning_tokens",
        "cache_write_tokens",
    ]
)
DETAILS = st.sampled_from(
    [
        "prompt_tokens_details",
        "completion_tokens_details",
        "input_tokens_details",
        "output_tokens_details",
    ]
)


@given(
    st.dictionaries(KEYS, JSON)
    | st.dictionaries(KEYS | DETAILS, JSON | st.dictionaries(KEYS, JSON))
)
def test_whatever_a_server_sends_no_bucket_is_negative(raw: dict[str, Any]) -> None:
    usage = to_usage(raw)
    assert min(usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) >= 0
    assert not usage.estimated


COUNTS = st.integers(0, 10**6)


@given(prompt=COUNTS, completion=COUNTS, cached=COUNTS, written=COUNTS, reasoning=COUNTS)
def test_the_parts_never_exceed_the_prompt_and_the_completion(
    prompt: int, completion: int, cached: int, written: int, reasoning: int
) -> None:
    raw = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": min(reasoning, completion)},
    }
    usage = to_usage(raw)
    assert (usage.prompt, usage.completion) == (prompt, completion)
    assert usage.reasoning == min(reasoning, completion)
