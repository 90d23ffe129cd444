"""Over a real local HTTP server: the API holds the model to the form where it can, and words do
where it cannot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from agentkit import (
    DictDialogAgent,
    MarkdownJsonDictParser,
    Msg,
    ParserBase,
    RegexTaggedContentParser,
    register_function,
)
from agentkit.agentscope import ModelResponse
from agentkit.events import Noted
from tests.agents.dialog.cast import fenced, hearing
from tests.servers.openai_server import Answer, OpenAIServer


class Vote(BaseModel):
    """What a player says at a vote."""

    thought: str
    vote: str
    sure: bool = False


def agent_at(
    server: OpenAIServer, parser: ParserBase, model: str = "test-model"
) -> DictDialogAgent:
    config = {
        "config_list": [{"model": model, "base_url": server.base_url, "api_key": "key"}],
        "cache_seed": None,
        "max_retries": 0,
    }
    made = DictDialogAgent("Ann", "You vote.", llm_config=config)
    made.set_parser(parser)
    return made


def voting() -> MarkdownJsonDictParser:
    return MarkdownJsonDictParser(
        Vote, keys_to_memory=True, keys_to_content="vote", keys_to_metadata=["sure"]
    )


def vote(agent: DictDialogAgent) -> Msg:
    with hearing():
        said: Msg = agent(Msg("user", "Vote.", "user"))
    return said


def refusing(*words: str) -> Callable[[dict[str, Any]], Answer]:
    """A server that does not know these parameters."""

    def answer(body: dict[str, Any]) -> Answer:
        for word in words:
            if word in body:
                return Answer(
                    status=400, error={"message": f"Unrecognized request argument supplied: {word}"}
                )
        if body.get("tool_choice"):
            call = {
                "id": "1",
                "type": "function",
                "function": {"name": "answer", "arguments": '{"thought": "t", "vote": "Bob"}'},
            }
            return Answer(tool_calls=[call])
        return Answer(fenced('{"thought": "t", "vote": "Bob"}'))

    return answer


def test_the_schema_goes_to_the_api() -> None:
    with OpenAIServer(refusing()) as server:
        said = vote(agent_at(server, voting()))
        [asked] = server.chats
    assert (said.content, said.metadata) == ("Bob", {"sure": False})
    wanted = asked["response_format"]
    assert wanted["type"] == "json_schema"
    assert set(wanted["json_schema"]["schema"]["properties"]) == {"thought", "vote", "sure"}
    assert "vote" in asked["messages"][-1]["content"], "the instruction is there in any case"


def test_a_dict_of_hints_asks_for_some_json_object() -> None:
    with OpenAIServer(lambda body: Answer('{"vote": "Bob"}')) as server:
        said = vote(
            agent_at(server, MarkdownJsonDictParser({"vote": "a name"}, keys_to_content="vote"))
        )
        [asked] = server.chats
    assert (said.content, asked["response_format"]) == ("Bob", {"type": "json_object"})


def test_tags_are_only_told_in_words() -> None:
    with OpenAIServer(lambda body: Answer("<vote>Bob</vote>")) as server:
        said = vote(
            agent_at(
                server,
                RegexTaggedContentParser(
                    format_instruction="Reply with <vote>a name</vote>", keys_to_content="vote"
                ),
            )
        )
        [asked] = server.chats
    assert said.content == "Bob"
    assert not {"response_format", "tools"} & set(asked)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_that_knows_no_schema_is_asked_by_a_forced_tool(is_async: bool) -> None:
    with OpenAIServer(refusing("response_format")) as server, hearing() as heard:
        for _ in range(2):
            agent = agent_at(server, voting())
            said = (
                asyncio.run(agent.a_call(Msg("user", "Vote.", "user")))
                if is_async
                else agent(Msg("user", "Vote.", "user"))
            )
            assert said.content == "Bob"
        first, second, third = server.chats
    assert "response_format" in first
    assert (
        second["tool_choice"]["function"]["name"]
        == third["tool_choice"]["function"]["name"]
        == "answer"
    )
    assert (
        len(
            [
                event
                for event in heard
                if isinstance(event, Noted) and "takes no response_format" in event.text
            ]
        )
        == 1
    )


def test_a_server_that_knows_neither_is_told_in_words() -> None:
    with OpenAIServer(refusing("response_format", "tools")) as server:
        assert vote(agent_at(server, voting())).content == "Bob"
        assert len(server.chats) == 3
        assert vote(agent_at(server, voting())).content == "Bob"
        assert not {"response_format", "tools"} & set(server.chats[-1])
        assert len(server.chats) == 4


def test_tools_of_its_own_are_not_replaced() -> None:
    with OpenAIServer(refusing("response_format")) as server:
        agent = agent_at(server, voting())
        register_function(
            lambda: "now", caller=agent, executor=agent, name="clock", description="The time."
        )
        assert vote(agent).content == "Bob"
        assert [tool["function"]["name"] for tool in server.chats[-1]["tools"]] == ["clock"]
        assert "tool_choice" not in server.chats[-1]


def test_another_error_is_no_refusal() -> None:
    with OpenAIServer(
        lambda body: Answer(status=400, error={"message": "the model is asleep"})
    ) as server:
        with pytest.raises(Exception, match="the model is asleep"):
            vote(agent_at(server, voting()))
        assert len(server.chats) == 1


def test_replies_that_do_not_fit_are_asked_for_again_over_http() -> None:
    replies = iter(
        ["I vote for Bob!", '{"vote": 7}', '{"thought": "t", "vote": "Bob", "sure": "true"}']
    )
    with OpenAIServer(lambda body: Answer(next(replies))) as server:
        said = vote(agent_at(server, voting()))
        asked = server.chats
    assert (said.content, said.metadata) == ("Bob", {"sure": True})
    assert "thought" in asked[2]["messages"][-1]["content"]
    assert [len(body["messages"]) for body in asked] == [2, 4, 4]


def test_a_handler_of_faults_sees_what_the_server_said() -> None:
    seen: list[str | None] = []

    def handle(response: ModelResponse) -> dict[str, Any]:
        seen.append(response.text)
        return {"vote": "nobody"}

    with OpenAIServer(lambda body: Answer("no")) as server:
        agent = agent_at(server, voting())
        agent.max_retries, agent.fault_handler = 0, handle
        assert vote(agent).content == "nobody"
    assert seen == ["no"]
