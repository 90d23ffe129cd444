"""Hubs and pipelines: who hears what, and that everything is as before when a hub closes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentkit import DialogAgent, Msg, msghub, sequential_pipeline
from agentkit.agentscope import AgentBase, SequentialPipeline, a_sequential_pipeline
from agentkit.errors import WrongArgument, WrongType
from agentkit.events import MessageSent, Noted
from tests.agents.dialog.cast import hearing, says


def talker(name: str, *lines: str) -> DialogAgent:
    """An agent that says these lines."""
    return DialogAgent(name, f"You are {name}.", llm_config=says(lines)[0])


def heard_by(agent: AgentBase) -> list[str]:
    assert agent.memory is not None
    return [message.content for message in agent.memory.get_memory()]


@pytest.mark.parametrize("is_async", [False, True])
def test_in_a_hub_all_hear_all(is_async: bool) -> None:
    ann, bob, cid = talker("Ann", "one"), talker("Bob", "two"), talker("Cid")
    with (
        hearing() as events,
        msghub([ann, bob, cid], announcement=Msg("Host", "Begin.", "assistant")),
    ):
        for agent in (ann, bob):
            asyncio.run(agent.a_call()) if is_async else agent()
    assert heard_by(ann) == heard_by(bob) == heard_by(cid) == ["Begin.", "one", "two"]
    told = [
        (event.sender, event.recipient, event.content)
        for event in events
        if isinstance(event, MessageSent)
    ]
    assert told == [
        ("Host", "everyone", "Begin."),
        ("Ann", "Bob, Cid", "one"),
        ("Bob", "Ann, Cid", "two"),
    ]


def test_after_a_hub_nobody_hears() -> None:
    ann, bob = talker("Ann", "one", "two"), talker("Bob")
    with hearing():
        with msghub([ann, bob]):
            ann()
        ann()
    assert heard_by(bob) == ["one"]
    assert ann.audience is bob.audience is None


def test_joining_and_leaving() -> None:
    ann, bob, cid = talker("Ann", "one", "two", "three"), talker("Bob"), talker("Cid")
    with hearing() as events, msghub((ann, bob)) as hub:
        ann()
        hub.add(cid)
        hub.add([cid])
        ann()
        hub.delete(bob)
        hub.delete([bob])
        ann()
    assert (heard_by(bob), heard_by(cid)) == (["one", "two"], ["two", "three"])
    assert [(event.agent, event.text) for event in events if isinstance(event, Noted)] == [
        ("Cid", "is in the hub already"),
        ("Bob", "is not in the hub, so it cannot leave it"),
    ]


def test_a_hub_in_a_hub_gives_the_outer_one_back() -> None:
    ann, bob, cid = talker("Ann", "to two", "to all"), talker("Bob"), talker("Cid")
    with hearing(), msghub([ann, bob, cid]):
        with msghub([ann, bob]):
            ann()
        ann()
    assert (heard_by(bob), heard_by(cid)) == (["to two", "to all"], ["to all"])


def test_an_error_closes_the_hub() -> None:
    ann, bob = talker("Ann"), talker("Bob")
    with pytest.raises(ZeroDivisionError), msghub([ann, bob]):
        _ = 1 / 0
    assert ann.audience is bob.audience is None


def test_a_broadcast_is_heard_once_and_told_once() -> None:
    ann, bob = talker("Ann", "my vote"), talker("Bob")
    with hearing() as events:
        vote = ann()
        with msghub([ann, bob]) as hub:
            hub.broadcast([vote, vote])
    assert heard_by(ann) == heard_by(bob) == ["my vote"]
    assert [event.content for event in events if isinstance(event, MessageSent)] == ["my vote"]


def test_only_dialog_agents_take_part() -> None:
    with pytest.raises(WrongType, match="must be dialog agents"):
        msghub(["Ann"])  # type: ignore[list-item]


def test_the_audience_by_hand() -> None:
    ann, bob, cid = talker("Ann", "one", "two"), talker("Bob"), talker("Cid")
    ann.reset_audience([ann, bob, cid])
    with hearing():
        ann()
        ann.rm_audience(bob)
        ann()
    assert (heard_by(bob), heard_by(cid), heard_by(ann)) == (
        ["one"],
        ["one", "two"],
        ["one", "two"],
    )


def test_a_pipeline_hands_on() -> None:
    def shout(x: Msg) -> Msg:
        return Msg("shout", x.content.upper(), "assistant")

    ann, bob = talker("Ann", "one", "three"), talker("Bob", "two", "four")
    with hearing():
        assert (
            sequential_pipeline([ann, bob, shout], Msg("user", "Begin.", "user")).content == "TWO"
        )
        pipeline = SequentialPipeline([ann, bob])
        assert pipeline.participants == [ann, bob]
        assert pipeline(None).content == "four"
    assert heard_by(bob) == ["one", "two", "three", "four"]


def test_an_async_pipeline_waits_for_what_can_be_awaited() -> None:
    async def shout(x: Msg) -> Msg:
        await asyncio.sleep(0)
        return Msg("shout", x.content.upper(), "assistant")

    def plain(x: Any) -> Any:
        return Msg("plain", x.content + "!", "assistant")

    with hearing():
        said = asyncio.run(a_sequential_pipeline([talker("Ann", "one"), shout, plain]))
    assert said.content == "ONE!"


def test_an_empty_pipeline_is_no_pipeline() -> None:
    with pytest.raises(WrongArgument, match="needs operators"):
        sequential_pipeline([])
    with pytest.raises(WrongArgument, match="needs operators"):
        SequentialPipeline([])(None)
    with pytest.raises(WrongArgument, match="needs operators"):
        asyncio.run(a_sequential_pipeline([]))
