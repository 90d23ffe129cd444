"""What stays of a chat when it is over, and how it goes into the next one."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.conversation.summary import format_item, with_carryover
from agentkit.errors import InvalidCarryOverType, RateLimited, WrongArgument
from agentkit.llm.cache import Cache
from tests.conversation.cast import agent, chat, hearing, modelled, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@BOTH
@pytest.mark.parametrize(
    ("last", "summary"),
    [
        ("done TERMINATE", "done "),
        ("TERMINATE", ""),
        (
            {
                "content": [
                    {"type": "text", "text": "one TERMINATE"},
                    {"type": "x"},
                    {"type": "text", "text": "two"},
                ]
            },
            "one \ntwo",
        ),
        (
            {
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": ""}}],
            },
            "",
        ),
        (
            {"content": lambda context: context["word"] + " TERMINATE", "context": {"word": "tea"}},
            "tea ",
        ),
    ],
)
def test_the_last_message(last: Any, summary: str, is_async: bool) -> None:
    assert chat(is_async, agent("ann"), speaker("bob", last), max_turns=1).summary == summary


@BOTH
def test_without_a_method_there_is_no_summary(is_async: bool) -> None:
    assert (
        chat(is_async, agent("ann"), speaker("bob", "x"), max_turns=1, summary_method=None).summary
        == ""
    )


@BOTH
def test_a_function_of_ones_own(is_async: bool) -> None:
    def shortest(sender: Any, recipient: Any, args: dict[str, Any]) -> Any:
        return sender.name, recipient.name, args["word"], sorted(args)

    given = {"word": "w"}
    result = chat(
        is_async,
        agent("ann"),
        speaker("bob", "x"),
        max_turns=1,
        summary_method=shortest,
        summary_args=given,
    )
    assert result.summary == ("ann", "bob", "w", ["cache", "word"])
    assert given == {"word": "w"}


@BOTH
def test_the_model_of_the_recipient_reflects_before_that_of_the_sender(is_async: bool) -> None:
    (ann, of_ann), (bob, of_bob) = (
        modelled("ann", "by ann", system_message=""),
        modelled("bob", "reply", "by bob"),
    )
    result = chat(is_async, ann, bob, max_turns=1, summary_method="reflection_with_llm")
    assert result.summary == "by bob"
    assert of_bob.requests[1]["messages"] == [
        {"content": "hi", "role": "user", "name": "ann"},
        {"content": "reply", "role": "assistant", "name": "bob"},
        {"role": "system", "content": ann.DEFAULT_SUMMARY_PROMPT},
    ]
    args = {"summary_prompt": "In short?", "summary_role": "user"}
    result = chat(
        is_async,
        ann,
        speaker("cid", "x"),
        max_turns=1,
        summary_method="reflection_with_llm",
        summary_args=args,
    )
    assert result.summary == "by ann"
    assert of_ann.requests[-1]["messages"][-1] == {"role": "user", "content": "In short?"}


@BOTH
def test_a_model_that_fails_to_reflect_leaves_the_chat_without_a_summary(is_async: bool) -> None:
    bob, _ = modelled("bob", "reply", RateLimited("enough"))
    with hearing() as events:
        result = chat(
            is_async, agent("ann"), bob, max_turns=1, summary_method="reflection_with_llm"
        )
    assert (result.summary, len(result.chat_history)) == ("", 2)
    assert any("enough" in str(event) for event in events)


@BOTH
def test_the_cache_of_the_chat_is_used_for_its_summary(is_async: bool) -> None:
    with Cache.memory() as cache:
        for _ in range(2):
            bob, client = modelled("bob", "reply", "in short")
            result = chat(
                is_async,
                agent("ann"),
                bob,
                max_turns=1,
                cache=cache,
                summary_method="reflection_with_llm",
            )
    assert result.summary == "in short"
    assert client.requests == []


@pytest.mark.parametrize(
    ("message", "carryover", "combined"),
    [
        ("x", None, "x"),
        ("x", "", "x"),
        ("x", [], "x"),
        ("x", "c", "x\nContext: \nc"),
        ("x", ["a", 5, {"content": "b"}], "x\nContext: \na\n5\nb"),
        ({"content": "x", "name": "n"}, "c", {"content": "x\nContext: \nc", "name": "n"}),
        ({"content": None, "tool_calls": [1]}, "c", {"content": None, "tool_calls": [1]}),
        (
            {"content": [{"type": "text", "text": "x"}]},
            "c",
            {
                "content": [
                    {"type": "text", "text": "\nContext: \nc"},
                    {"type": "text", "text": "x"},
                ]
            },
        ),
    ],
)
def test_a_carryover_goes_behind_the_message(message: Any, carryover: Any, combined: Any) -> None:
    before = repr(message)
    assert with_carryover("ann", message, carryover) == combined
    assert repr(message) == before


def test_what_cannot_be_combined() -> None:
    for message, carryover in (("x", 5), ("x", {"a": 1}), (None, "c"), (5, "c")):
        with pytest.raises(InvalidCarryOverType, match=r"^ann: "):
            with_carryover("ann", message, carryover)


def test_items_of_a_carryover() -> None:
    items = ("a", 5, None, {"content": "c"}, {"content": [{"type": "text", "text": "t"}]}, {"a": 1})
    assert [format_item(item) for item in items] == ["a", "5", "None", "c", "t", "{'a': 1}"]


def test_reflecting_needs_a_model() -> None:
    with pytest.raises(WrongArgument, match="needs a model; give the sender or bob an llm_config"):
        chat(False, agent("ann"), agent("bob"), summary_method="reflection_with_llm")
    with pytest.raises(WrongArgument, match="neither agent has a model"):
        agent("ann")._reflection_with_llm("Short?", [])


class Foreign:
    """An agent of another make: it has what an agent needs, and no more."""

    name = description = "foreign"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def send(
        self, message: Any, recipient: Any, request_reply: bool | None = None, silent: Any = None
    ) -> None:
        """Hand it over."""
        recipient.receive(message, self, request_reply, silent)

    def receive(
        self, message: Any, sender: Any, request_reply: bool | None = None, silent: Any = None
    ) -> None:
        """Keep it."""
        self.heard.append(message)

    def generate_reply(self, messages: Any = None, sender: Any = None, **kwargs: Any) -> None:
        """Nothing."""

    async def a_send(
        self, message: Any, recipient: Any, request_reply: bool | None = None, silent: Any = None
    ) -> None:
        """Hand it over."""
        await recipient.a_receive(message, self, request_reply, silent)

    async def a_receive(
        self, message: Any, sender: Any, request_reply: bool | None = None, silent: Any = None
    ) -> None:
        """Keep it."""
        self.heard.append(message)

    async def a_generate_reply(
        self, messages: Any = None, sender: Any = None, **kwargs: Any
    ) -> None:
        """Nothing."""


@BOTH
def test_a_chat_with_an_agent_of_another_make_is_summarised_too(is_async: bool) -> None:
    ann, client = modelled("ann", "in short", "in short")
    other: Any = Foreign()
    assert (
        chat(is_async, ann, other, max_turns=1, summary_method="reflection_with_llm").summary
        == "in short"
    )
    assert client.requests[0]["messages"][0]["content"] == "hi"
    assert chat(is_async, ann, other, max_turns=1).summary == ""
    assert other.heard == ["hi", "hi"]
