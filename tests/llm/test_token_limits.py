"""Counts and windows, with the figures of AutoGen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import UnknownModel, WrongArgument
from agentkit.llm.calls.scripted import ScriptedClient
from agentkit.llm.model import Model
from agentkit.llm.tokens.windows import (
    count_token,
    get_max_token_limit,
    num_tokens_from_functions,
    percentile_used,
    register_context_window,
    token_left,
    truncate,
    window_of,
)

HELLO = {"role": "user", "content": "hello world"}


@pytest.mark.parametrize(
    ("given_input", "tokens"),
    [("hello world", 2), (HELLO, 9), ([HELLO], 9), ([HELLO, HELLO], 15), ("", 0), ([], 3)],
)
def test_texts_messages_and_histories_are_counted_as_autogen_does(
    given_input: Any, tokens: int
) -> None:
    for model in ("gpt-3.5-turbo-0613", "gpt-4", "gpt-4o", "claude-3"):
        assert count_token(given_input, model) == tokens
    assert count_token(given_input) == tokens


def test_nothing_else_can_be_counted() -> None:
    with pytest.raises(WrongArgument, match="input is a int; give a text"):
        count_token(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-3.5-turbo", 16385),
        ("gpt-3.5-turbo-0613", 4096),
        ("gpt-3.5-turbo-0301", 4096),
        ("gpt-3.5-turbo-16k", 16385),
        ("gpt-4", 8192),
        ("gpt-4-0613", 8192),
        ("gpt-4-32k", 32768),
        ("gpt-4-turbo", 128000),
        ("gpt-4-1106-preview", 128000),
        ("gpt-4o", 128000),
        ("gpt-4o-mini-2024-07-18", 128000),
        ("gpt-35-turbo", 16385),
    ],
)
def test_windows_are_those_of_autogen(model: str, window: int) -> None:
    assert get_max_token_limit(model) == window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-5", 400_000),
        ("gpt-4.1", 1_047_576),
        ("openai/gpt-4.1-nano", 1_047_576),
        ("gpt-4.5-preview", 128_000),
        ("gpt-5-chat-latest", 128_000),
        ("o3-mini", 200_000),
        ("ft:gpt-4o-mini-2024-07-18:us::1", 128_000),
        ("gpt4", 8192),
        ("claude-sonnet-4-5", 200_000),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("google/gemini-2.5-pro", 1_048_576),
        ("gemini-2.5-flash", 1_048_576),
        ("chatgpt-4o-latest", 128_000),
        ("mistral-large-latest", 128_000),
    ],
)
def test_models_that_came_later_are_known_too(model: str, window: int) -> None:
    assert get_max_token_limit(model) == window


def test_windows_can_be_set() -> None:
    register_context_window("My-own-window*", 4000)
    register_context_window("my-own-window-large", 9000)
    assert [get_max_token_limit(name) for name in ("my-own-window", "My-own-window-large")] == [
        4000,
        9000,
    ]
    assert percentile_used("hello world", "my-own-window") == 2 / 4000
    with pytest.raises(WrongArgument, match="tokens=0 for 'x'"):
        register_context_window("x", 0)


def test_a_model_knows_its_window_or_the_lists_do() -> None:
    def model(name: str, window: int | None) -> Model:
        return Model("m", "M", ScriptedClient([]), name, "local", window)

    assert [
        window_of(model("gpt-4", 100)),
        window_of(model("gpt-4", None)),
        window_of(model("no-such-model", None)),
    ] == [100, 8192, None]


def test_definitions_of_functions_are_counted_as_the_servers_do() -> None:
    place = {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}
    unit = {
        "type": "string",
        "description": "The unit of temperature to return",
        "enum": ["celsius", "fahrenheit"],
    }
    weather = {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {"location": place, "unit": unit},
            "required": ["location"],
        },
    }
    # AutoGen says 69 for all three; the servers say 105 and 101 with a system message and a
    # question, see recorded_usage.
    assert [
        num_tokens_from_functions([weather], model)
        for model in ("gpt-4", "gpt-3.5-turbo-0613", "gpt-4o")
    ] == [75, 75, 72]
    assert num_tokens_from_functions(
        [{"type": "function", "function": weather}]
    ) == num_tokens_from_functions([weather])
    assert num_tokens_from_functions([{"name": "f"}]) > 0
    assert num_tokens_from_functions([]) == 0


def test_an_unknown_model_is_named_and_a_key_error() -> None:
    for ask in (
        get_max_token_limit,
        lambda model: percentile_used("x", model),
        lambda model: token_left("x", model),
    ):
        with pytest.raises(KeyError):
            ask("no-such-model")
    with pytest.raises(UnknownModel) as caught:
        get_max_token_limit("no-such-model")
    assert (
        str(caught.value) == "The context window of the model 'no-such-model' is not known; call"
        " agentkit.llm.tokens.windows.register_context_window('no-such-model', tokens), or set"
        " the limit yourself."
    )


def test_what_is_used_and_left() -> None:
    assert percentile_used("hello world", "gpt-4") == 2 / 8192
    assert token_left("hello world", "gpt-4") == 8190
    assert get_max_token_limit() - token_left("hello") == 1


@pytest.mark.parametrize(
    ("tokens", "start"),
    [
        (0, ""),
        (-3, ""),
        (1, "na"),
        (3, "naïve"),
        (6, "naïve café 日本"),
        (7, "naïve café 日本"),
        (8, "naïve café 日本語"),
    ],
)
def test_a_text_is_cut_behind_whole_characters(tokens: int, start: str) -> None:
    assert truncate("naïve café 日本語 🙂🙂 tokenization", tokens) == start


@given(
    text=st.text(), tokens=st.integers(0, 12), model=st.sampled_from(["gpt-4", "gpt-4o", "unknown"])
)
def test_a_cut_text_begins_the_whole_one_and_keeps_the_limit(
    text: str, tokens: int, model: str
) -> None:
    start = truncate(text, tokens, model)
    assert text.startswith(start)
    assert count_token(start, model) <= tokens
    if count_token(text, model) <= tokens:
        assert start == text
