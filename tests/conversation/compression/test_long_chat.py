"""A chat of 1,000 turns under a limit of 8,000 tokens: never above it, the first message kept, and
costs that grow evenly.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.conversation.compression import (
    Compression,
    Extraction,
    SlidingWindow,
    Strategy,
    ToolOutput,
)
from agentkit.conversation.compression.meter import Meter
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import scripted_model
from tests.conversation import cast
from tests.conversation.cast import hearing

TURNS, LIMIT = 1_000, 8_000


@pytest.mark.parametrize(
    "strategy", [[Extraction()], [ToolOutput(), SlidingWindow()]], ids=["extraction", "window"]
)
def test_1000_turns(strategy: list[Strategy]) -> None:
    meter, sizes, firsts = Meter("scripted"), list[int](), set[str]()

    def reply(params: Any) -> str:
        sizes.append(meter.count_fixed([], {}) + meter.count(params["messages"]))
        firsts.add(params["messages"][1]["content"])
        return (
            f"Item {len(sizes)} of the list went to house {len(sizes) * 7 % 1_000} in the street of"
            " that name. " * 3
        )

    model = scripted_model(reply)
    bob = cast.agent(
        "bob",
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
        system_message="Answer briefly.",
    )
    ann = cast.agent("ann", default_auto_reply="And what about the next one of them?")
    for agent in (ann, bob):
        agent.update_max_consecutive_auto_reply(TURNS)
    Compression(strategy, limit=LIMIT).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob, "The task: go through the list.")
    told = [event for event in events if isinstance(event, Compressed)]
    assert len(sizes) == TURNS
    assert max(sizes) <= LIMIT
    assert firsts == {"The task: go through the list."}
    assert len(told) > 10
    assert all(event.ok for event in told)
    half, whole = sum(sizes[: TURNS // 2]), sum(sizes)
    assert 1.9 < whole / half < 2.2, "tokens grow with the turns, not with their square"
