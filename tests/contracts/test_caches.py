"""What every cache of model replies does, whichever it is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from agentkit.llm.cache import AbstractCache, Cache, DiskCache, InMemoryCache
from agentkit.llm.response import Choice, Response, ResponseMessage, text_response
from agentkit.messages import ToolCall
from tests.servers.redis_server import RedisServer

Opened = Callable[[str], AbstractCache]
"""Opens the cache of a seed."""

COMPLETION = ChatCompletion.model_validate(
    {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 1},
        },
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "logprobs": None,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "t1",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                },
            }
        ],
    }
)
CALLS: list[ToolCall] = [
    {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
]
REPLIES: dict[str, Any] = {
    "completion": COMPLETION,
    "text response": text_response("Grüße 🙂 \ud83d", "m", {"total_tokens": 3}),
    "tool response": Response([Choice(ResponseMessage(None, CALLS), "tool_calls")], "m"),
    "namespace": SimpleNamespace(
        choices=[SimpleNamespace(message=SimpleNamespace(content="hi"))], model="own", cost=0.5
    ),
    "text": "plain",
    "object": {"a": [1, 2.5, None, True, {"b": ""}]},
    "none": None,
}


@pytest.fixture(params=["disk", "memory", "redis", "facade"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """For every kind of cache, how to open it."""
    if request.param == "disk":
        yield lambda seed: DiskCache(tmp_path / seed)
    elif request.param == "memory":
        yield InMemoryCache
    elif request.param == "facade":
        yield lambda seed: Cache.disk(seed, str(tmp_path))
    else:
        with RedisServer() as server:
            yield lambda seed: Cache.redis(seed, server.url)


def test_it_is_a_cache(opened: Opened) -> None:
    with opened("1") as cache:
        assert isinstance(cache, AbstractCache)


def test_a_missing_key_gives_the_default(opened: Opened) -> None:
    with opened("1") as cache:
        assert cache.get("k") is None
        assert cache.get("k", 5) == 5


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_comes_back_as_it_was(opened: Opened, name: str) -> None:
    with opened("1") as cache:
        cache.set("k", REPLIES[name])
        found = cache.get("k", "missing")
    assert found == REPLIES[name]
    assert type(found) is type(REPLIES[name])


def test_a_completion_keeps_its_own_classes_and_added_attributes(opened: Opened) -> None:
    reply = COMPLETION.model_copy(deep=True)
    reply.cost = 0.25  # type: ignore[attr-defined]  # as the wrapper does
    with opened("1") as cache:
        cache.set("k", reply)
        found = cache.get("k")
    assert isinstance(found, ChatCompletion)
    assert found.choices[0].message.tool_calls[0].function.name == "f"  # type: ignore[index, union-attr]
    assert found.usage.prompt_tokens_details.cached_tokens == 1  # type: ignore[union-attr]
    assert found.cost == 0.25  # type: ignore[attr-defined]


def test_what_a_lenient_server_sent_is_kept_too(opened: Opened) -> None:
    odd = ChatCompletion.construct(
        id=None, model="local", choices=[{"index": 0, "message": {"role": "bot", "content": "x"}}]
    )
    with opened("1") as cache:
        cache.set("k", odd)
        found = cache.get("k")
    assert isinstance(found, ChatCompletion)
    assert found == odd
    assert found.choices[0].message.content == "x"


def test_setting_again_replaces(opened: Opened) -> None:
    with opened("1") as cache:
        cache.set("k", "old")
        cache.set("k", "new")
        assert cache.get("k") == "new"


def test_changing_what_was_stored_or_found_changes_nothing_in_the_cache(opened: Opened) -> None:
    with opened("1") as cache:
        given_value = {"messages": ["a"]}
        cache.set("k", given_value)
        given_value["messages"].append("b")
        found = cache.get("k")
        assert found == {"messages": ["a"]}
        found["messages"].append("c")
        assert cache.get("k") == {"messages": ["a"]}


def test_what_cannot_be_stored_is_a_warning_and_a_miss(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    with opened("1") as cache, caplog.at_level(logging.WARNING):
        cache.set("k", SimpleNamespace(source=(number for number in range(3))))
        assert cache.get("k") is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_closed_cache_opens_again(opened: Opened) -> None:
    cache = opened("1")
    with cache as entered:
        assert entered is cache
        cache.set("k", 1)
    assert cache.get("k") == 1
    cache.close()
    cache.close()


def test_seeds_do_not_share(opened: Opened) -> None:
    with opened("1") as one, opened("2") as two:
        one.set("k", "first")
        assert two.get("k") is None


def test_many_threads_at_once(opened: Opened) -> None:
    with opened("1") as cache, ThreadPoolExecutor(8) as threads:

        def work(number: int) -> bool:
            cache.set(f"k{number % 5}", {"number": number % 5})
            return cache.get(f"k{number % 5}") == {"number": number % 5}

        assert all(threads.map(work, range(80)))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(key=st.text(), value=_json)
@example(key="", value=float("inf"))
def test_any_text_is_a_key_and_any_data_a_value(opened: Opened, key: str, value: Any) -> None:
    with opened("1") as cache:
        cache.set(key, value)
        assert cache.get(key, "missing") == value
