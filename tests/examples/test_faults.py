"""What a chat does when the model's server fails, breaks off, refuses or sends nonsense, sync and
async. None of it hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from agentkit import AssistantAgent, ChatResult, UserProxyAgent, register_function
from agentkit.core import bus
from agentkit.core.stopping import stoppable
from agentkit.errors import ModelError, ModelUnreachable, RateLimited
from agentkit.events import Event, ModelReplied, Noted, TokenDelta, ToolReturned
from tests.examples.page import one_after_the_other, tool_call
from tests.servers.openai_server import Answer, OpenAIServer
from tests.timing import Clock

Talk = Callable[..., ChatResult]
BUSY = Answer(status=429, headers={"retry-after": "1"}, error={"message": "slow down"})
BROKEN = Answer(status=500, error={"message": "out of order"})


@pytest.fixture(params=["sync", "async"])
def talk(request: pytest.FixtureRequest) -> Talk:
    """Begins a chat by one face or the other."""

    def begin(user: UserProxyAgent, assistant: AssistantAgent, **kwargs: Any) -> ChatResult:
        if request.param == "sync":
            return user.initiate_chat(assistant, message="Go.", silent=True, **kwargs)
        result: ChatResult = asyncio.run(
            user.a_initiate_chat(assistant, message="Go.", silent=True, **kwargs)
        )
        return result

    return begin


def pair(
    *servers: OpenAIServer, retries: int = 2, **config: Any
) -> tuple[UserProxyAgent, AssistantAgent]:
    """A user and an assistant whose models are asked in turn; nothing is cached."""
    listed = [
        {
            "model": f"model-{number}",
            "base_url": server.base_url,
            "max_retries": retries,
            "price": [0, 0],
        }
        for number, server in enumerate(servers, 1)
    ]
    assistant = AssistantAgent(
        "assistant", "Be brief.", {"config_list": listed, "cache_seed": None, **config}
    )
    return UserProxyAgent("user", human_input_mode="NEVER", code_execution_config=False), assistant


def replied(heard: list[Event]) -> list[tuple[str, str, str]]:
    return [
        (event.model, event.status, event.error_type)
        for event in heard
        if isinstance(event, ModelReplied)
    ]


def test_as_long_is_waited_as_the_server_asks() -> None:
    clock = Clock()
    with OpenAIServer(one_after_the_other(BUSY, Answer("Done."))) as server, stoppable(clock):
        user, assistant = pair(server)
        user.initiate_chat(assistant, message="Go.", silent=True, max_turns=1)
    assert clock.waited == [1.0]


def test_a_limit_of_rate_is_waited_out(talk: Talk) -> None:
    heard: list[Event] = []
    with (
        OpenAIServer(one_after_the_other(BUSY, Answer("Done."))) as server,
        bus.listening(heard.append),
    ):
        result = talk(*pair(server), max_turns=1)
    assert result.summary == "Done."
    assert replied(heard) == [("model-1", "failed", "RateLimited"), ("model-1", "ok", "")]
    assert [event.attempt for event in heard if isinstance(event, ModelReplied)] == [1, 2]
    assert server.chats[0] == server.chats[1]


def test_a_limit_that_stays_is_an_error_that_says_so(talk: Talk) -> None:
    with OpenAIServer(lambda _: BUSY) as server:
        with pytest.raises(RateLimited, match=r"slow down.*wait 1 s"):
            talk(*pair(server, retries=0), max_turns=1)
        assert len(server.chats) == 1


def test_another_model_takes_over_from_a_broken_one(talk: Talk) -> None:
    heard: list[Event] = []
    with (
        OpenAIServer(lambda _: BROKEN) as first,
        OpenAIServer(lambda _: Answer("Here I am.")) as second,
        bus.listening(heard.append),
    ):
        result = talk(*pair(first, second, retries=0), max_turns=1)
    assert result.summary == "Here I am."
    assert (len(first.chats), len(second.chats)) == (1, 1)
    assert first.chats[0]["messages"] == second.chats[0]["messages"]
    assert replied(heard) == [("model-1", "failed", "ModelUnreachable"), ("model-2", "ok", "")]
    assert any("out of order" in event.text for event in heard if isinstance(event, Noted)), (
        "it is told, not hidden"
    )
    assert result.cost["usage_including_cached_inference"].keys() == {"total_cost", "model-2"}


def test_an_error_goes_to_the_caller_when_all_models_are_broken(talk: Talk) -> None:
    with OpenAIServer(lambda _: BROKEN) as first, OpenAIServer(lambda _: BROKEN) as second:
        user, assistant = pair(first, second, retries=0)
        with pytest.raises(ModelUnreachable, match="out of order"):
            talk(user, assistant, max_turns=1)
    assert [message["content"] for message in user.chat_messages[assistant]] == ["Go."], (
        "what was said stays"
    )
    assert assistant.client_cache is None


@pytest.mark.parametrize("models", [1, 2])
def test_half_a_stream(talk: Talk, models: int) -> None:
    """It is no answer: the next model is asked, and without one it is an error; the half is not
    sent as a message.
    """
    heard: list[Event] = []
    with (
        OpenAIServer(lambda _: Answer("One two three four", drop_after=2)) as first,
        OpenAIServer(lambda _: Answer("All of it")) as second,
        bus.listening(heard.append),
    ):
        user, assistant = pair(*[first, second][:models], stream=True)
        if models == 1:
            with pytest.raises(ModelError, match="peer closed connection"):
                talk(user, assistant, max_turns=1)
        else:
            assert talk(user, assistant, max_turns=1).summary == "All of it"
    assert len(first.chats) == 1, "not asked again: what was shown would be shown twice"
    assert [event.text for event in heard if isinstance(event, TokenDelta)][:2] == ["One", " two"]
    assert [message["content"] for message in user.chat_messages[assistant]] == [
        "Go.",
        "All of it",
    ][:models]


def test_an_empty_reply_is_told_and_the_default_reply_sent(talk: Talk) -> None:
    heard: list[Event] = []
    with OpenAIServer(lambda _: Answer("")) as server, bus.listening(heard.append):
        result = talk(*pair(server), max_turns=1)
    assert Noted("assistant", "the model gave an empty reply") in heard
    assert [message["content"] for message in result.chat_history] == ["Go.", ""]


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_what_the_assistant_says(talk: Talk, stream: bool) -> None:
    with OpenAIServer(lambda _: Answer(refusal="I cannot help with that.")) as server:
        result = talk(*pair(server, **({"stream": True} if stream else {})), max_turns=1)
    assert result.summary == "I cannot help with that."


def test_a_reply_that_is_no_chat_completion_is_an_error(talk: Talk) -> None:
    with (
        OpenAIServer(lambda _: Answer(body="<html>Welcome</html>")) as server,
        pytest.raises(ModelError),
    ):
        talk(*pair(server, retries=0), max_turns=1)


def divide(a: Annotated[float, "Number"], b: Annotated[float, "Divisor"]) -> float:
    return a / b


def until_it_works(*calls: Any) -> Callable[[dict[str, Any]], Answer]:
    """Sends these calls one after the other, then the last result and TERMINATE."""
    left = [Answer(tool_calls=[tool_call(*call)]) for call in calls]

    def script(body: dict[str, Any]) -> Answer:
        return left.pop(0) if left else Answer("TERMINATE")

    return script


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("divide", '{"a": 1, "b": '), "not valid JSON: they end too early"),
        (
            ("divide", "{nonsense}"),
            "not valid JSON: expecting property name enclosed in double quotes at line 1, column 2",
        ),
        (("divide", "[1, 2]"), "must be a JSON object"),
        (("divide", {"a": 1}), "missing a required argument: 'b'. It takes a, b."),
        (("divide", {"a": 1, "b": 0}), "Error: float division by zero"),
        (
            ("multiply", {"a": 1}),
            "Function multiply not found. Functions that user can execute: divide.",
        ),
    ],
)
def test_the_model_is_told_what_was_wrong_with_its_call_and_goes_on(
    talk: Talk, call: Any, told: str
) -> None:
    heard: list[Event] = []
    with (
        OpenAIServer(until_it_works(call, ("divide", {"a": 1, "b": 4}))) as server,
        bus.listening(heard.append),
    ):
        user, assistant = pair(server)
        register_function(
            divide, caller=assistant, executor=user, description="Divide two numbers."
        )
        result = talk(user, assistant)
    _, second, third = (body["messages"][-1] for body in server.chats)
    assert (second["role"], second["tool_call_id"]) == ("tool", "call_1")
    assert second["content"].startswith("Error: ")
    assert told in second["content"]
    assert third["content"] == "0.25"
    assert [event.ok for event in heard if isinstance(event, ToolReturned)] == [False, True]
    assert result.stop_reason == "assistant sent a termination message"
