"""A limit ends chats of agents: with all that was said so far, and the reason."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentkit import Agent, ChatResult, ConversableAgent, GroupChat, GroupChatManager
from agentkit.events import ChatEnded, LimitTold
from agentkit.llm.calls.client import call as ask_model
from agentkit.llm.calls.limits import Limit, limited
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.reasons import EndReason
from tests.conversation.cast import agent, chat, hearing, modelled, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
TALK = "The Danube is longer than the Rhine, and the Volga is longer than both of them together."


def talker(name: str) -> tuple[ConversableAgent, ScriptedClient]:
    """An agent whose model never comes to an end."""
    model = scripted_model(lambda _: f"{name}: {TALK}")
    assert isinstance(model.client, ScriptedClient)
    return agent(
        name, llm_config={"config_list": [{"model": model}], "cache_seed": None}
    ), model.client


def limited_chat(is_async: bool, tokens: int, begin: Callable[[], Any]) -> tuple[Any, list[Any]]:
    with hearing() as events, limited(run=Limit(tokens=tokens)):
        result = begin()
    return result, events


@BOTH
def test_a_chat_ends_with_everything_said_and_the_reason(is_async: bool) -> None:
    (ann, hers), (bob, his) = talker("ann"), talker("bob")
    result, events = limited_chat(is_async, 2_000, lambda: chat(is_async, ann, bob))
    assert result.stop_reason == "the limit of 2,000 tokens was reached"
    asked = len(hers.requests) + len(his.requests)
    assert asked > 5
    assert [message["content"] for message in result.chat_history] == said(ann, bob)
    assert len(result.chat_history) == 1 + asked  # none was asked that did not answer
    assert result.summary == said(ann, bob)[-1]
    told = [event.reached for event in events if isinstance(event, LimitTold)]
    assert told == [False, True]
    (ended,) = [event for event in events if isinstance(event, ChatEnded)]
    assert ended.reason == result.stop_reason


@BOTH
def test_after_the_limit_the_chat_goes_on_where_it_ended(is_async: bool) -> None:
    (ann, _), (bob, _) = talker("ann"), talker("bob")
    before, _ = limited_chat(is_async, 1_000, lambda: chat(is_async, ann, bob))
    after = chat(is_async, ann, bob, "Go on.", clear_history=False, max_turns=1)
    assert after.stop_reason == "the limit of 1 turns was reached"
    assert after.chat_history[: len(before.chat_history)] == before.chat_history
    assert len(after.chat_history) == len(before.chat_history) + 2


@BOTH
def test_with_turns_and_before_the_first_reply(is_async: bool) -> None:
    (ann, hers), (bob, his) = talker("ann"), talker("bob")
    result, _ = limited_chat(is_async, 5, lambda: chat(is_async, ann, bob, "hi", max_turns=3))
    assert result.stop_reason == "the limit of 5 tokens was reached"
    assert [message["content"] for message in result.chat_history] == ["hi"]
    assert hers.requests + his.requests == []


@BOTH
def test_no_summary_by_the_model_beyond_the_limit(is_async: bool) -> None:
    (ann, _), (bob, _) = talker("ann"), talker("bob")
    result, _ = limited_chat(
        is_async, 2_000, lambda: chat(is_async, ann, bob, summary_method="reflection_with_llm")
    )
    assert result.stop_reason == "the limit of 2,000 tokens was reached"
    assert result.summary == ""


def test_a_chat_that_ended_otherwise_keeps_its_reason_when_only_the_summary_is_refused() -> None:
    (ann, _), (bob, _) = talker("ann"), talker("bob")

    async def summary(*_: Any) -> str:
        return ask_model(
            scripted_model([TALK]),
            [{"role": "user", "content": "sum up"}],
            params={"max_tokens": 9_999},
        ).text

    result, _ = limited_chat(
        False, 5_000, lambda: chat(False, ann, bob, max_turns=2, summary_method=summary)
    )
    assert (result.stop_reason, result.summary) == ("the limit of 2 turns was reached", "")


@BOTH
@pytest.mark.parametrize("method", ["round_robin", "auto"])
def test_a_group_chat_ends_by_the_limit(is_async: bool, method: Any) -> None:
    members: list[Agent] = [talker(name)[0] for name in ("ann", "bob", "cid")]
    group = GroupChat(members, [], max_round=50, speaker_selection_method=method)
    model = scripted_model(lambda request: ("ann", "bob", "cid")[len(request["messages"]) % 3])
    manager = GroupChatManager(
        group, llm_config={"config_list": [{"model": model}], "cache_seed": None}
    )
    user = agent("user")
    result, _ = limited_chat(
        is_async, 4_000, lambda: chat(is_async, user, manager, "Which river is longest?")
    )
    assert result.stop_reason == "the limit of 4,000 tokens was reached"
    assert 3 < len(group.messages) < 50
    assert group.messages[0]["content"] == "Which river is longest?"


@BOTH
def test_nested_chats_end_and_so_does_the_outer_one(is_async: bool) -> None:
    (outer, _), (inner, client) = talker("outer"), talker("inner")
    user = agent("user", max_consecutive_auto_reply=50, default_auto_reply="Go on.")
    queue = [{"recipient": inner, "max_turns": 1, "silent": True}]
    outer.register_nested_chats(
        queue, trigger=lambda sender: sender is user and len(said(user, outer)) < 4
    )
    result, events = limited_chat(
        is_async, 1_500, lambda: chat(is_async, user, outer, "Which river is longest?")
    )
    assert result.stop_reason == "the limit of 1,500 tokens was reached"
    assert client.requests  # the inner chat had its turn
    assert len({event.reason for event in events if isinstance(event, ChatEnded)}) > 1


def test_the_inner_chat_itself_may_be_what_reaches_it() -> None:
    (ann, _), (bob, _), (cid, _) = talker("ann"), talker("bob"), talker("cid")

    def inner(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        with limited(run=Limit(tokens=800)):
            return True, bob.initiate_chat(cid, message="hi", silent=True).stop_reason

    bob.register_reply([ann], inner)
    result = chat(False, ann, bob, "Ask cid.", max_turns=1)
    assert said(ann, bob)[-1] == "the limit of 800 tokens was reached"
    assert result.stop_reason == "the limit of 1 turns was reached"


@BOTH
def test_tools_that_ask_models_themselves_count(is_async: bool) -> None:
    consulted = scripted_model(lambda _: TALK)

    def consult(question: str) -> str:
        return ask_model(consulted, [{"role": "user", "content": question}], agent="expert").text

    called = {
        "id": "1",
        "type": "function",
        "function": {"name": "consult", "arguments": '{"question": "And the Rhine?"}'},
    }
    ann, hers = modelled("ann", *[{"content": None, "tool_calls": [called]}] * 40)
    user = agent("user", function_map={"consult": consult})
    result, _ = limited_chat(
        is_async, 600, lambda: chat(is_async, user, ann, "Which river is longest?")
    )
    assert result.stop_reason == "the limit of 600 tokens was reached"
    assert isinstance(consulted.client, ScriptedClient)
    assert 1 <= len(consulted.client.requests) < len(hers.requests) + 1 < 40
    assert "tool_calls" not in result.chat_history[-1]  # no call without its result


def test_chats_side_by_side_end_each_by_itself() -> None:
    pairs = [(talker(f"ann{number}"), talker(f"bob{number}")) for number in range(4)]
    queue = [
        {"chat_id": number, "sender": ann, "recipient": bob, "message": "hi", "silent": True}
        for number, ((ann, _), (bob, _)) in enumerate(pairs)
    ]

    async def main() -> dict[Any, ChatResult]:
        with limited(run=Limit(tokens=3_000)):
            return await agent("starter").a_initiate_chats(queue)

    with hearing():
        results = asyncio.run(main())
    assert {result.stop_reason for result in results.values()} == {
        "the limit of 3,000 tokens was reached"
    }
    assert all(len(result.chat_history) > 1 for result in results.values())


def test_a_queue_goes_on_to_the_next_chat_and_all_give_a_result() -> None:
    (ann, _), (bob, _), (cid, _) = talker("ann"), talker("bob"), talker("cid")
    queue = [
        {"recipient": bob, "message": "hi", "silent": True},
        {"recipient": cid, "message": "hello", "silent": True},
    ]
    results, _ = limited_chat(False, 1_500, lambda: ann.initiate_chats(queue))
    assert [result.stop_reason for result in results] == [
        "the limit of 1,500 tokens was reached"
    ] * 2
    assert results[1].chat_history[0]["content"].startswith("hello")


@BOTH
def test_who_has_ended_a_chat_is_not_written_to_again(is_async: bool) -> None:
    typed: list[str] = []

    class Person(ConversableAgent):
        def get_human_input(self, prompt: str) -> str:
            typed.append("exit")
            return "exit"

    person = Person("person", human_input_mode="ALWAYS", llm_config=False)
    result = chat(is_async, speaker("ann", *"abcd"), person, max_turns=4)
    assert result.end == EndReason("person", "person")
    assert (typed, len(result.chat_history)) == (["exit"], 1)

    bob = agent("bob", default_auto_reply="B", max_consecutive_auto_reply=1)
    result = chat(is_async, agent("ann", default_auto_reply="A"), bob, max_turns=4)
    assert [each["content"] for each in result.chat_history] == ["hi", "B", "A"]
    assert result.end == EndReason("replies", "bob", limit=1)
    once = chat(is_async, agent("ann", default_auto_reply="A"), bob, max_turns=1)
    assert once.end == EndReason("turns", limit=1)
