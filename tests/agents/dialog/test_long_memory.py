"""Dialog agents below a limit: called, in chats and groups, with tools, by compression and by
message transforms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agentkit import (
    Agent,
    Compression,
    DialogAgent,
    DictDialogAgent,
    GroupChat,
    GroupChatManager,
    MarkdownJsonDictParser,
    Msg,
    msghub,
    register_function,
)
from agentkit.agentscope import AgentBase
from agentkit.conversation.compression import SlidingWindow
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.model_summary import INSTRUCTION
from agentkit.conversation.transforms import (
    MessageHistoryLimiter,
    MessageTokenLimiter,
    MessageTransform,
    TransformMessages,
)
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import ScriptedClient
from agentkit.llm.model import Model
from tests.agents.dialog.cast import asked_last, discussion, hearing, says, thinker, turn
from tests.conversation.cast import agent as plain

LONG = "The invoice of March names Berlin and 1,200 euros. Anna signed it. " * 3
LIMIT, TURNS = 800, 20
FIRST = f"The first question. {LONG}"


class Mind:
    """A model: it summarises when it is asked to, calls a tool before each answer if it has one,
    and thinks secretly.
    """

    def __init__(self, name: str, *, is_plain: bool = False) -> None:
        self.name = name
        self.is_plain = is_plain
        self.summaries: list[str] = []
        """What it was given to summarise."""
        self.asked: list[Mapping[str, Any]] = []
        """The other requests."""

    def __call__(self, request: Mapping[str, Any]) -> Any:
        """A summary, a call, or an answer."""
        messages = request["messages"]
        if messages[0]["content"].startswith(INSTRUCTION[:30]):
            self.summaries.append(messages[1]["content"])
            return f"Summary {len(self.summaries)} with the secret of {self.name}."
        self.asked.append(request)
        number = len(self.asked)
        if request.get("tools") and not any(message["role"] == "tool" for message in messages[-2:]):
            call = {"name": "look", "arguments": '{"place": "Berlin"}'}
            return {
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            }
        return (
            f"Words {number}: {LONG}"
            if self.is_plain
            else turn(f"secret {number} of {self.name}", f"Words {number}: {LONG}")
        )

    @property
    def sizes(self) -> list[int]:
        """Tokens of its requests."""
        meter = Meter("scripted")
        return [
            meter.count_fixed(request["messages"], {"tools": request.get("tools") or []})
            for request in self.asked
        ]


def look(place: str) -> str:
    """What is known of a place."""
    return f"{place}: {LONG}"


def member(
    name: str = "Ann", *, by: str = "compression", broadcast: bool = False
) -> tuple[DictDialogAgent, Mind]:
    """An agent whose history is kept short in this way."""
    mind = Mind(name)
    agent, _ = thinker(name, mind, max_consecutive_auto_reply=100)
    if by == "compression":
        Compression(trigger=LIMIT, broadcast=broadcast).add_to_agent(agent)
    elif by != "nothing":
        transforms: dict[str, MessageTransform] = {
            "a transform": Compression(SlidingWindow(), trigger=LIMIT - 200, model="scripted"),
            "a limiter": MessageTokenLimiter(max_tokens=LIMIT - 200),
        }
        TransformMessages(transforms=[transforms[by]], verbose=False).add_to_agent(agent)
    return agent, mind


def memory_of(agent: AgentBase) -> list[str]:
    assert agent.memory is not None
    return [message.content for message in agent.memory.get_memory()]


def in_calls(agent: AgentBase, tools: bool, is_async: bool) -> None:
    if tools:
        register_function(look, caller=agent, executor=agent, description="Look.")
    for number in range(TURNS):
        heard = Msg("user", FIRST if number == 0 else f"Question {number}: {LONG}", "user")
        asyncio.run(agent.a_call(heard)) if is_async else agent(heard)


def in_a_chat(agent: AgentBase, tools: bool, is_async: bool) -> None:
    user = plain("user", default_auto_reply=f"And then? {LONG}", max_consecutive_auto_reply=TURNS)
    if tools:
        register_function(look, caller=agent, executor=user, description="Look.")
    if is_async:
        asyncio.run(user.a_initiate_chat(agent, message=FIRST))
    else:
        user.initiate_chat(agent, message=FIRST)


def in_a_group(agent: AgentBase, tools: bool, is_async: bool) -> None:
    user = plain("user", default_auto_reply=f"And then? {LONG}", max_consecutive_auto_reply=TURNS)
    if tools:
        register_function(look, caller=agent, executor=user, description="Look.")
    group = GroupChat(
        [user, agent], [], max_round=2 * TURNS, speaker_selection_method="round_robin"
    )
    if is_async:
        asyncio.run(user.a_initiate_chat(GroupChatManager(group), message=FIRST))
    else:
        user.initiate_chat(GroupChatManager(group), message=FIRST)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("place", [in_calls, in_a_chat, in_a_group], ids=["calls", "chat", "group"])
@pytest.mark.parametrize("by", ["compression", "a transform", "a limiter"])
def test_no_request_exceeds_the_limit_and_the_role_and_the_form_survive(
    by: str, place: Any, tools: bool, is_async: bool
) -> None:
    agent, mind = member(by=by)
    with hearing() as events:
        place(agent, tools, is_async)
    assert len(mind.asked) >= TURNS
    assert max(mind.sizes) <= LIMIT
    for request in mind.asked:
        first, last = request["messages"][0], request["messages"][-1]
        assert first == {"role": "system", "content": "You are Ann."}
        assert last["content"].endswith(discussion().format_instruction)
        if by != "a limiter":
            assert "The first question." in request["messages"][1]["content"]
    told = [event for event in events if isinstance(event, Compressed)]
    assert all(event.ok for event in told)
    assert bool(told) == (by != "a limiter")


def test_without_it_the_requests_of_these_tests_exceed_the_limit() -> None:
    agent, mind = member(by="nothing")
    with hearing():
        in_calls(agent, tools=False, is_async=False)
    assert max(mind.sizes) > 2 * LIMIT


@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("place", [in_calls, in_a_chat], ids=["calls", "chat"])
def test_a_summary_is_kept_and_gone_on_with(place: Any, tools: bool, remembers: bool) -> None:
    agent, mind = member()
    if not remembers:
        hint = {"thought": "what you think", "speak": "what you say"}
        agent.set_parser(
            MarkdownJsonDictParser(content_hint=hint, keys_to_content="speak", keys_to_memory=False)
        )
    with hearing():
        place(agent, tools, is_async=False)
    assert 1 + remembers <= len(mind.summaries) < 0.7 * TURNS
    for number, given in enumerate(mind.summaries[1:], start=1):
        assert f"Summary {number} with the secret of Ann." in given
        assert "The first question." not in given


def test_in_a_hub_what_the_others_say_counts_too() -> None:
    (ann, mind), (bob, other) = member("Ann"), member("Bob")
    with hearing(), msghub([ann, bob], Msg("Host", FIRST, "assistant")):
        for _ in range(TURNS):
            ann()
            bob()
    for each in (mind, other):
        assert max(each.sizes) <= LIMIT
        assert all(
            f"Summary {number} " in given
            for number, given in enumerate(each.summaries[1:], start=1)
        )
    assert "of Ann" not in str([memory_of(bob), other.asked, other.summaries])
    assert "of Bob" not in str([memory_of(ann), mind.asked, mind.summaries])


@pytest.mark.parametrize("by", ["compression", "a transform", "a limiter"])
def test_what_is_remembered_beside_a_chat_is_shortened_with_it(by: str) -> None:
    agent, mind = member(by=by)
    agent.observe(
        [
            Msg("Host", FIRST, "assistant"),
            *(Msg("Host", f"Rule {number}: {LONG}", "assistant") for number in range(20)),
        ]
    )
    before = memory_of(agent)
    with hearing():
        in_a_chat(agent, tools=False, is_async=False)
    assert max(mind.sizes) <= LIMIT
    assert memory_of(agent) == before
    if by != "a limiter":
        assert all(
            "Host: The first question." in request["messages"][1]["content"]
            for request in mind.asked
        )


# Thoughts stay with the agent


@pytest.mark.parametrize("broadcast", [False, True])
def test_nobody_hears_the_thoughts_in_a_summary(broadcast: bool) -> None:
    agent, mind = member(broadcast=broadcast)
    user = plain("user", default_auto_reply=f"And then? {LONG}", max_consecutive_auto_reply=TURNS)
    with hearing():
        result = user.initiate_chat(
            agent,
            message=FIRST,
            summary_method="reflection_with_llm",
            summary_args={"summary_role": "user"},
        )
    assert any("secret" in str(request["messages"]) for request in mind.asked[:-1])
    assert "secret" not in str(
        [
            user.chat_messages,
            result.chat_history,
            agent.chat_messages_for_summary(user),
            mind.asked[-1],
        ]
    )
    assert len(agent.chat_messages[user]) == 2 * TURNS + 2
    assert "secret 1" in agent.chat_messages[user][1]["content"]


def test_in_a_group_nobody_gets_a_summary_with_thoughts() -> None:
    members = [member(name, broadcast=True) for name in ("Ann", "Bob")]
    listener = plain(
        "listener", default_auto_reply=f"I see. {LONG}", max_consecutive_auto_reply=100
    )
    agents: list[Agent] = [listener, *(agent for agent, _ in members)]
    group = GroupChat(agents, [], max_round=2 * TURNS, speaker_selection_method="round_robin")
    manager = GroupChatManager(group)
    with hearing():
        listener.initiate_chat(manager, message=FIRST)
    assert all(mind.summaries and max(mind.sizes) <= LIMIT for _, mind in members)
    assert "secret" not in str([group.messages, manager.chat_messages, listener.chat_messages])
    assert "of Ann" not in str([members[1][1].asked, members[1][1].summaries])


def test_an_agent_without_thoughts_has_a_shorter_history_and_shares_it() -> None:
    mind = Mind("Ann", is_plain=True)
    agent = DialogAgent(
        "Ann", "You are Ann.", llm_config=says(mind)[0], max_consecutive_auto_reply=100
    )
    Compression(trigger=LIMIT, broadcast=True).add_to_agent(agent)
    user = plain("user", default_auto_reply=f"And then? {LONG}", max_consecutive_auto_reply=TURNS)
    with hearing():
        user.initiate_chat(agent, message=FIRST)
    assert max(mind.sizes) <= LIMIT
    assert len(agent.chat_messages[user]) == len(user.chat_messages[agent]) < TURNS
    assert "Summary" in user.chat_messages[agent][1]["content"]


def test_a_message_with_thoughts_equals_none_that_others_may_know() -> None:
    agent, _ = thinker("Ann", [turn("secret", "hello")])
    user = plain("user")
    with hearing():
        user.initiate_chat(agent, message="Hi.", max_turns=1)
    stored = agent.chat_messages[user][-1]
    assert stored == stored.__reduce__()[0](*stored.__reduce__()[1])  # type: ignore[operator]
    assert stored != dict(stored)
    assert dict(stored) != stored


# What the model reads


def test_the_instruction_counts_also_after_a_change_of_the_parser() -> None:
    agent, mind = member()
    with hearing():
        in_calls(agent, tools=False, is_async=False)
        hint = {"thought": "what you think", "speak": LONG * 4}
        agent.set_parser(MarkdownJsonDictParser(content_hint=hint, keys_to_content="speak"))
        in_calls(agent, tools=False, is_async=False)
    assert max(mind.sizes) <= LIMIT
    assert LONG * 4 in mind.asked[-1]["messages"][-1]["content"]
    assert agent.system_message == agent.sys_prompt == "You are Ann."


def test_a_second_try_fits_into_a_small_window() -> None:
    replies = ["prose " * 5_000, turn("t", "fine")]
    client = ScriptedClient(replies)
    model = Model("small", "Small", client, "scripted", "small", context_window=2_000)
    agent = DictDialogAgent(
        "Ann", "You are Ann.", llm_config={"config_list": [{"model": model}], "cache_seed": None}
    )
    agent.set_parser(discussion())
    with hearing():
        assert agent(Msg("user", "Hi.", "user")).content == "fine"
    shown = client.requests[-1]["messages"][-2]["content"]
    assert shown.startswith("prose prose")
    assert 2_000 < len(shown) < 2_050


@pytest.mark.parametrize("is_async", [False, True])
def test_later_calls_know_what_the_tools_gave(is_async: bool) -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "look", "arguments": '{"place": "Bonn"}'},
    }
    config, client = says(
        [{"content": None, "tool_calls": [call]}, "It is small.", "As I said.", "Who?"]
    )
    agent = DialogAgent("Ann", "You are Ann.", llm_config=config)
    register_function(look, caller=agent, executor=agent, description="Look.")

    def ask(text: str) -> None:
        asyncio.run(agent.a_call(Msg("user", text, "user"))) if is_async else agent(
            Msg("user", text, "user")
        )

    with hearing():
        ask("What is Bonn like?")
        ask("How large?")
    sent = client.requests[-1]["messages"]
    assert [message["role"] for message in sent] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert sent[3]["content"] == look("Bonn")
    assert memory_of(agent) == ["What is Bonn like?", "It is small.", "How large?", "As I said."]
    assert agent.memory is not None
    agent.memory.clear()
    with hearing():
        ask("Do you know me?")
    assert asked_last(client) == [("system", "You are Ann."), ("user", "Do you know me?")]


def test_transforms_see_single_messages_and_the_model_one_of_several_in_a_row() -> None:
    config, client = says(["one", "two"])
    agent = DialogAgent("Ann", "You are Ann.", llm_config=config)
    agent.observe([Msg("Bob", text, "assistant") for text in ("a", "b", "c")])
    with hearing():
        agent()
        TransformMessages(
            transforms=[MessageHistoryLimiter(max_messages=2)], verbose=False
        ).add_to_agent(agent)
        agent([Msg("Bob", text, "assistant") for text in ("d", "e", "f")])
    assert client.requests[0]["messages"][1]["content"] == "Bob: a\n\nBob: b\n\nBob: c"
    assert asked_last(client) == [("system", "You are Ann."), ("user", "Bob: e\n\nBob: f")]


def test_messages_of_a_chat_stay_apart_behind_what_is_remembered() -> None:
    config, client = says(["hm", "well"])
    agent, user = DialogAgent("Ann", "You are Ann.", llm_config=config), plain("user")
    agent.observe([Msg("Host", "Be kind.", "assistant"), Msg("Host", "Be brief.", "assistant")])
    with hearing():
        user.send("Hello.", agent)
        user.send("Are you there?", agent, request_reply=True)
    assert asked_last(client) == [
        ("system", "You are Ann."),
        ("user", "Host: Be kind.\n\nHost: Be brief."),
        ("user", "Hello."),
        ("user", "Are you there?"),
    ]
