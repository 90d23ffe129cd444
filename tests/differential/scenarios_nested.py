"""Chats inside a reply: what the inner chats are told, and what becomes the reply."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.differential.kit import Kit, scenario


def _cast(kit: Kit) -> tuple[Any, Any, Any, Any]:
    """Who asks, who answers by nested chats, and two experts."""
    asker = kit.agent("asker", max_consecutive_auto_reply=0)
    return (
        asker,
        kit.agent("outer"),
        kit.agent("x", default_auto_reply="from x"),
        kit.agent("y", default_auto_reply="from y"),
    )


def _contents(agent: Any, other: Any) -> list[Any]:
    return [message["content"] for message in agent.chat_messages[other]]


@scenario(both=True)
def nested_chats_answer_with_the_last_summary(kit: Kit) -> Any:
    asker, outer, x, y = _cast(kit)
    chats = [
        {"recipient": x, "message": "one", "max_turns": 1},
        {"recipient": y, "message": "two", "max_turns": 1},
    ]
    outer.register_nested_chats(chats, trigger=asker)
    kit.call(asker, "initiate_chat", outer, message="m")
    return [_contents(asker, outer), _contents(outer, x), _contents(outer, y)]


@scenario
def messages_of_nested_chats(kit: Kit) -> Any:
    found = []
    for message in (
        None,
        "text",
        lambda recipient, messages, sender, config: (
            f"{recipient.name} got {messages[-1]['content']}"
        ),
    ):
        asker, outer, x, _ = _cast(kit)
        outer.register_nested_chats(
            [{"recipient": x, "message": message, "max_turns": 1}], trigger=asker
        )
        asker.initiate_chat(outer, message="m")
        found.append([_contents(asker, outer), _contents(outer, x)])
    return found


@scenario
def nested_chats_that_have_nothing_to_say(kit: Kit) -> Any:
    asker, outer, x, y = _cast(kit)
    chats = [
        {"recipient": x, "message": lambda recipient, messages, sender, config: "", "max_turns": 1},
        {"recipient": y, "message": "two", "max_turns": 1},
    ]
    outer.register_nested_chats(chats, trigger=asker)
    asker.initiate_chat(outer, message="m")
    return [_contents(asker, outer), _contents(outer, y)]


@scenario
def a_reply_function_of_ones_own_for_nested_chats(kit: Kit) -> Any:
    asker, outer, x, _ = _cast(kit)
    seen = []

    def reply(
        chat_queue: Any, recipient: Any, messages: Any, sender: Any, config: Any
    ) -> tuple[bool, str]:
        seen.append([len(chat_queue), recipient.name, len(messages), sender.name, config])
        return True, "own"

    chats = [{"recipient": x, "message": "one", "max_turns": 1}]
    outer.register_nested_chats(
        chats, trigger=asker, reply_func_from_nested_chats=reply, config={"k": 1}
    )
    asker.initiate_chat(outer, message="m")
    return [seen, _contents(asker, outer)]


@scenario
def wrong_reply_functions_of_nested_chats(kit: Kit) -> Any:
    asker, outer, x, _ = _cast(kit)
    chats = [{"recipient": x, "message": "one", "max_turns": 1}]
    return [
        kit.raised(
            outer.register_nested_chats, chats, trigger=asker, reply_func_from_nested_chats=function
        )
        for function in ("unknown", 3)
    ]


@scenario
def nested_chats_for_other_senders_are_left_out(kit: Kit) -> Any:
    asker, outer, x, y = _cast(kit)
    outer.register_nested_chats([{"recipient": x, "message": "one", "max_turns": 1}], trigger=y)
    asker.initiate_chat(outer, message="m")
    return [_contents(asker, outer), len(outer.chat_messages)]


@scenario
def nested_chats_come_after_the_termination_check(kit: Kit) -> Any:
    asker, outer, x, _ = _cast(kit)
    outer.register_nested_chats([{"recipient": x, "message": "one", "max_turns": 1}], trigger=asker)
    outer.register_function({"f": lambda: "out"})
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asker.initiate_chat(outer, message="TERMINATE")
    asker.send({"content": None, "tool_calls": [call]}, outer, request_reply=True)
    return _contents(asker, outer)


@scenario
def nested_chats_with_a_sender_of_their_own(kit: Kit) -> Any:
    asker, outer, x, y = _cast(kit)
    outer.register_nested_chats(
        [{"sender": y, "recipient": x, "message": "one", "max_turns": 1}], trigger=asker
    )
    asker.initiate_chat(outer, message="m")
    return [_contents(asker, outer), _contents(y, x), len(outer.chat_messages)]


@scenario(
    better=(
        "carryover_config works in every nested chat; the oracle honours it in its swarms only and"
        " ignores it elsewhere"
    ),
    expected=[
        ["one\nContext: \nthe question", "from x"],
        ["one\nContext: \nthe question", "from x"],
        ["one\nContext: \n1 ['k']", "from x"],
        ["ValueError"],
    ],
)
def a_carryover_into_nested_chats(kit: Kit) -> Any:
    found = []
    for method in (
        "all",
        "last_msg",
        lambda agent, messages, args: f"{len(messages)} {sorted(args)}",
        "unknown",
    ):
        asker, outer, x, _ = _cast(kit)
        config = {"summary_method": method, "summary_args": {"k": 1}}
        chats = [{"recipient": x, "message": "one", "max_turns": 1, "carryover_config": config}]
        outer.register_nested_chats(chats, trigger=asker)
        raised = kit.raised(asker.initiate_chat, outer, message="the question")
        found.append([raised] if raised else _contents(outer, x))
    return found


@scenario
def nested_chats_in_an_async_chat(kit: Kit) -> Any:
    asker, outer, x, y = _cast(kit)
    chats = [
        {"recipient": x, "message": "one", "max_turns": 1, "chat_id": 1},
        {"recipient": y, "message": "two", "max_turns": 1, "chat_id": 2, "prerequisites": [1]},
    ]
    outer.register_nested_chats(chats, trigger=asker, use_async=True)
    asyncio.run(asker.a_initiate_chat(outer, message="m"))
    return [_contents(asker, outer), _contents(outer, x), _contents(outer, y)]


@scenario
def async_nested_chats_need_ids(kit: Kit) -> Any:
    asker, outer, x, _ = _cast(kit)
    chats = [{"recipient": x, "message": "one", "max_turns": 1}]
    return kit.raised(outer.register_nested_chats, chats, trigger=asker, use_async=True)


@scenario
def the_queue_of_nested_chats_stays_as_it_is(kit: Kit) -> Any:
    asker, outer, x, y = _cast(kit)
    chats = [
        {"recipient": x, "message": "one", "max_turns": 1},
        {"recipient": y, "message": "two", "max_turns": 1},
    ]
    outer.register_nested_chats(chats, trigger=asker)
    for text in ("m", "n"):
        asker.initiate_chat(outer, message=text)
    return [[sorted(chat) for chat in chats], _contents(asker, outer), _contents(outer, y)]
