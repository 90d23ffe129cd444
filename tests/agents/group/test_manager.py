"""GroupChatManager: handing on what is said, and when a group chat ends; every test in both faces
gives the same.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from agentkit.agents.group import GroupChat, GroupChatManager
from agentkit.conversation.agent import Agent
from agentkit.conversation.conversable import ConversableAgent
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import AsyncReplyInSyncChat, Stopped, WrongArgument
from agentkit.events import ChatEnded, Event, Noted
from tests.agents.group.members import Member, chat_with, group, members, said, speakers
from tests.agents.group.test_selection import Console
from tests.conversation import cast
from tests.timing import processor_time

pytestmark = pytest.mark.parametrize("face", ["sync", "async"])


def _looking(look: Callable[[Any], None]) -> Callable[..., Any]:
    """A reply function that only looks."""

    def reply(recipient: Any, messages: Any, sender: Any, config: Any) -> tuple[bool, None]:
        look(recipient)
        return False, None

    return reply


def _heard(agent: Any, manager: Any) -> list[tuple[str, str, str]]:
    return [(m["role"], m["name"], m["content"]) for m in agent.chat_messages[manager]]


def test_everybody_hears_everything(face: str) -> None:
    a, b, c = agents = members("abc")
    manager = group(agents, max_round=4)
    result = chat_with(manager, face=face)
    words = [("a", "go"), ("b", "b speaks"), ("c", "c speaks"), ("a", "a speaks")]
    assert said(manager) == words
    for agent in agents:
        own = [("assistant" if name == agent.name else "user", name, text) for name, text in words]
        assert _heard(agent, manager) == own
        mirrored = [
            ("user" if name == agent.name else "assistant", name, text) for name, text in words
        ]
        assert _heard(manager, agent) == mirrored
    assert result.chat_history == a.chat_messages[manager]
    assert result.summary == "a speaks"
    assert manager.last_speaker is a
    assert manager.chat_messages_for_summary(b) == manager.groupchat.messages
    assert c is not manager.last_speaker


def test_content_is_handed_on_as_it_is(face: str) -> None:
    """The oracle makes a text of it: pictures are lost, and None becomes 'None'."""
    picture = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:,"}},
    ]
    manager = group(members("ab"), max_round=1)
    chat_with(manager, {"content": picture}, face=face)
    listener: Any = manager.groupchat.agents[1]
    (message,) = listener.chat_messages[manager]
    assert message["content"] == picture
    assert said(manager) == [("a", "look\n<image_url>")]


@pytest.mark.parametrize(
    ("lines", "settings", "order", "reason"),
    [
        ({}, {"max_round": 3}, "abc", "max_round reached (3)"),
        ({}, {"max_round": 1}, "a", "max_round reached (1)"),
        ({}, {"max_round": 0}, "", "max_round reached (0)"),
        ({"b": ["TERMINATE"]}, {}, "ab", "b sent a termination message"),
        ({"c": [None]}, {}, "ab", "c gave no reply"),
        ({}, {"speaker_selection_method": lambda last, chat: None}, "a", "no eligible speaker: "),
    ],
)
def test_every_end_has_its_reason(
    lines: dict[str, Any], settings: dict[str, Any], order: str, reason: str, face: str
) -> None:
    heard: list[Event] = []
    manager = group(members("abc", **lines), **settings)
    with bus.listening(heard.append):
        result = chat_with(manager, face=face)
    assert speakers(manager) == order
    assert result.stop_reason.startswith(reason)
    assert [event.reason for event in heard if isinstance(event, ChatEnded)] == [result.stop_reason]
    assert any(
        isinstance(event, Noted) and event.text.startswith(f"group chat over: {reason}")
        for event in heard
    )


def test_the_managers_own_idea_of_a_termination_message(face: str) -> None:
    manager = group(
        members("abc", c=["stop"]),
        {"is_termination_msg": lambda message: message["content"] == "stop"},
    )
    assert chat_with(manager, face=face).stop_reason == "c sent a termination message"


def test_a_person_among_the_members_ends_the_chat(face: str) -> None:
    person = ConversableAgent("u", human_input_mode="ALWAYS", llm_config=False)
    manager = group([*members("ab"), person])
    with IOStream.set_default(Console("hello", "exit")):
        result = chat_with(manager, face=face)
    assert said(manager)[2] == ("u", "hello")
    assert result.stop_reason == "the person behind u ended the chat"


def test_after_an_interruption_the_admin_speaks(face: str) -> None:
    admin = Member("Admin")
    manager = group([admin, *members("bc", b=[KeyboardInterrupt()])], max_round=3)
    chat_with(manager, face=face)
    assert [name for name, _ in said(manager)] == ["Admin", "Admin", "b"]


def test_without_an_admin_an_interruption_goes_on(face: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        chat_with(group(members("abc", b=[KeyboardInterrupt()])), face=face)


def test_an_error_of_a_member_goes_on(face: str) -> None:
    with pytest.raises(ZeroDivisionError):
        chat_with(group(members("abc", b=[ZeroDivisionError()])), face=face)


def test_introductions_come_first_and_the_chat_goes_on_with_the_first_message(face: str) -> None:
    a, b = agents = members("ab")
    manager = group(agents, max_round=2, send_introductions=True)
    chat_with(manager, face=face)
    welcome = manager.groupchat.introductions_msg()
    assert _heard(b, manager)[:2] == [("user", "chat_manager", welcome), ("user", "a", "go")]
    assert [text for _, _, text in _heard(a, manager)] == ["go", welcome, "b speaks"]
    assert speakers(manager) == "ab"


def test_a_new_chat_begins_empty_unless_told_otherwise(face: str) -> None:
    a, b = agents = members("ab")
    manager = group(agents, max_round=2)
    chat_with(manager, "one", face=face)
    chat_with(manager, "two", face=face)
    assert said(manager) == [("a", "two"), ("b", "b speaks")]
    assert len(manager.chat_messages[b]) == len(b.chat_messages[manager]) == 2
    chat_with(manager, "three", face=face, clear_history=False)
    assert speakers(manager) == "abab"
    assert len(a.chat_messages[manager]) == 4
    manager.reset()
    assert said(manager) == []


def test_turns_with_somebody_outside(face: str) -> None:
    outside = Member("u")
    manager = group(members("ab"), max_round=3)
    result = chat_with(manager, sender=outside, face=face, max_turns=2)
    assert speakers(manager) == "uabuab"
    assert [message["content"] for message in result.chat_history] == ["go", "u speaks"]


def test_a_group_within_a_group_replies_with_its_last_words(face: str) -> None:
    """In the oracle the outer chat ends without a word when the inner manager gets the floor."""
    inner = group(members("xy", y=["result", "TERMINATE"]), {"name": "inner"}, max_round=3)
    outer = group([*members("a"), inner, *members("b")], {"name": "outer"}, max_round=5)
    chat_with(outer, face=face)
    assert said(outer) == [
        ("a", "go"),
        ("inner", "result"),
        ("b", "b speaks"),
        ("a", "a speaks"),
        ("inner", "x speaks"),
    ]
    assert said(inner)[0] == ("outer", "go")
    assert speakers(inner) == "outerxy" * 2


def _first(last_speaker: Any, chat: GroupChat) -> Any:
    return chat.agents[0]


def test_an_inner_group_that_says_nothing_ends_the_outer_chat(face: str) -> None:
    """Also when it had something to say in its turn before."""
    inner = group(
        members("xy", x=["once", "TERMINATE", None]),
        {"name": "inner"},
        max_round=3,
        speaker_selection_method=_first,
    )
    outer = group([*members("a"), inner])
    assert chat_with(outer, face=face).stop_reason == "x gave no reply"


def test_the_members_use_the_managers_cache_meanwhile(face: str) -> None:
    seen: list[Any] = []
    a, b = agents = members("ab", b=[ZeroDivisionError()])
    b.register_reply([Agent, None], _looking(lambda agent: seen.append(agent.client_cache)))
    b.client_cache = own = object()
    cache = object()
    with pytest.raises(ZeroDivisionError):
        chat_with(group(agents), face=face, cache=cache)
    assert seen == [cache]
    assert b.client_cache is own
    assert a.client_cache is None


def test_what_is_printed(face: str) -> None:
    console = Console()
    with IOStream.set_default(console):
        chat_with(group(members("ab"), {"silent": False}, max_round=2), face=face)
        loud = list(console.printed)
        console.printed.clear()
        chat_with(group(members("ab"), max_round=2), face=face)
    assert loud[0] == "\nNext speaker: b\n"
    assert loud[1].startswith("b (to chat_manager):\n\nb speaks")
    assert console.printed == []


def test_without_members_nothing_begins(face: str) -> None:
    with pytest.raises(WrongArgument, match="has no agents"):
        chat_with(group([]), sender=Member("u"), face=face)


def test_a_member_with_an_async_reply_function_needs_an_async_chat(face: str) -> None:
    async def reply(recipient: Any, messages: Any, sender: Any, config: Any) -> tuple[bool, str]:
        await asyncio.sleep(0)
        return True, "later"

    agents = members("ab")
    agents[1].register_reply([Agent, None], reply)
    manager = group(agents, max_round=2)
    if face == "sync":
        with pytest.raises(AsyncReplyInSyncChat, match="b has async reply functions"):
            chat_with(manager)
    else:
        chat_with(manager, face=face)
        assert said(manager)[1] == ("b", "later")


def test_run_chat_itself(face: str) -> None:
    agents = members("ab")
    a = agents[0]
    manager = group(agents, max_round=2)
    other = GroupChat(agents, [], max_round=3, speaker_selection_method="round_robin")
    asked = [{"content": "hey", "role": "user", "name": "a"}]
    verdict = (
        manager.run_chat
        if face == "sync"
        else lambda *args, **kwargs: asyncio.run(manager.a_run_chat(*args, **kwargs))
    )
    assert verdict(asked, a, other) == (True, None)
    assert [message["name"] for message in other.messages] == ["a", "b", "a"]
    assert verdict(messages=asked, sender=a) == (True, None)
    assert speakers(manager) == "ab"
    assert verdict([], a) == (True, None)
    with pytest.raises(WrongArgument, match="needs the sender"):
        verdict(asked)


def test_overrides_of_members_are_honoured(face: str) -> None:
    class Loud(Member):
        def generate_reply(self, messages: Any = None, sender: Any = None, **kwargs: Any) -> Any:
            return "LOUD"

        async def a_generate_reply(
            self, messages: Any = None, sender: Any = None, **kwargs: Any
        ) -> Any:
            return "LOUD"

    manager = group([*members("a"), Loud("b")], max_round=2)
    chat_with(manager, face=face)
    assert said(manager)[1] == ("b", "LOUD")


def test_a_stop_ends_it_at_once(face: str) -> None:
    signal = StopSignal()
    agents = members("abc")
    agents[2].register_reply([Agent, None], _looking(lambda agent: signal.set()))
    manager = group(agents, max_round=1000)
    with stoppable(signal), pytest.raises(Stopped):
        chat_with(manager, face=face)
    assert speakers(manager) == "abc"


def test_ten_thousand_rounds(face: str) -> None:
    agents = members("abc")
    for agent in agents:
        agent.update_max_consecutive_auto_reply(20_000)
    depths: list[int] = []
    agents[1].register_reply(
        [Agent, None], _looking(lambda agent: depths.append(len(inspect.stack(0))))
    )
    manager = group(agents, max_round=300)
    chat_with(manager, face=face)
    assert len(set(depths)) == 1
    agents[1]._reply_func_list.pop(0)
    manager.groupchat.max_round = 10_000
    with processor_time(30):
        chat_with(manager, face=face)
    assert len(manager.groupchat.messages) == 10_000


def test_arguments_and_defaults_are_those_of_autogen(face: str) -> None:
    parameters = inspect.signature(GroupChatManager).parameters
    assert list(parameters) == [
        "groupchat",
        "name",
        "max_consecutive_auto_reply",
        "human_input_mode",
        "system_message",
        "silent",
        "kwargs",
    ]
    manager = GroupChatManager(GroupChat(members("ab"), []))
    assert (manager.name, manager.human_input_mode, manager.system_message) == (
        "chat_manager",
        "NEVER",
        "Group chat manager.",
    )
    assert manager.max_consecutive_auto_reply() == 2**63 - 1
    assert manager.last_speaker is None
    faces = {
        "sync": (manager.run_chat, manager.resume),
        "async": (manager.a_run_chat, manager.a_resume),
    }[face]
    assert [list(inspect.signature(each).parameters) for each in faces] == [
        ["messages", "sender", "config"],
        ["messages", "remove_termination_string", "silent"],
    ]


def test_another_agent_may_lead_a_group_by_the_managers_reply_function(face: str) -> None:
    a, b = cast.speaker("a", "one", "three"), cast.speaker("b", "two")
    chat = GroupChat([a, b], [], max_round=4, speaker_selection_method="round_robin")
    leader, asker = cast.agent("leader"), cast.agent("asker")
    for run in (GroupChatManager.run_chat, GroupChatManager.a_run_chat):
        leader.register_reply(
            Agent, run, config=chat, reset_config=GroupChat.reset, ignore_async_in_sync_chat=True
        )
    result = cast.call(face == "async", asker, "initiate_chat", leader, message="hi", silent=True)
    assert [message["content"] for message in chat.messages] == ["hi", "one", "two", "three"]
    assert result.stop_reason == "max_round reached (4)"
