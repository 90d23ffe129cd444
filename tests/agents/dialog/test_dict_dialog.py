"""DictDialogAgent: thinking, saying, remembering and signalling apart; retries; tools; chats and
groups.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentkit import (
    ConversableAgent,
    DictDialogAgent,
    GroupChat,
    GroupChatManager,
    JsonParsingError,
    MarkdownJsonDictParser,
    MarkdownJsonObjectParser,
    Msg,
    ResponseParsingError,
    register_function,
)
from agentkit.agentscope import ModelResponse
from agentkit.errors import NoModelConfig, WrongArgument, WrongType
from agentkit.events import MessageSent, Noted, ReplyParsed
from tests.agents.dialog.cast import asked_last, discussion, fenced, hearing, says, thinker, turn


@pytest.mark.parametrize("is_async", [False, True])
def test_the_loop_of_the_design_note(is_async: bool) -> None:
    agent, client = thinker(
        "assistant",
        [
            turn("hm", "hello"),
            turn("enough", "bye", end=True),
            fenced('{"thought": "t", "vote": "player1"}'),
        ],
    )
    x: Msg = Msg("user", "Discuss.", "user")
    said = []
    while True:
        x = asyncio.run(agent.a_call(x)) if is_async else agent(x)
        said.append(x.content)
        if x.metadata["end_discussion"]:
            break
    assert said == ["hello", "bye"]
    agent.set_parser(
        MarkdownJsonDictParser(
            content_hint={"thought": "xxx", "vote": "player1 or player2"},
            keys_to_memory=["thought", "vote"],
            keys_to_content="vote",
        )
    )
    vote = agent(Msg("user", "Vote.", "user"))
    assert (vote.content, vote.metadata, vote.name, vote.role) == (
        "player1",
        None,
        "assistant",
        "assistant",
    )
    assert [message.content for message in agent.memory.get_memory()] == [  # type: ignore[union-attr]
        "Discuss.",
        '{"speak": "hello", "thought": "hm"}',
        '{"speak": "bye", "thought": "enough"}',
        "Vote.",
        '{"thought": "t", "vote": "player1"}',
    ]
    assert "player1 or player2" in asked_last(client)[-1][1]
    assert "end_discussion" not in asked_last(client)[-1][1]


def test_the_model_knows_its_role_its_thoughts_and_the_form() -> None:
    agent, client = thinker("Ann", [turn("secret", "hi"), turn("x", "y")])
    agent(Msg("Bob", "Hello Ann.", "assistant"))
    agent(Msg("user", "Go on.", "user"))
    assert asked_last(client)[0] == ("system", "You are Ann.")
    assert asked_last(client)[1] == ("user", "Bob: Hello Ann.")
    assert asked_last(client)[2] == ("assistant", '{"speak": "hi", "thought": "secret"}')
    role, text = asked_last(client)[3]
    assert role == "user"
    assert text.startswith("Go on.")
    assert discussion().format_instruction in text


def test_each_try_is_an_event_and_the_model_is_told_what_was_wrong() -> None:
    agent, client = thinker(
        "Ann", ["I would rather talk.", fenced('{"thought": "t"}'), turn("t", "fine")]
    )
    with hearing() as heard:
        assert agent(Msg("user", "Speak.", "user")).content == "fine"
    tries = [event for event in heard if isinstance(event, ReplyParsed)]
    assert [(one.attempt, one.ok) for one in tries] == [(1, False), (2, False), (3, True)]
    assert "speak" in tries[1].error
    assert "end_discussion" in tries[1].error
    assert tries[2].fields == {"thought": "t", "speak": "fine", "end_discussion": False}
    assert (tries[2].content, tries[2].parser) == ("fine", "MarkdownJsonDictParser")
    last = asked_last(client)
    assert [role for role, _ in last] == ["system", "user", "assistant", "user"]
    assert last[2][1] == fenced('{"thought": "t"}')
    assert tries[1].error in last[3][1]
    assert discussion().format_instruction in last[3][1]
    assert len(client.requests) == 3
    assert [message.content for message in agent.memory.get_memory()] == [  # type: ignore[union-attr]
        "Speak.",
        '{"speak": "fine", "thought": "t"}',
    ]


def test_after_the_last_try_the_error_has_the_whole_reply() -> None:
    agent, client = thinker("Ann", lambda request: "No JSON today.", max_retries=1)
    with pytest.raises(
        ResponseParsingError, match="Ann: the model's reply could not be read after 2 tries"
    ) as raised:
        agent(Msg("user", "Speak.", "user"))
    assert raised.value.raw_response == "No JSON today."
    assert len(client.requests) == 2
    assert agent.memory.size() == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("max_retries", [0, None])
def test_no_retries(max_retries: int | None) -> None:
    agent, client = thinker("Ann", ["prose"], max_retries=max_retries)
    with pytest.raises(ResponseParsingError, match="after 1 try"):
        agent()
    assert len(client.requests) == 1


def test_the_fault_handler_decides_what_counts() -> None:
    def shrug(response: ModelResponse) -> dict[str, Any]:
        return {"speak": f"(nothing: {response.text})", "thought": ""}

    agent, _ = thinker("Ann", lambda request: "prose", max_retries=0, fault_handler=shrug)
    with hearing() as heard:
        said = agent(Msg("user", "Speak.", "user"))
    assert (said.content, said.metadata) == ("(nothing: prose)", {})
    assert [event.text for event in heard if isinstance(event, Noted)] == [
        "no reply could be read after 1 try"
    ]


def test_a_fault_handler_may_give_a_response() -> None:
    agent, _ = thinker(
        "Ann",
        ["prose"],
        max_retries=0,
        fault_handler=lambda response: ModelResponse(parsed={"speak": "hm"}),
    )
    assert agent().content == "hm"


def test_what_others_are_told_has_no_thoughts() -> None:
    agent, _ = thinker("Ann", [turn("secret", "hello")])
    with hearing() as heard:
        agent(Msg("user", "Speak.", "user"))
    [said] = [event for event in heard if isinstance(event, MessageSent)]
    assert (said.sender, said.recipient, said.content, said.extra["inner"]) == (
        "Ann",
        "everyone",
        "hello",
        True,
    )
    assert said.extra["metadata"] == {"end_discussion": False}
    assert "secret" not in str(said)


@pytest.mark.parametrize("is_async", [False, True])
def test_in_a_chat_of_two(is_async: bool) -> None:
    ann, ann_heard = thinker("Ann", [turn("a1", "one"), turn("a2", "two")])
    bob, bob_heard = thinker("Bob", [turn("b1", "uno"), turn("b2", "dos", end=True)])
    with hearing():
        if is_async:
            asyncio.run(ann.a_initiate_chat(bob, message="Begin.", max_turns=2))
        else:
            ann.initiate_chat(bob, message="Begin.", max_turns=2)
    assert [message["content"] for message in bob.chat_messages[ann]] == [
        "Begin.",
        '{"speak": "uno", "thought": "b1"}',
        "one",
        '{"speak": "dos", "thought": "b2"}',
    ]
    assert [message["content"] for message in ann.chat_messages[bob]] == [
        "Begin.",
        "uno",
        '{"speak": "one", "thought": "a1"}',
        "dos",
    ]
    assert ann.last_message(bob)["metadata"] == {"end_discussion": True}  # type: ignore[index]
    assert "a1" not in str(bob_heard.requests)
    assert "b1" not in str(ann_heard.requests)
    assert all(
        "metadata" not in message
        for request in ann_heard.requests
        for message in request["messages"]
    )


def test_in_a_group_chat_metadata_reaches_the_program() -> None:
    ann, _ = thinker("Ann", [turn("a1", "I say one")])
    bob, heard = thinker("Bob", [turn("b1", "I say two", end=True)])
    user = ConversableAgent("user", human_input_mode="NEVER")
    group = GroupChat([user, ann, bob], [], max_round=3, speaker_selection_method="round_robin")
    with hearing():
        user.initiate_chat(GroupChatManager(group), message="Discuss.")
    assert [message["content"] for message in group.messages] == [
        "Discuss.",
        "I say one",
        "I say two",
    ]
    assert group.messages[-1]["metadata"] == {"end_discussion": True}
    assert "a1" not in str(heard.requests)


def test_what_was_observed_is_known_in_chats() -> None:
    ann, client = thinker("Ann", [turn("t", "so it is")])
    ann.observe(Msg("Host", "It rains.", "assistant"))
    bob = ConversableAgent("Bob", human_input_mode="NEVER")
    with hearing():
        bob.initiate_chat(ann, message="How is the weather?", max_turns=1)
    assert ("user", "Host: It rains.") in asked_last(client)


@pytest.mark.parametrize("is_async", [False, True])
def test_it_calls_tools_before_it_replies(is_async: bool) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "double", "arguments": '{"n": 21}'}}
    ann, client = thinker("Ann", [{"content": None, "tool_calls": [call]}, turn("t", "It is 42.")])

    def double(n: int) -> int:
        return 2 * n

    register_function(double, caller=ann, executor=ann, description="Twice the number.")
    with hearing():
        said = (
            asyncio.run(ann.a_call(Msg("user", "Twice 21?", "user")))
            if is_async
            else ann(Msg("user", "Twice 21?", "user"))
        )
    assert said.content == "It is 42."
    assert [role for role, _ in asked_last(client)] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert asked_last(client)[3][1] == "42"


def test_other_parsers_say_what_they_parsed() -> None:
    config, _ = says([fenced("[1, 2]")])
    agent = DictDialogAgent("Ann", "", llm_config=config)
    agent.set_parser(MarkdownJsonObjectParser())
    assert agent(Msg("user", "Numbers.", "user")).content == "[1, 2]"


def test_nothing_to_say_or_to_remember() -> None:
    agent, _ = thinker("Ann", [fenced('{"vote": "Bob"}')])
    agent.set_parser(
        MarkdownJsonDictParser(keys_to_memory=False, keys_to_content=False, keys_to_metadata=True)
    )
    vote = agent(Msg("user", "Vote.", "user"))
    assert (vote.content, vote.metadata) == ("", {"vote": "Bob"})
    assert agent.memory.size() == 1  # type: ignore[union-attr]


def test_wrong_use_is_told() -> None:
    config, _ = says(["x"])
    agent = DictDialogAgent("Ann", "You are Ann.", llm_config=config)
    with pytest.raises(WrongArgument, match="Ann has no parser"):
        agent(Msg("user", "Hi.", "user"))
    with pytest.raises(WrongType, match="a parser must be a ParserBase"):
        agent.set_parser("json")  # type: ignore[arg-type]
    with pytest.raises(NoModelConfig, match="Bob has no model"):
        DictDialogAgent("Bob", "You are Bob.")
    with pytest.raises(WrongArgument, match="max_retries is -1"):
        DictDialogAgent("Bob", "You are Bob.", llm_config=config, max_retries=-1)
    with pytest.raises(WrongArgument, match="must be a Msg"):
        agent("hello")


def test_the_second_argument_alone_is_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    agent = DictDialogAgent("assistant", "gpt-4")
    assert agent.llm_config["config_list"] == [{"model": "gpt-4"}]  # type: ignore[index]
    assert agent.sys_prompt == ""
    assert (agent.max_retries, agent.parser) == (3, None)


def test_the_error_of_a_parser_keeps_its_kind() -> None:
    agent, _ = thinker("Ann", ["nothing here"], max_retries=0)
    with pytest.raises(JsonParsingError):
        agent()
