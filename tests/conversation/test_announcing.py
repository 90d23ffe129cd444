"""What is told of a chat: events for who listens, pages for who reads the console."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.conversation import announcing
from agentkit.core import bus
from agentkit.events import ChatEnded, MessageSent, Noted
from tests.conversation.cast import CALL_ADD, Console, agent, call, chat, hearing, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
ANN, BOB = agent("ann"), agent("bob")
RULE = "-" * 80


def told(message: dict[str, Any], silent: bool = False) -> tuple[MessageSent, str]:
    console = Console()
    with hearing(console) as events:
        BOB._process_received_message(message, ANN, silent)
    (event,) = events
    assert isinstance(event, MessageSent)
    return event, console.text


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ({"content": "plain"}, ["plain"]),
        ({"content": ""}, []),
        (
            {"content": [{"type": "text", "text": "parts"}, {"type": "image_url"}]},
            ["parts", "<image_url>"],
        ),
        ({"content": lambda context: f"n = {context['n']}", "context": {"n": 1}}, ["n = 1"]),
        (
            {"content": "thinking", "tool_calls": [CALL_ADD]},
            [
                "thinking",
                "***** Suggested call of add (1) *****",
                'Arguments: {"a": 1, "b": 2}',
                "*" * 40,
            ],
        ),
        (
            {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
            ["***** Suggested call of f (no id) *****", "Arguments: {}", "*" * 40],
        ),
        (
            {
                "role": "tool",
                "content": "34",
                "tool_responses": [
                    {"tool_call_id": "1", "content": "3"},
                    {"role": "tool", "content": "4"},
                ],
            },
            [
                "***** Response from 1 *****",
                "3",
                "*" * 40,
                "***** Response from tool *****",
                "4",
                "*" * 40,
            ],
        ),
        (
            {"role": "function", "name": "f", "content": {"a": 1}},
            ["***** Response from f *****", "{'a': 1}", "*" * 40],
        ),
    ],
)
def test_the_page_of_a_message(message: dict[str, Any], lines: list[str]) -> None:
    _, page = told(message)
    assert page == "\n".join(["ann (to bob):", "", *lines, "", RULE, ""])


def test_the_event_of_a_message() -> None:
    event, _ = told({"content": "x", "role": "assistant", "tool_calls": [CALL_ADD]})
    assert event == MessageSent(
        event.id,
        None,
        "ann",
        "bob",
        "assistant",
        "x",
        extra={"inner": True, "tool_calls": [CALL_ADD]},
    )
    event, page = told({"role": "function", "name": "f", "content": [1, 2]}, silent=True)
    assert (event.content, event.role, event.extra["silent"], page) == (
        "[1, 2]",
        "function",
        True,
        "",
    )


def test_following_chains_messages_but_for_silent_ones() -> None:
    with hearing() as events, announcing.following("before") as last:
        assert last() == "before"
        for number in range(4):
            announcing.announce_message({"content": str(number)}, ANN, BOB, silent=number == 1)
        newest = last()
    sent = [event for event in events if isinstance(event, MessageSent)]
    assert [event.parent_id for event in sent] == ["before", sent[0].id, sent[0].id, sent[2].id]
    assert newest == sent[3].id
    assert told({"content": "outside"})[0].parent_id is None


def test_following_may_nest() -> None:
    with hearing() as events, announcing.following("outer"):
        with announcing.following("inner"):
            announcing.announce_message({"content": "x"}, ANN, BOB, False)
        announcing.announce_message({"content": "y"}, ANN, BOB, False)
    assert [event.parent_id for event in events if isinstance(event, MessageSent)] == [
        "inner",
        "outer",
    ]


def test_notes() -> None:
    console = Console()
    with hearing(console) as events:
        announcing.note("ann", "look")
        announcing.note("ann", "only listen", silent=True)
    assert events == [Noted("ann", "look"), Noted("ann", "only listen")]
    assert console.text == ">>>> ann: look\n"


@BOTH
def test_a_chat_is_told_as_a_chain_with_an_end(is_async: bool) -> None:
    console = Console()
    with hearing(console) as events, announcing.following(None):
        chat(is_async, agent("ann"), speaker("bob", "one"), max_turns=1, silent=False)
    first, second, ended = events
    assert isinstance(first, MessageSent)
    assert isinstance(second, MessageSent)
    assert (first.sender, first.recipient, second.sender, second.recipient) == (
        "ann",
        "bob",
        "bob",
        "ann",
    )
    assert second.parent_id == first.id
    assert isinstance(ended, ChatEnded)
    assert (
        console.text.splitlines()[-1] == "ann and bob are done: the limit of 1 turns was reached."
    )


@BOTH
def test_silence_is_for_the_console_only(is_async: bool) -> None:
    console = Console()
    with hearing(console) as events:
        call(is_async, agent("ann", silent=True), "send", "x", agent("bob"))
        call(is_async, agent("ann"), "send", "x", agent("bob"), silent=True)
        call(is_async, agent("ann", silent=False), "send", "loud", agent("bob"), silent=True)
    assert [event.content for event in events if isinstance(event, MessageSent)] == [
        "x",
        "x",
        "loud",
    ]
    assert console.text.count("(to bob)") == 1
    assert "loud" in console.text


def test_nothing_is_made_for_nobody() -> None:
    asked: list[Any] = []

    def content(context: Any) -> str:
        asked.append(context)
        return "x"

    assert not bus.has_listeners()
    announcing.announce_message({"content": content}, ANN, BOB, silent=True)
    assert asked == []
