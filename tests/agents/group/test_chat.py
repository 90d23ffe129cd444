"""GroupChat: its agents, its transcript, and the texts about them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentkit.agents.group import GroupChat
from agentkit.errors import AgentNameConflict, UndefinedNextAgent
from tests.agents.group.members import Member, group, members


def test_names_and_looking_up() -> None:
    a, b, twin = Member("a"), Member("b"), Member("a")
    chat = GroupChat([a, b, twin], [])
    assert chat.agent_names == ["a", "b", "a"]
    assert chat.agent_by_name("b") is b
    assert chat.agent_by_name("z") is None
    assert chat.agent_by_name("a") is a
    with pytest.raises(AgentNameConflict, match="2 agents of the group are called 'a'"):
        chat.agent_by_name("a", raise_on_name_conflict=True)


def test_groups_within_groups() -> None:
    inner = group(members("xy"), {"name": "inner"})
    chat = GroupChat([*members("a"), inner], [])
    inner.groupchat.agents.append(inner)  # even a group that contains its own manager
    assert [agent.name for agent in chat.nested_agents()] == ["a", "inner", "x", "y"]
    assert chat.agent_by_name("x") is None
    assert chat.agent_by_name("x", recursive=True) is inner.groupchat.agents[0]


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ({"content": "x", "role": "user"}, {"content": "x", "role": "user", "name": "a"}),
        (
            {"content": "x", "role": "user", "name": "q"},
            {"content": "x", "role": "user", "name": "a"},
        ),
        (
            {"content": "x", "role": "function", "name": "f"},
            {"content": "x", "role": "function", "name": "f"},
        ),
        (
            {"content": None, "tool_calls": [{"id": "1"}]},
            {"content": "", "tool_calls": [{"id": "1"}], "name": "a"},
        ),
        (
            {"content": [{"type": "text", "text": "p"}, {"type": "image_url"}]},
            {"content": "p\n<image_url>", "name": "a"},
        ),
    ],
)
def test_the_transcript_is_text_with_names(message: dict[str, Any], stored: dict[str, Any]) -> None:
    chat = GroupChat(members("ab"), [])
    before = dict(message)
    chat.append(message, chat.agents[0])
    assert chat.messages == [stored]
    assert message == before
    chat.reset()
    assert chat.messages == []


def test_who_comes_next() -> None:
    a, b, c = agents = members("abc")
    chat = GroupChat(agents, [])
    assert [chat.next_agent(each) for each in agents] == [b, c, a]
    assert [chat.next_agent(each, [c, a]) for each in agents] == [c, c, a]
    (outsider,) = members("z")
    assert chat.next_agent(outsider) is a
    assert chat.next_agent(outsider, [c, b]) is b
    for strangers in ([], [outsider]):
        with pytest.raises(UndefinedNextAgent):
            chat.next_agent(a, strangers)


def test_by_chance() -> None:
    chat = GroupChat(members("abc"), [])
    random.seed(0)
    assert {chat.random_select_speaker() for _ in range(50)} == set(chat.agents)
    assert chat.random_select_speaker([chat.agents[1]]) is chat.agents[1]
    with pytest.raises(UndefinedNextAgent):
        chat.random_select_speaker([])


def test_texts_about_the_agents() -> None:
    a, b = Member("a", description="adds"), Member("b", system_message="You {subtract}.")
    chat = GroupChat(
        [a, b],
        [],
        select_speaker_message_template="{roles} of {agentlist}",
        select_speaker_prompt_template="one of {agentlist}, not {{x}}",
    )
    assert chat.select_speaker_msg() == "a: adds\nb: You {subtract}. of ['a', 'b']"
    assert chat.select_speaker_msg([a]) == "a: adds of ['a']"
    assert chat.select_speaker_prompt([b]) == "one of ['b'], not {x}"
    assert (
        chat.introductions_msg()
        == f"{GroupChat.DEFAULT_INTRO_MSG}\n\na: adds\nb: You {{subtract}}."
    )
    chat.select_speaker_prompt_template = None
    assert chat.select_speaker_prompt() is None


def test_the_stock_templates_name_everybody() -> None:
    chat = GroupChat(members("ab"), [])
    for text in (chat.select_speaker_msg(), chat.select_speaker_prompt()):
        assert "['a', 'b']" in str(text)
