"""CLEAR HISTORY in what a person says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents.group.mentions import Clearing, asks_to_clear, read_clearing
from tests.agents.group.members import chat_with, group, members, said

NAMES = ["b", "c", "b two"]


@pytest.mark.parametrize(
    ("content", "names", "preserve", "text"),
    [
        ("CLEAR HISTORY", [], 0, ""),
        ("please clear history now", [], 0, "please now"),
        ("CLEAR HISTORY, please", [], 0, "please"),
        ("CLEAR HISTORY b", ["b"], 0, ""),
        ("CLEAR HISTORY b. Go on.", ["b"], 0, "Go on."),
        ("CLEAR HISTORY b 2", ["b"], 2, ""),
        ("CLEAR HISTORY 2 b", ["b"], 2, ""),
        ("CLEAR HISTORY 3", [], 3, ""),
        ("CLEAR HISTORY b, c and d", ["b", "c"], 0, "and d"),
        ("CLEAR HISTORY b two", ["b two"], 0, ""),
        ("CLEAR HISTORY bee", [], 0, "bee"),
        ("nothing", [], 0, "nothing"),
    ],
)
def test_reading_the_command(content: str, names: list[str], preserve: int, text: str) -> None:
    assert read_clearing(content, NAMES) == Clearing(names, preserve, text)


@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
def test_reading_anything(text: str, names: list[str]) -> None:
    read = read_clearing(f"CLEAR HISTORY {text}", names)
    assert set(read.names) <= set(names)
    assert read.preserve >= 0


@pytest.mark.parametrize(
    ("reply", "asked"),
    [
        ({"role": "user", "content": "Clear History"}, True),
        ({"role": "user", "content": "history"}, False),
        ({"content": "CLEAR HISTORY"}, False),
        ({"role": "user", "content": None}, False),
        ("CLEAR HISTORY", False),
        (None, False),
    ],
)
def test_only_persons_can_ask(reply: Any, asked: bool) -> None:
    assert asks_to_clear(reply) is asked


def _chat(content: str, enabled: bool = True, **extra: Any) -> Any:
    reply = {"role": "user", "content": content, **extra}
    manager = group(members("abu", u=[reply]), max_round=4, enable_clear_history=enabled)
    chat_with(manager)
    return manager


def _texts(manager: Any, name: str) -> list[str]:
    return [
        message["content"]
        for message in manager.groupchat.agent_by_name(name).chat_messages[manager]
    ]


def test_all_forget() -> None:
    manager = _chat("CLEAR HISTORY begin again")
    assert said(manager) == [("u", "begin again"), ("a", "a speaks")]
    for name in "abu":
        assert _texts(manager, name) == ["begin again", "a speaks"]


def test_one_forgets() -> None:
    manager = _chat("CLEAR HISTORY b")
    assert (
        [text for _, text in said(manager)]
        == _texts(manager, "a")
        == ["go", "b speaks", "", "a speaks"]
    )
    assert _texts(manager, "b") == ["", "a speaks"]


def test_some_messages_stay() -> None:
    manager = _chat("CLEAR HISTORY 1")
    assert (
        [text for _, text in said(manager)] == _texts(manager, "a") == ["b speaks", "", "a speaks"]
    )


def test_more_than_there_are_may_stay() -> None:
    """The oracle raises IndexError."""
    assert [text for _, text in said(_chat("CLEAR HISTORY 99"))] == [
        "go",
        "b speaks",
        "",
        "a speaks",
    ]


def test_a_call_stays_with_its_answer() -> None:
    manager = _chat(
        "CLEAR HISTORY", tool_responses=[{"role": "tool", "tool_call_id": "1", "content": "r"}]
    )
    assert [text for _, text in said(manager)] == ["b speaks", "", "a speaks"]


def test_not_unless_enabled() -> None:
    assert len(said(_chat("CLEAR HISTORY", enabled=False))) == 4
