"""The one model of a message: calls in both forms, results, and how it is stored and sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentkit.errors import BadModelReply, WrongType
from agentkit.messages import (
    AnyMessage,
    Stored,
    ToolResponse,
    answers_calls,
    as_calls,
    as_dict,
    call_fields,
    calls_of,
    check_calls,
    check_reply,
    content_of,
    functions_of,
    has_calls,
    interrupt_calls,
    is_result,
    join_responses,
    responses_of,
    says_same,
    sendable_form,
    text_of,
    to_stored,
    with_contents,
    with_functions,
    with_responses,
    without_thinking,
)

FUNCTION = {"name": "look", "arguments": '{"n": 1}'}
TOOLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}],
}
OLDER = {"role": "assistant", "content": None, "function_call": FUNCTION}
RESULT: ToolResponse = {"role": "tool", "tool_call_id": "c1", "content": "42"}


@pytest.mark.parametrize(
    "message", [TOOLS, OLDER, {**TOOLS, "function_call": {}}, {**OLDER, "tool_calls": None}]
)
def test_both_forms_of_a_call_are_one(message: AnyMessage) -> None:
    assert has_calls(message)
    assert has_calls(SimpleNamespace(**message)), "also on an object of a client"
    assert functions_of(message) == [FUNCTION]
    assert [call.get("id") for call in calls_of(message)] == [
        call.get("id") for call in message.get("tool_calls") or [{}]
    ]
    assert call_fields(message) == {
        key: value for key, value in message.items() if key.endswith(("call", "calls")) and value
    }


def test_calls_of_tools_come_before_the_older_one_and_what_is_none_is_left_out() -> None:
    message = {"tool_calls": [5, {"id": "c1"}], "function_call": FUNCTION}
    assert calls_of(message) == [{"id": "c1"}, {"function": FUNCTION}]
    assert functions_of(message) == [{}, FUNCTION]
    assert not has_calls({"content": "x", "tool_calls": [], "function_call": None})
    assert as_calls([], None) == {}
    assert as_calls(calls_of(TOOLS), None) == {"tool_calls": TOOLS["tool_calls"]}


def test_results_are_found_in_one_message_and_in_several() -> None:
    several = join_responses([RESULT, {**RESULT, "content": 7}])
    assert (several["role"], several["content"]) == ("tool", "42\n\n7")
    assert responses_of(several) == [RESULT, {**RESULT, "content": 7}]
    assert responses_of(RESULT) == [RESULT]
    assert responses_of({"role": "user", "content": "x"}) == []
    said = with_responses({"role": "user", "content": "rather not"}, several["tool_responses"])
    assert answers_calls(said)
    assert not is_result(said)


def test_other_contents_of_results_leave_what_a_person_says_beside_them() -> None:
    said = with_responses(
        {"role": "user", "content": "rather not"}, interrupt_calls(TOOLS, "INTERRUPTED")
    )
    shorter = with_contents(said, lambda content: str(content)[:3])
    assert shorter["content"] == "rather not"
    assert shorter["tool_responses"] == [{"role": "tool", "tool_call_id": "c1", "content": "INT"}]
    several = with_contents(join_responses(responses_of(RESULT)), lambda content: f"<{content}>")
    assert several["content"] == "<42>"
    plain = to_stored({"content": "x"}, "user", "ann")
    assert plain is not None
    assert with_contents(plain, lambda content: "changed") is plain


def test_each_call_that_is_interrupted_gets_its_result() -> None:
    assert interrupt_calls(OLDER, "no") == [{"role": "function", "name": "look", "content": "no"}]
    assert interrupt_calls({"content": "x"}, "no") == []


def test_calls_are_renamed_without_changing_the_message() -> None:
    message = {
        **TOOLS,
        "tool_calls": [{**calls_of(TOOLS)[0], "id": None}],
        "function_call": FUNCTION,
    }
    made = with_functions(message, lambda function: {**function, "name": "other"})
    assert [function["name"] for function in functions_of(made)] == ["other", "other"]
    assert made["tool_calls"][0].keys() == {"type", "function"}, "no id is better than none"
    assert [function["name"] for function in functions_of(message)] == ["look", "look"]


def test_a_message_is_stored_with_what_is_known_and_sent_with_what_the_api_takes() -> None:
    given = {"content": "x", "metadata": {"a": 1}, "context": {}, "own": 1, "name": None}
    stored = to_stored(given, "user", "ann")
    assert stored == {
        "content": "x",
        "metadata": {"a": 1},
        "context": {},
        "role": "user",
        "name": "ann",
    }
    assert list(stored or ()) == ["content", "metadata", "context", "role", "name"], (
        "the order is kept, too"
    )
    assert sendable_form([{**(stored or {}), "reasoning_content": "hm", "own": 1}]) == [
        {"content": "x", "role": "user", "name": "ann", "own": 1}
    ]
    assert to_stored({"name": "ann"}, "user", "ann") is None
    assert to_stored(OLDER, "user", "ann") == {
        "function_call": FUNCTION,
        "content": None,
        "role": "assistant",
    }
    several = join_responses(responses_of(RESULT))
    assert sendable_form([several]) == [RESULT]
    thought: Stored = {"role": "user", "content": "x", "reasoning_content": "hm"}
    assert without_thinking(thought) == {"role": "user", "content": "x"}


def test_a_message_may_be_given_in_several_ways() -> None:
    assert as_dict("ann", "x") == {"content": "x"}
    with pytest.raises(WrongType, match="ann: message must be a text or a dict, not 5"):
        as_dict("ann", 5)
    assert (
        content_of({"content": lambda context: context["word"], "context": {"word": "tea"}})
        == "tea"
    )
    assert text_of([{"type": "text", "text": "a"}, {"type": "image_url"}]) == "a\n<image_url>"
    assert says_same({**TOOLS, "role": "user"}, {**TOOLS, "name": "bob"})
    assert not says_same(TOOLS, OLDER)


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"tool_calls": 5}, "tool_calls must be a list"),
        ({"tool_calls": [5]}, "each of tool_calls must be a dict, not 5"),
        (
            {"tool_calls": [{"function": 5}]},
            "function must be a dict with name and arguments, not 5",
        ),
        ({"function_call": "f"}, "function_call must be a dict"),
        ({"tool_responses": "x"}, "tool_responses must be a list"),
    ],
)
def test_calls_that_are_none_are_refused(message: dict[str, Any], problem: str) -> None:
    with pytest.raises(WrongType, match=f"ann: {problem}"):
        check_calls("ann", message)
    check_calls("ann", dict.fromkeys(message))


@pytest.mark.parametrize(
    "message",
    [{"content": 5}, {"tool_calls": 5}, {"tool_calls": [{}]}, {"function_call": {"name": 5}}],
)
def test_a_reply_that_no_history_could_take_is_refused(message: AnyMessage) -> None:
    with pytest.raises(BadModelReply, match=r"^ann "):
        check_reply("ann", message)
    check_reply("ann", TOOLS)
    check_reply("ann", OLDER)
