"""Queues of chats: what one hands to the next, and chats that wait for others."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.differential.kit import Kit, scenario


def _trio(kit: Kit) -> tuple[Any, Any, Any]:
    return (
        kit.agent("boss"),
        kit.agent("b", default_auto_reply="from b"),
        kit.agent("c", default_auto_reply="from c"),
    )


def _contents(agent: Any, other: Any) -> list[Any]:
    return [message["content"] for message in agent.chat_messages[other]]


@scenario
def a_queue_carries_summaries_over(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    results = boss.initiate_chats(
        [
            {"recipient": b, "message": "one", "max_turns": 1},
            {"recipient": c, "message": "two", "max_turns": 1},
            {"recipient": b, "message": "three", "max_turns": 1, "clear_history": False},
        ]
    )
    return [[result.summary for result in results], _contents(boss, b), _contents(boss, c)]


@scenario
def a_queue_adds_summaries_to_a_carryover_of_its_own(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    boss.initiate_chats(
        [
            {"recipient": b, "message": "one", "max_turns": 1, "carryover": "own"},
            {"recipient": c, "message": "two", "max_turns": 1, "carryover": ["own", "two"]},
        ]
    )
    return [_contents(boss, b), _contents(boss, c)]


@scenario
def a_queue_leaves_out_what_a_chat_excludes(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    d = kit.agent("d", default_auto_reply="from d")
    boss.initiate_chats(
        [
            {"recipient": b, "message": "one", "max_turns": 1},
            {"recipient": c, "message": "two", "max_turns": 1},
            {
                "recipient": d,
                "message": "three",
                "max_turns": 1,
                "finished_chat_indexes_to_exclude_from_carryover": [0],
            },
        ]
    )
    return _contents(boss, d)


@scenario(
    better=(
        "a carryover that is neither text nor list is named as such in a queue too, not a failing +"
        " inside"
    ),
    expected=["InvalidCarryOverType", "InvalidCarryOverType"],
)
def a_queue_with_wrong_carryovers(kit: Kit) -> Any:
    boss, b, _ = _trio(kit)
    chat = {"recipient": b, "message": "one", "max_turns": 1}
    return [
        kit.raised(boss.initiate_chats, [{**chat, "carryover": carryover}])
        for carryover in (3, {"a": 1})
    ]


@scenario
def a_queue_with_carryovers_of_many_types(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    boss.initiate_chats(
        [
            {
                "recipient": b,
                "message": "one",
                "max_turns": 1,
                "carryover": ["text", 3, {"content": "said"}],
            },
            {
                "recipient": c,
                "message": "two",
                "max_turns": 1,
                "summary_method": lambda s, r, a: {"content": "as a dict"},
            },
            {"recipient": b, "message": "three", "max_turns": 1},
        ]
    )
    return [_contents(boss, b), _contents(boss, c)]


@scenario
def the_modules_queue_needs_senders(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    results = kit.initiate_chats(
        [
            {"sender": boss, "recipient": b, "message": "one", "max_turns": 1},
            {
                "sender": c,
                "recipient": b,
                "message": "two",
                "max_turns": 1,
                "summary_method": lambda s, r, a: "called",
            },
        ]
    )
    chat = {"recipient": b, "message": "one", "max_turns": 1}
    raised = [
        kit.raised(kit.initiate_chats, queue)
        for queue in ([chat], [{"sender": boss, "message": "m"}])
    ]
    return [[result.summary for result in results], _contents(b, c), raised]


@scenario
def an_empty_queue(kit: Kit) -> Any:
    boss, _, _ = _trio(kit)
    return [boss.initiate_chats([]), kit.initiate_chats([])]


@scenario(
    better=(
        "the caller's dicts stay as they were, so a queue can be run again; the oracle keeps the"
        " old carryover in them"
    ),
    expected=[["max_turns", "message", "recipient"], ["two\nContext: \nfrom b", "from c"]],
)
def a_queue_can_be_run_again(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    queue = [
        {"recipient": b, "message": "one", "max_turns": 1},
        {"recipient": c, "message": "two", "max_turns": 1},
    ]
    boss.initiate_chats(queue)
    boss.initiate_chats(queue)
    return [sorted(queue[1]), _contents(boss, c)]


@scenario
def results_of_a_queue_by_index(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    boss.initiate_chats(
        [
            {"recipient": b, "message": "one", "max_turns": 1},
            {"recipient": c, "message": "two", "max_turns": 1},
        ]
    )
    found = boss.get_chat_results()
    return [
        [r.summary for r in found],
        boss.get_chat_results(1).summary,
        boss.get_chat_results(-2).summary,
    ]


@scenario
def a_queue_with_callable_messages_sees_the_carryover(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    first = lambda sender, recipient, context: f"{recipient.name}: {context['carryover']}"  # noqa: E731
    boss.initiate_chats(
        [
            {"recipient": b, "message": first, "max_turns": 1},
            {"recipient": c, "message": first, "max_turns": 1},
        ]
    )
    return [_contents(boss, b), _contents(boss, c)]


def _summaries(results: dict[int, Any]) -> dict[int, Any]:
    return {number: result.summary for number, result in results.items()}


@scenario
def async_queue_without_prerequisites(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    chats = [
        {"chat_id": 1, "recipient": b, "message": "one", "max_turns": 1},
        {"chat_id": 2, "recipient": c, "message": "two", "max_turns": 1},
    ]
    results = asyncio.run(boss.a_initiate_chats(chats))
    return [_summaries(results), _contents(boss, b), _contents(boss, c)]


@scenario
def async_queue_waits_for_prerequisites(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    d = kit.agent("d", default_auto_reply="from d")
    chats = [
        {"chat_id": 3, "recipient": d, "message": "three", "max_turns": 1, "prerequisites": [1, 2]},
        {"chat_id": 1, "recipient": b, "message": "one", "max_turns": 1},
        {"chat_id": 2, "recipient": c, "message": "two", "max_turns": 1, "prerequisites": [1]},
    ]
    results = asyncio.run(boss.a_initiate_chats(chats))
    return [_summaries(results), _contents(boss, b), _contents(boss, c), _contents(boss, d)]


@scenario
def async_queue_leaves_out_what_a_chat_excludes(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    d = kit.agent("d", default_auto_reply="from d")
    exclude = {"finished_chat_indexes_to_exclude_from_carryover": [1]}
    chats = [
        {"chat_id": 1, "recipient": b, "message": "one", "max_turns": 1},
        {"chat_id": 2, "recipient": c, "message": "two", "max_turns": 1},
        {
            "chat_id": 3,
            "recipient": d,
            "message": "three",
            "max_turns": 1,
            "prerequisites": [1, 2],
            **exclude,
        },
    ]
    asyncio.run(boss.a_initiate_chats(chats))
    return _contents(boss, d)


@scenario
def async_module_queue(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    chats = [
        {"chat_id": 7, "sender": boss, "recipient": b, "message": "one", "max_turns": 1},
        {
            "chat_id": 9,
            "sender": c,
            "recipient": b,
            "message": "two",
            "max_turns": 1,
            "prerequisites": [7],
        },
    ]
    return [_summaries(asyncio.run(kit.a_initiate_chats(chats))), _contents(b, c)]


@scenario
def async_queue_results_by_id(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    chats = [
        {"chat_id": 5, "recipient": b, "message": "one", "max_turns": 1},
        {"chat_id": 6, "recipient": c, "message": "two", "max_turns": 1, "prerequisites": [5]},
    ]
    asyncio.run(boss.a_initiate_chats(chats))
    return [_summaries(boss.get_chat_results()), boss.get_chat_results(6).summary]


@scenario(
    better=(
        "a missing id, and a prerequisite that is not there, are named; the oracle fails inside or"
        " skips the chat"
    ),
    expected=["ValueError", "ValueError"],
)
def async_queue_with_wrong_chats(kit: Kit) -> Any:
    boss, b, _ = _trio(kit)
    chat = {"recipient": b, "message": "one", "max_turns": 1}
    return [
        kit.raised(boss.a_initiate_chats, queue)
        for queue in ([chat], [{**chat, "chat_id": 1, "prerequisites": [2]}])
    ]


@scenario
def async_empty_queue(kit: Kit) -> Any:
    return asyncio.run(kit.agent("a").a_initiate_chats([]))


@scenario(
    better=(
        "defect 10: chats that wait for one another are an error; the oracle returns an empty"
        " result in silence"
    ),
    expected="ValueError",
)
def async_queue_with_a_cycle(kit: Kit) -> Any:
    boss, b, c = _trio(kit)
    chats = [
        {"chat_id": 1, "recipient": b, "message": "one", "max_turns": 1, "prerequisites": [2]},
        {"chat_id": 2, "recipient": c, "message": "two", "max_turns": 1, "prerequisites": [1]},
    ]
    return kit.raised(lambda: boss.a_initiate_chats(chats))
