"""SocietyOfMindAgent: others see one agent, within which a group talks each message over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentkit import AssistantAgent, ConversableAgent, GroupChat, GroupChatManager, UserProxyAgent
from agentkit.agents.society_of_mind import SocietyOfMindAgent
from agentkit.errors import WrongType
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model

FACES = ["sync", "async"]


def config(*replies: str) -> tuple[dict[str, Any], ScriptedClient]:
    model = scripted_model(list(replies))
    assert isinstance(model.client, ScriptedClient)
    return {"config_list": [{"model": model}], "cache_seed": None}, model.client


def society(*replies: str, **settings: Any) -> tuple[SocietyOfMindAgent, ScriptedClient]:
    """Two members who speak in turn; the first message is the society's own."""
    llm_config, client = config(*replies)
    members: list[Any] = [
        AssistantAgent(name, llm_config=llm_config) for name in ("writer", "critic")
    ]
    chat = GroupChat(members, [], max_round=3, speaker_selection_method="round_robin")
    return SocietyOfMindAgent("society", GroupChatManager(chat), **settings), client


def talk(agent: ConversableAgent, *messages: str, face: str = "sync") -> list[str]:
    """What the agent replies to each message of one chat."""
    user = UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False)
    for number, message in enumerate(messages):
        given: dict[str, Any] = {
            "message": message,
            "max_turns": 1,
            "silent": True,
            "clear_history": not number,
        }
        if face == "sync":
            user.initiate_chat(agent, **given)
        else:
            asyncio.run(user.a_initiate_chat(agent, **given))
    return [str(each["content"]) for each in user.chat_messages[agent] if each["role"] == "user"]


@pytest.mark.parametrize("face", FACES)
def test_without_a_model_the_last_words_are_the_reply(face: str) -> None:
    agent, client = society("A draft.", "Better. TERMINATE")
    assert talk(agent, "Write.", face=face) == ["Better."]
    assert [m["content"] for m in client.requests[1]["messages"][1:]] == ["Write.", "A draft."]


@pytest.mark.parametrize("face", FACES)
def test_a_model_makes_the_reply_of_what_was_said(face: str) -> None:
    own, asked = config("The answer.")
    agent, _ = society(
        "A draft.", "Better.", llm_config=own, response_preparer="Say it in one sentence."
    )
    assert talk(agent, "Write.", face=face) == ["The answer."]
    (request,) = asked.requests
    said = [(m["role"], m.get("name"), m["content"]) for m in request["messages"]]
    assert said[1:-1] == [
        ("user", "society", "Write."),
        ("user", "writer", "A draft."),
        ("user", "critic", "Better."),
    ]
    assert said[-1] == ("system", None, "Say it in one sentence.")


@pytest.mark.parametrize("face", FACES)
def test_a_callable_makes_the_reply(face: str) -> None:
    def shout(agent: SocietyOfMindAgent, messages: list[Any]) -> str:
        return f"{agent.name}: {messages[-1]['content'].upper()} ({len(messages)})"

    agent, _ = society("one", "two", response_preparer=shout)
    assert talk(agent, "Write.", face=face) == ["society: TWO (3)"]


@pytest.mark.parametrize("face", FACES)
def test_each_message_is_talked_over_anew_by_members_who_know_what_was_said_outside(
    face: str,
) -> None:
    agent, client = society("a1", "a2", "b1", "b2")
    assert talk(agent, "First?", "Second?", face=face) == ["a2", "b2"]
    said = [m["content"] for m in client.requests[2]["messages"][1:]]
    assert said == ["First?", "a2", "Second?"], "of the talk before only its result"
    assert [m["content"] for m in agent.chat_manager.groupchat.messages] == ["Second?", "b1", "b2"]  # type: ignore[union-attr]


def test_what_fails_within_is_raised() -> None:
    def fails(_: Any, __: Any) -> str:
        raise ZeroDivisionError

    agent, _ = society("one", "two", response_preparer=fails)
    with pytest.raises(ZeroDivisionError):
        talk(agent, "Write.")


def test_without_a_group_it_replies_by_default() -> None:
    agent, _ = society(default_auto_reply="nobody is there")
    agent.update_chat_manager(None)
    assert agent.chat_manager is None
    assert talk(agent, "Write.") == ["nobody is there"]


def test_a_manager_that_is_none_is_refused() -> None:
    with pytest.raises(WrongType, match="society: chat_manager must be a GroupChatManager"):
        SocietyOfMindAgent("society", "manager")  # type: ignore[arg-type]
