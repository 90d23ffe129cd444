"""What some models want back of what they sent with a call, and others refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from agentkit.agents import AssistantAgent, UserProxyAgent
from agentkit.llm.calls import returned
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.model import Model
from agentkit.messages import Message, message
from tests.servers.openai_server import Answer, OpenAIServer

THOUGHT = "I should look it up."
SIGNED = {"google": {"thought_signature": "c2lnbmVk"}}
Body = dict[str, Any]


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    returned._learned.clear()
    yield
    returned._learned.clear()


def made_call(given: str = "c1", name: str = "look", arguments: str = "{}", **rest: Any) -> Body:
    function = {"name": name, "arguments": arguments}
    return {"id": given, "type": "function", "function": function, **rest}


def streamed(*deltas: Body, finish: str = "tool_calls") -> Answer:
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    lines = [f"data: {json.dumps({'model': 'm', **chunk})}\n\n" for chunk in chunks]
    return Answer(body="".join(lines) + "data: [DONE]\n\n")


def with_model(server: OpenAIServer, name: str) -> Model:
    return Model("x/m", "M", OpenAIClient(server.base_url), name, server.base_url)


def talk(server: OpenAIServer, name: str) -> str:
    """What an agent of this model says in the end, after it has called a function twice."""
    entry = {"model": name, "base_url": server.base_url, "api_key": "none"}
    config = {"config_list": [entry], "cache_seed": None, "stream": True}
    agent = AssistantAgent("Sage", llm_config=config)
    user = UserProxyAgent(
        "User", human_input_mode="NEVER", code_execution_config=False, max_consecutive_auto_reply=2
    )
    agent.register_for_llm(description="Looks.")(look)
    user.register_for_execution()(look)
    return str(user.initiate_chat(agent, message="Well?").summary)


def look() -> str:
    return "seen"


def callers(body: Body) -> list[Body]:
    return [each for each in body["messages"] if each.get("tool_calls")]


def refuse_as_moonshot(body: Body) -> Answer | None:
    for number, each in enumerate(body["messages"]):
        if each.get("tool_calls") and "reasoning_content" not in each:
            told = (
                "thinking is enabled but reasoning_content is missing in assistant tool call"
                f" message at index {number}"
            )
            return Answer(status=400, error={"message": told})
    return None


def test_what_was_thought_before_a_call_is_sent_to_a_model_that_asks_for_it() -> None:
    thinks = {"reasoning_content": THOUGHT}
    calls = {"tool_calls": [{"index": 0, **made_call()}]}

    def script(body: Body) -> Answer:
        if refused := refuse_as_moonshot(body):
            return refused
        return streamed(thinks, calls) if len(callers(body)) < 2 else Answer("Done.")

    with OpenAIServer(script) as server:
        assert talk(server, "kimi-k2-thinking") == "Done."
        thoughts = [
            [each.get("reasoning_content") for each in callers(one)] for one in server.chats
        ]
    assert thoughts == [[], [None], [THOUGHT], [THOUGHT] * 2]


def test_where_nothing_is_stored_it_was_empty() -> None:
    earlier = [
        message("user", "Well?"),
        cast(Message, {"role": "assistant", "content": None, "tool_calls": [made_call()]}),
        cast(Message, {"role": "tool", "tool_call_id": "c1", "content": "seen"}),
        cast(Message, {"role": "assistant", "content": "So.", "reasoning_content": "hm"}),
        message("user", "And?"),
    ]
    with OpenAIServer(lambda body: refuse_as_moonshot(body) or Answer("Done.")) as server:
        assert call(with_model(server, "kimi"), earlier).text == "Done."
        sent = server.chats[-1]["messages"]
    assert [each.get("reasoning_content") for each in sent] == [None, "", None, None, None]


PIECES: dict[str, list[Body]] = {
    "with the call": [{"tool_calls": [{"index": 0, **made_call(extra_content=SIGNED)}]}],
    "behind it": [
        {"tool_calls": [{"index": 0, **made_call()}]},
        {"tool_calls": [{"extra_content": SIGNED}]},
    ],
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
@pytest.mark.parametrize("name", ["gemini-3-pro", "our-alias"])
def test_a_signed_call_goes_back_to_the_model_that_signs(name: str, pieces: list[Body]) -> None:
    def script(body: Body) -> Answer:
        made = [one for each in callers(body) for one in each["tool_calls"]]
        if any(one.get("extra_content") != SIGNED for one in made):
            told = "Function call is missing a thought_signature in functionCall parts."
            return Answer(status=400, error={"message": told})
        return streamed(*pieces) if len(made) < 2 else Answer("Done.")

    with OpenAIServer(script) as server:
        assert talk(server, name) == "Done."
        assert len(server.chats) == (3 if name == "gemini-3-pro" else 4)


def test_no_other_model_is_sent_a_signature() -> None:
    earlier = [
        message("user", "Well?"),
        cast(Message, {"role": "assistant", "tool_calls": [made_call(extra_content=SIGNED)]}),
        cast(Message, {"role": "tool", "tool_call_id": "c1", "content": "seen"}),
    ]
    with OpenAIServer(lambda body: Answer("Done.")) as server:
        call(with_model(server, "gpt-5"), earlier)
        call(with_model(server, "google/gemini-3-pro"), earlier)
        one, other = [callers(body)[0]["tool_calls"] for body in server.chats]
    assert one == [made_call()]
    assert other == [made_call(extra_content=SIGNED)]


def test_calls_that_are_all_numbered_alike_stay_apart() -> None:
    first, second = made_call("a", "look", '{"at": '), made_call("b", "walk", '{"to": 2}')
    rest = {"index": 0, "function": {"arguments": "1}"}}
    pieces = [{"index": 0, **first}, rest, {"index": 0, **second}]
    deltas = [{"tool_calls": [piece]} for piece in pieces]
    with OpenAIServer(lambda body: streamed(*deltas)) as server:
        reply = call(with_model(server, "m"), [message("user", "Well?")])
    assert reply.message["tool_calls"] == [
        made_call("a", "look", '{"at": 1}'),
        made_call("b", "walk", '{"to": 2}'),
    ]


def test_pieces_of_one_call_may_each_have_an_id() -> None:
    pieces = [made_call("a", "look", '{"at": '), made_call("b", "", "1}")]
    deltas = [{"tool_calls": [{"index": 0, **piece}]} for piece in pieces]
    with OpenAIServer(lambda body: streamed(*deltas)) as server:
        reply = call(with_model(server, "m"), [message("user", "Well?")])
    (one,) = reply.message["tool_calls"]
    assert one["function"] == {"name": "look", "arguments": '{"at": 1}'}
