"""Chats inside a reply."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from agentkit import ChatResult, ConversableAgent
from agentkit.conversation.nested import select_chats
from agentkit.errors import AsyncReplyInSyncChat, WrongArgument
from tests.conversation.cast import agent, call, chat, modelled, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
OUTER: list[dict[str, Any]] = [
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": None},
    {"role": "user", "content": "last"},
]


def run(
    queue: list[dict[str, Any]], recipient: Any = None, sender: Any = None
) -> list[dict[str, Any]]:
    return select_chats(queue, recipient or agent("bob"), OUTER, sender or agent("ann"), None)


def test_the_first_chat_takes_the_last_message_and_others_need_their_own() -> None:
    cid = agent("cid")
    queue: list[dict[str, Any]] = [
        {"recipient": cid},
        {"recipient": cid},
        {"recipient": cid, "message": "own"},
    ]
    assert [each["message"] for each in run(queue)] == ["last", "own"]
    assert [each.get("message") for each in queue] == [None, None, "own"]


def test_messages_may_be_functions_and_empty_ones_leave_the_chat_out() -> None:
    bob, ann, cid = agent("bob"), agent("ann"), agent("cid")

    def message(recipient: Any, messages: Any, sender: Any, config: Any) -> str:
        return f"{recipient.name} {messages[-1]['content']} {sender.name}"

    queue = [
        {"recipient": cid, "message": message},
        {"recipient": cid, "message": lambda *_: ""},
        {"recipient": cid, "message": ""},
    ]
    assert [each["message"] for each in run(queue, bob, ann)] == ["bob last ann"]


def test_the_sender_is_who_replies_unless_said_otherwise() -> None:
    bob, other = agent("bob"), agent("other")
    queue: list[dict[str, Any]] = [
        {"recipient": bob},
        {"recipient": bob, "message": "x", "sender": other},
    ]
    assert [each["sender"] for each in run(queue, bob)] == [bob, other]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"summary_method": "all"}, "go\nContext: \nfirst\nlast"),
        ({"summary_method": "last_msg"}, "go\nContext: \nlast"),
        (
            {"summary_method": lambda who, messages, args: f"{who.name} {len(messages)} {args}"},
            "go\nContext: \nbob 3 {}",
        ),
        (
            {"summary_method": "reflection_with_llm", "summary_args": {"summary_prompt": "Short?"}},
            "go\nContext: \nin short",
        ),
    ],
)
def test_what_of_the_outer_chat_is_carried_over(config: dict[str, Any], message: str) -> None:
    bob, _ = modelled("bob", "in short")
    queue = [{"recipient": agent("cid"), "message": "go", "carryover_config": config}]
    (inner,) = run(queue, bob)
    assert inner["message"] == message
    assert "carryover_config" not in inner
    assert queue[0]["carryover_config"] is config


def test_an_unknown_way_to_carry_over_is_refused() -> None:
    queue = [
        {"recipient": agent("cid"), "message": "go", "carryover_config": {"summary_method": "some"}}
    ]
    with pytest.raises(
        WrongArgument, match=r"carryover_config: summary_method must be 'all', .* not 'some'"
    ):
        run(queue)


@BOTH
def test_the_reply_is_the_last_summary(is_async: bool) -> None:
    ann, bob, cid = agent("ann"), agent("bob"), speaker("cid", "c1", "c2")
    queue = [
        {"recipient": cid, "max_turns": 1, "silent": True},
        {"recipient": cid, "max_turns": 1, "message": "more", "silent": True},
    ]
    bob.register_nested_chats(queue, trigger=ann)
    result = chat(is_async, ann, bob, max_turns=1)
    assert result.summary == "c2"
    assert said(cid, bob) == ["more\nContext: \nc1", "c2"]


@BOTH
def test_a_queue_with_nothing_to_say_gives_no_reply(is_async: bool) -> None:
    ann, bob = agent("ann"), agent("bob", default_auto_reply="default")
    bob.register_nested_chats([{"recipient": agent("cid"), "message": ""}], trigger=ann)
    assert said(ann, bob) == []
    assert [
        message["content"] for message in chat(is_async, ann, bob, max_turns=1).chat_history
    ] == ["hi"]


def test_async_queues_run_by_their_prerequisites() -> None:
    ann, bob, cid, dan = agent("ann"), agent("bob"), speaker("cid", "c1"), speaker("dan", "d1")
    queue = [
        {
            "chat_id": "second",
            "prerequisites": ["first"],
            "recipient": dan,
            "max_turns": 1,
            "silent": True,
        },
        {"chat_id": "first", "recipient": cid, "message": "go", "max_turns": 1, "silent": True},
    ]
    bob.register_nested_chats(queue, trigger=ann, use_async=True)
    result = asyncio.run(ann.a_initiate_chat(bob, message="hi", max_turns=1, silent=True))
    assert result.summary == "c1"  # of the chat that stands last in the queue
    assert said(dan, bob) == ["hi\nContext: \nc1", "d1"]


def test_async_queues_are_refused_or_skipped_in_sync_chats() -> None:
    ann, bob, eve = agent("ann"), agent("bob"), agent("eve", default_auto_reply="default")
    queue = [{"chat_id": 1, "recipient": speaker("cid", "c1")}]
    bob.register_nested_chats(queue, trigger=ann, use_async=True)
    with pytest.raises(AsyncReplyInSyncChat, match="bob has async reply functions"):
        chat(False, ann, bob, max_turns=1)
    eve.register_nested_chats(queue, trigger=ann, use_async=True, ignore_async_in_sync_chat=True)
    assert chat(False, ann, eve, max_turns=1).summary == "default"


@BOTH
def test_a_function_of_ones_own_gets_the_queue(is_async: bool) -> None:
    seen: list[Any] = []

    def reply(
        queue: Any, recipient: Any, messages: Any, sender: Any, config: Any
    ) -> tuple[bool, str]:
        seen.append((queue, recipient, messages[-1]["content"], sender, config))
        return True, "own"

    ann, bob = agent("ann"), agent("bob")
    queue = [{"recipient": agent("cid")}]
    bob.register_nested_chats(queue, ann, reply, config="c")
    assert chat(is_async, ann, bob, max_turns=1).summary == "own"
    assert seen == [(queue, bob, "hi", ann, "c")]


@BOTH
def test_nested_chats_may_nest(is_async: bool) -> None:
    def asks(inner: ConversableAgent, name: str) -> ConversableAgent:
        outer = agent(name)
        queue = [{"recipient": inner, "max_turns": 1, "silent": True}]
        outer.register_nested_chats(queue, trigger=lambda sender: sender is not inner)
        return outer

    innermost = speaker("innermost", "deep down")
    assert (
        chat(is_async, agent("ann"), asks(asks(innermost, "inner"), "outer"), max_turns=1).summary
        == "deep down"
    )


@BOTH
def test_an_inner_chat_that_raises_ends_the_outer_one(is_async: bool) -> None:
    ann, bob = agent("ann"), agent("bob")
    bob.register_nested_chats(
        [{"recipient": speaker("cid", ValueError("inside")), "silent": True}], trigger=ann
    )
    with pytest.raises(ValueError, match="inside"):
        chat(is_async, ann, bob)
    assert said(ann, bob) == said(bob, ann) == ["hi"]
    assert (
        call(
            False,
            bob,
            "generate_reply",
            messages=[{"role": "user", "content": "x"}],
            sender=agent("dan"),
        )
        == ""
    )


@BOTH
@pytest.mark.parametrize("use_async", [False, True])
def test_nested_chats_nest_to_any_depth(is_async: bool, use_async: bool) -> None:
    if use_async and not is_async:
        return  # refused, see above
    depth = 300
    people = [agent(str(number), default_auto_reply="deep down") for number in range(depth + 1)]
    for outer, inner in itertools.pairwise(people):
        queue = [{"recipient": inner, "max_turns": 1, "silent": True, "chat_id": 1}]
        outer.register_nested_chats(queue, trigger=lambda sender: True, use_async=use_async)
    assert chat(is_async, agent("ann"), people[0], max_turns=1).summary == "deep down"


@BOTH
def test_an_override_of_initiate_chat_is_honoured_in_nested_chats(is_async: bool) -> None:
    class Own(ConversableAgent):
        def initiate_chat(self, *args: Any, **kwargs: Any) -> ChatResult:
            return ChatResult(summary="own")

    bob = Own("bob", human_input_mode="NEVER")
    bob.register_nested_chats(
        [{"recipient": agent("cid"), "max_turns": 1}], trigger=lambda sender: True
    )
    assert chat(is_async, agent("ann"), bob, max_turns=1, silent=False).summary == "own"


def test_a_content_that_is_a_function_is_filled_in_before_it_goes_in() -> None:
    outer = [
        {
            "role": "user",
            "content": lambda context: f"about {context['topic']}",
            "context": {"topic": "tea"},
        }
    ]
    queue = [{"recipient": agent("cid"), "carryover_config": {"summary_method": "all"}}]
    (made,) = select_chats(queue, agent("bob"), outer, agent("ann"), None)
    assert made["message"] == "about tea\nContext: \nabout tea"


@BOTH
def test_one_agent_may_be_in_the_queue_twice(is_async: bool) -> None:
    bob, cid = agent("bob"), speaker("cid", "first", "second")
    one = {"recipient": cid, "max_turns": 1, "silent": True, "clear_history": False}
    bob.register_nested_chats([one, {**one, "message": "again"}], trigger=lambda sender: True)
    assert chat(is_async, agent("ann"), bob, max_turns=1).summary == "second"
    assert said(cid, bob) == ["hi", "first", "again\nContext: \nfirst", "second"]
