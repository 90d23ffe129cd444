"""What holds for every strategy and any history: limits, pairs of calls and results, first and last
message, citations.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.conversation.compression import (
    Compression,
    Extraction,
    ModelSummary,
    SlidingWindow,
    Strategy,
    ToolOutput,
)
from agentkit.conversation.compression.citing import find_cited, find_passages
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.shape import (
    HEADING,
    divide,
    find_calls,
    find_damage,
    find_results,
    split_into_blocks,
)
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import Stored, interrupt_calls, with_responses
from tests.conversation.cast import hearing
from tests.conversation.compression.histories import TEXTS, histories

MODEL = "gpt-4o"
METER = Meter(MODEL)


def by_model() -> ModelSummary:
    model = scripted_model(
        lambda params: "##USER ann## asked [1], and " + params["messages"][-1]["content"][:40]
    )
    return ModelSummary({"config_list": [{"model": model}], "cache_seed": None})


class Careless:
    """Someone's own strategy, which keeps every second message and adds what it likes."""

    name = "careless"

    def __init__(self, added: list[Stored]) -> None:
        self.added = added

    def shorten(self, messages: list[Stored], scope: Any) -> list[Stored]:
        return [*self.added, *messages[::2]]


STRATEGIES: dict[str, list[Strategy]] = {
    "extraction": [Extraction()],
    "model": [by_model()],
    "window": [SlidingWindow()],
    "tools": [ToolOutput(4)],
    "tools, extraction": [ToolOutput(4), Extraction()],
    "tools, window, model": [ToolOutput(4), SlidingWindow(by_model())],
}


def counted(messages: list[Stored]) -> int:
    return METER.count(messages)


def pairs(messages: list[Stored]) -> tuple[list[Any], list[Any]]:
    made = [key for message in messages for key in find_calls(message)]
    return made, [key for message in messages for key in find_results(message)]


@pytest.mark.parametrize("strategies", STRATEGIES.values(), ids=STRATEGIES)
@given(
    history=histories(),
    trigger=st.integers(40, 600),
    extra=st.integers(0, 200),
    keep_last=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_what_holds_for_every_strategy(
    strategies: list[Strategy], history: list[Stored], trigger: int, extra: int, keep_last: int
) -> None:
    before = copy.deepcopy(history)
    compression = Compression(strategies, trigger, keep_last, limit=trigger + extra, model=MODEL)
    with hearing() as events:
        made = compression.compress(history)
    assert history == before, "the caller's list does not change"
    told = [event for event in events if isinstance(event, Compressed)]
    head, _, _ = divide(history, 0)
    due = max(trigger, min(counted(divide(history, 1)[0]) + trigger // 2, trigger + extra // 2))
    if counted(history) < due:
        assert made is history
        assert not told
        return
    assert len(told) == 1
    if not told[0].ok:
        assert made is history
        assert told[0].error
        return
    limit = trigger + extra
    assert told[0].tokens_after == counted(made) <= limit
    assert counted(made) < counted(history)
    assert made[: len(head)] == head
    assert made[-1] == history[-1]
    assert sum(message["role"] == "system" for message in made) <= 1
    calls, results = pairs(made)
    assert sorted(calls) == sorted(results)
    still = find_cited(made) & set(find_passages(history))
    assert still <= set(find_passages(made)), "what is cited is there"
    if counted(made) < due:
        assert compression.compress(made) is made, "compressing again changes nothing"


@given(
    history=histories(),
    added=st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["system", "user"]), "content": TEXTS})
    ),
)
@settings(max_examples=100, deadline=None)
def test_a_careless_strategy_breaks_nothing(history: list[Stored], added: list[Stored]) -> None:
    with hearing() as events:
        made = Compression(Careless(added), 30, 1, limit=400, model=MODEL).compress(history)
    told = [event for event in events if isinstance(event, Compressed)]
    assert made is history or told[0].ok
    assert made
    calls, results = pairs(made)
    assert sorted(calls) == sorted(results)
    systems = [sum(message["role"] == "system" for message in each) for each in (history, made)]
    assert systems[1] <= systems[0]
    assert made is history or counted(made) <= 400


@given(history=histories(), keep_last=st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_dividing_parts_no_pair_and_loses_nothing(history: list[Stored], keep_last: int) -> None:
    parts = divide(history, keep_last)
    assert [message for part in parts for message in part] == history
    assert len(parts[2]) >= min(keep_last, len(history) - len(parts[0]))
    for part in parts:
        assert not find_damage(
            [], [message for message in part if message["role"] != "system"] or [{"role": "user"}]
        )
    assert [message for block in split_into_blocks(history) for message in block] == history


def test_a_history_that_is_broken_is_recognised() -> None:
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
    }
    answer = {"role": "tool", "tool_call_id": "1", "content": "x"}
    assert find_damage([call, answer], []) == "nothing would be left of the conversation"
    assert (
        find_damage([call, answer], [call]) == "the tool call '1' would be parted from its result"
    )
    assert (
        find_damage([call, answer], [answer]) == "the tool call '1' would be parted from its result"
    )
    assert (
        find_damage([call, answer], [{"role": "system", "content": HEADING}, call, answer])
        == "there would be one more system message"
    )
    assert find_damage([call], [call]) == "", "it was open before"


def test_an_interrupted_call_of_the_older_form_stays_with_its_result() -> None:
    call: Stored = {"role": "assistant", "content": None, "function_call": {"name": "look"}}
    said: Stored = {"role": "user", "content": "wait"}
    answer = with_responses(said, interrupt_calls(call, "USER INTERRUPTED"))
    assert find_results(answer) == find_calls(call) == [("function", "look")]
    assert split_into_blocks([said, call, answer, said]) == [[said], [call, answer], [said]]
    assert find_damage([call, answer], [answer])
