"""What is stored of a message, what is found again and what is forgotten."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.conversation.history import History
from agentkit.errors import UnknownName, WrongArgument, WrongType
from agentkit.messages import to_stored
from tests.conversation.cast import agent

ANN, BOB = agent("ann"), agent("bob")


def kept(history: History, peer: Any = BOB) -> list[Any]:
    return [message["content"] for message in history.messages[peer]]


def filled(*contents: str) -> History:
    history = History("ann")
    for content in contents:
        history.add(content, "assistant", BOB, "ann")
    return history


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ({"content": "x"}, {"content": "x", "role": "user", "name": "ann"}),
        ({"content": "x", "name": "own"}, {"content": "x", "role": "user", "name": "own"}),
        ({"content": "x", "role": "system"}, {"content": "x", "role": "user", "name": "ann"}),
        (
            {"content": "x", "override_role": "system"},
            {"content": "x", "role": "system", "name": "ann"},
        ),
        (
            {"content": "x", "weight": 3, "context": {"a": 1}},
            {"content": "x", "context": {"a": 1}, "role": "user", "name": "ann"},
        ),
        (
            {"tool_calls": [{"id": "1"}]},
            {"tool_calls": [{"id": "1"}], "content": None, "role": "assistant"},
        ),
        (
            {"content": "", "function_call": {"name": "f"}},
            {"content": "", "function_call": {"name": "f"}, "role": "assistant"},
        ),
        (
            {"content": "3", "role": "function", "name": "f"},
            {"content": "3", "role": "function", "name": "f"},
        ),
        (
            {
                "content": "3",
                "role": "tool",
                "tool_responses": [{"tool_call_id": "1", "content": 3}],
            },
            {
                "content": "3",
                "role": "tool",
                "tool_responses": [{"tool_call_id": "1", "content": "3"}],
                "name": "ann",
            },
        ),
        ({}, None),
        ({"content": None}, None),
        ({"role": "user", "name": "x"}, None),
    ],
)
def test_the_stored_form(message: dict[str, Any], stored: dict[str, Any] | None) -> None:
    assert to_stored(message, "user", "ann") == stored


@given(
    st.dictionaries(
        st.sampled_from(["content", "name", "weight", "tool_call_id"]),
        st.one_of(st.none(), st.text()),
        min_size=1,
    )
)
def test_storing_what_is_stored_changes_nothing(message: dict[str, Any]) -> None:
    stored = to_stored(message, "user", "ann")
    assert (stored is None) == (message.get("content") is None)
    if stored is not None:
        assert to_stored(dict(stored), stored["role"], "ann") == stored


def test_the_given_message_is_not_changed() -> None:
    message = {"content": "x", "role": "system", "weight": 3}
    history = History("ann")
    assert history.add(message, "assistant", BOB, "ann")
    assert message == {"content": "x", "role": "system", "weight": 3}
    history.messages[BOB][0]["content"] = "y"
    assert message["content"] == "x"


def test_results_become_texts_in_a_copy() -> None:
    message = {
        "role": "tool",
        "content": "1",
        "tool_responses": [{"tool_call_id": "1", "content": 1}, {"tool_call_id": "2"}],
    }
    history = History("ann")
    history.add(message, "user", BOB, "bob")
    assert [each["content"] for each in history.messages[BOB][0]["tool_responses"]] == ["1", ""]
    assert message["tool_responses"] == [{"tool_call_id": "1", "content": 1}, {"tool_call_id": "2"}]


def test_texts_mappings_and_nothing_else_are_messages() -> None:
    history = filled("text")
    assert history.add(OrderedDict(content="mapping"), "assistant", BOB, "ann")
    assert not history.add({"content": None}, "assistant", BOB, "ann")
    for wrong in (None, 5, ["x"], b"x"):
        with pytest.raises(WrongType, match="ann: message must be a text or a dict"):
            history.add(wrong, "assistant", BOB, "ann")  # type: ignore[arg-type]
    for content in (5, b"x", {"a": 1}, ["x"]):
        with pytest.raises(
            WrongType,
            match="ann: the content of a message must be a text, a list of parts or a callable",
        ):
            history.add({"content": content}, "assistant", BOB, "ann")
    assert kept(history) == ["text", "mapping"]


def test_a_functions_result_may_be_anything() -> None:
    history = History("ann")
    assert history.add({"role": "function", "name": "f", "content": {"a": 1}}, "user", BOB, "bob")
    assert kept(history) == [{"a": 1}]


def test_earlier_conversations_are_copied() -> None:
    given_messages = [{"content": "before", "role": "user"}]
    history = History("ann", {BOB: given_messages})
    history.add("now", "assistant", BOB, "ann")
    assert kept(history) == ["before", "now"]
    assert len(given_messages) == 1


def test_the_last_message() -> None:
    assert History("ann").last(None) is None
    history = filled("one", "two")
    last = history.last(None)
    assert last is not None
    assert last["content"] == "two"
    assert history.last(BOB) is last
    with pytest.raises(
        UnknownName, match=r"ann: the agent 'ann' is in no conversation .* \['bob'\]"
    ):
        history.last(ANN)
    history.add("other", "user", ANN, "ann")
    with pytest.raises(WrongArgument, match="more than one conversation"):
        history.last(None)


def test_clearing() -> None:
    notes: list[str] = []
    history = filled("one", "two", "three")
    history.add("else", "user", ANN, "ann")
    history.clear(BOB, 2, notes.append)
    assert (kept(history), kept(history, ANN)) == (["two", "three"], ["else"])
    history.clear(None, 1, notes.append)
    assert (kept(history), kept(history, ANN)) == (["three"], ["else"])
    history.clear(BOB, None, notes.append)
    assert (kept(history), kept(history, ANN)) == ([], ["else"])
    history.clear(None, 0, notes.append)
    assert not history.messages
    assert notes == []


CALLING: list[dict[str, Any]] = [
    {"content": "go"},
    {"content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]},
    {"role": "tool", "content": "1", "tool_call_id": "1"},
    {"role": "tool", "content": "2", "tool_call_id": "2"},
    {"content": None, "function_call": {"name": "f"}},
    {"role": "function", "name": "f", "content": "3"},
    {"content": "done"},
]


@pytest.mark.parametrize(
    ("preserve", "stay"), [(1, 1), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6), (7, 7), (70, 7)]
)
def test_a_result_never_stays_without_its_call(preserve: int, stay: int) -> None:
    notes: list[str] = []
    history = History("ann")
    for message in CALLING:
        assert history.add(dict(message), "user", BOB, "bob")
    history.clear(BOB, preserve, notes.append)
    assert len(history.messages[BOB]) == stay
    assert len(notes) == stay - min(preserve, len(CALLING))
    assert "tool_call_id" not in history.messages[BOB][0]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"content": "x", "tool_calls": 5}, "tool_calls must be a list"),
        ({"tool_calls": "ab"}, "tool_calls must be a list"),
        ({"content": "x", "tool_calls": [5]}, "each of tool_calls must be a dict, not 5"),
        (
            {"tool_calls": [{"id": "1", "function": "f"}]},
            "function must be a dict with name and arguments, not 'f'",
        ),
        (
            {"content": "x", "function_call": 5},
            "function_call must be a dict with name and arguments, not 5",
        ),
        ({"content": "x", "tool_responses": 5}, "tool_responses must be a list"),
        (
            {"content": "x", "role": "tool", "tool_responses": [5]},
            "each of tool_responses must be a dict, not 5",
        ),
    ],
)
def test_calls_that_are_none_are_refused_where_they_are_said(
    message: dict[str, Any], says: str
) -> None:
    ann, bob = agent("ann"), agent("bob")
    with pytest.raises(WrongType, match=f"ann: .*{says}"):
        ann.send(message, bob)
    assert ann.chat_messages.get(bob, []) == bob.chat_messages.get(ann, []) == []
