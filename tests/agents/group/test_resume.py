"""Going on with an earlier group chat."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentkit.agents.group import GroupChatManager
from agentkit.core.io import IOStream
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import Stored
from tests.agents.group.members import chat_with, group, members, said, speakers
from tests.agents.group.test_selection import Console

FACES = ["sync", "async"]
EARLIER: list[dict[str, Any]] = [
    {"content": "go", "role": "user", "name": "a"},
    {"content": "from b", "role": "user", "name": "b"},
    {"content": "TERMINATE from c TERMINATE", "role": "user", "name": "c"},
]


def _resume(
    manager: GroupChatManager, messages: Any, face: str = "sync", **kwargs: Any
) -> tuple[Any, Stored]:
    kwargs = {"silent": True, **kwargs}
    return (
        asyncio.run(manager.a_resume(messages, **kwargs))
        if face == "async"
        else manager.resume(messages, **kwargs)
    )


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("form", [list, json.dumps])
def test_everybody_knows_what_was_said_and_the_chat_goes_on(form: Any, face: str) -> None:
    """The oracle's a_resume tells nobody anything."""
    manager = group(members("abc"), max_round=3)
    chat_with(manager, "something else", face=face)
    agent, message = _resume(manager, form(EARLIER), face)
    assert (agent.name, message) == ("c", EARLIER[2])
    assert said(manager) == [("a", "go"), ("b", "from b")]
    everybody: list[Any] = list(manager.groupchat.agents)
    for member in everybody:
        assert [(m["role"], m["content"]) for m in member.chat_messages[manager]] == [
            ("assistant" if m["name"] == member.name else "user", m["content"]) for m in EARLIER[:2]
        ]
    result = chat_with(manager, message, agent, face, clear_history=False)
    assert speakers(manager) == "abcab"
    assert len(result.chat_history) == 5


@pytest.mark.parametrize(
    ("remove", "content"),
    [
        (None, "TERMINATE from c TERMINATE"),
        ("TERMINATE", " from c "),
        (str.lower, "terminate from c terminate"),
    ],
)
def test_the_termination_string_is_removed_from_the_last_message(remove: Any, content: str) -> None:
    assert (
        _resume(group(members("abc")), EARLIER, remove_termination_string=remove)[1]["content"]
        == content
    )
    assert EARLIER[2]["content"] == "TERMINATE from c TERMINATE"


def test_a_call_without_a_text_is_left_alone() -> None:
    call = {"content": None, "role": "assistant", "name": "b", "tool_calls": [{"id": "1"}]}
    assert (
        _resume(group(members("ab")), [EARLIER[0], call], remove_termination_string=str.lower)[1]
        == call
    )


def test_a_chat_survives_as_text() -> None:
    manager = group(members("abc"), max_round=4)
    chat_with(manager)
    before = said(manager)
    text = manager.messages_to_string(manager.groupchat.messages)
    assert manager.messages_from_string(text) == manager.groupchat.messages
    agent, message = _resume(manager, text)
    chat_with(manager, message, agent, clear_history=False)
    assert said(manager)[:4] == before


def test_results_of_functions_come_from_who_can_execute_them() -> None:
    agents: list[Any] = members("abc")
    agents[1].register_function({"f": lambda: "done"})
    manager = group(agents, max_round=3)
    chat_with(manager, {"content": None, "function_call": {"name": "f", "arguments": "{}"}})
    agent, _ = _resume(manager, list(manager.groupchat.messages))
    assert agent.name == "c"
    assert manager.chat_messages[agents[1]][-1]["role"] == "function"
    assert len(agents[1].chat_messages[manager]) == len(agents[2].chat_messages[manager]) == 2


def test_a_message_without_a_name_is_the_managers() -> None:
    manager = group(members("ab"))
    agent, message = _resume(manager, [{"content": "welcome", "role": "user"}, EARLIER[1]])
    assert (agent.name, message["name"]) == ("b", "b")
    assert said(manager) == [("chat_manager", "welcome")]


@pytest.mark.parametrize(
    ("messages", "error", "told"),
    [
        ([], WrongArgument, "no messages to resume"),
        (None, WrongType, "list of dicts or a JSON text"),
        ("", WrongArgument, "not valid JSON"),
        ('{"a": 1}', WrongArgument, "list of dicts"),
        ([1], WrongArgument, "list of dicts"),
        ([*EARLIER, {"content": "x", "name": "z"}], WrongArgument, "message 3 is by 'z'"),
    ],
)
@pytest.mark.parametrize("face", FACES)
def test_messages_that_cannot_be(
    messages: Any, error: type[Exception], told: str, face: str
) -> None:
    manager = group(members("abc"), max_round=2)
    chat_with(manager)
    with pytest.raises(error, match=told):
        _resume(manager, messages, face)
    assert speakers(manager) == "ab"  # nothing was forgotten


def test_wrong_ways_to_remove_and_to_read() -> None:
    manager = group(members("abc"))
    with pytest.raises(WrongType, match="remove_termination_string"):
        _resume(manager, EARLIER, remove_termination_string=3)
    with pytest.raises(WrongType, match="JSON text"):
        manager.messages_from_string(None)  # type: ignore[arg-type]


def test_what_is_printed() -> None:
    console = Console()
    manager = group(
        members("abc"), {"is_termination_msg": lambda message: "TERMINATE" in message["content"]}
    )
    with IOStream.set_default(console):
        _resume(manager, EARLIER, silent=False)
        loud = list(console.printed)
        console.printed.clear()
        _resume(manager, EARLIER)
    assert "termination message" in loud[0]
    assert "3 messages, the last by c" in loud[1]
    assert console.printed == []
