"""Instructions and parameters that somebody wishes for: what is sent holds exactly them, and what a
server refuses is told once and not sent again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentkit.core import bus
from agentkit.errors import ModelError, WrongArgument
from agentkit.events import Event, ParameterRefused
from agentkit.llm import Model
from agentkit.llm.calls import wishes
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.wishes import Parameters, Wishes, wished
from agentkit.messages import Message, message
from tests.servers.openai_server import Answer, OpenAIServer

ASK = [message("system", "Be brief."), message("user", "hello")]
ALL = Parameters(temperature=0.3, max_tokens=50, seed=7, reasoning_effort="low")


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    wishes._refused.clear()
    wishes._renamed.clear()
    yield
    wishes._refused.clear()
    wishes._renamed.clear()


class Refusing:
    """A server that refuses what is named, in its own words."""

    def __init__(self, server: OpenAIServer) -> None:
        self.server = server
        self.refuses: dict[str, str] = {}
        self.heard: list[Event] = []
        server.script = self._answer

    def _answer(self, body: dict[str, Any]) -> Answer:
        for name, words in self.refuses.items():
            if name in body:
                return Answer(status=400, error={"message": words})
        return Answer("hello")

    def __call__(
        self, wish: Wishes, agent: str = "Ann", asked: list[Message] = ASK, **params: Any
    ) -> dict[str, Any]:
        model = Model("x/test", "Test", OpenAIClient(self.server.base_url), "test-model", "test")
        with bus.listening(self.heard.append), wished(wish):
            call(model, asked, agent=agent, stream=False, params=params)
        return self.server.chats[-1]

    @property
    def told(self) -> list[tuple[str, str]]:
        return [
            (event.parameter, event.value)
            for event in self.heard
            if isinstance(event, ParameterRefused)
        ]


@pytest.fixture
def ask() -> Iterator[Refusing]:
    with OpenAIServer() as server:
        yield Refusing(server)


def of(parameters: Parameters = wishes.NOTHING, instructions: str = "") -> Wishes:
    return Wishes(frozenset(["Ann"]), instructions, parameters)


def test_the_request_holds_exactly_what_was_wished_for(ask: Refusing) -> None:
    sent = ask(of(ALL, "Answer in French."))
    assert sent == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "Be brief.\n\nAnswer in French."},
            {"role": "user", "content": "hello"},
        ],
        "stream": False,
        "temperature": 0.3,
        "max_tokens": 50,
        "seed": 7,
        "reasoning_effort": "low",
    }
    assert ASK[0]["content"] == "Be brief."  # histories stay as they are


def test_instructions_get_a_system_message_of_their_own_where_there_is_none(
    ask: Refusing,
) -> None:
    sent = ask(of(instructions="Be kind."), asked=[message("user", "hello")])
    assert [each["role"] for each in sent["messages"]] == ["system", "user"]


def test_other_agents_are_asked_as_ever_and_a_call_says_more_than_a_wish(ask: Refusing) -> None:
    assert not ALL.to_request().keys() & ask(of(ALL, "French!"), agent="Query writer").keys()
    assert ask(of(ALL), temperature=1.5)["temperature"] == 1.5


def test_what_a_server_refuses_is_told_once_and_not_sent_again(ask: Refusing) -> None:
    ask.refuses = {
        "seed": "Unsupported parameter: 'seed' is not supported with this model.",
        "reasoning_effort": "Unrecognized request argument supplied: reasoning_effort",
    }
    wish = of(ALL)
    ask(wish)
    assert len(ask.server.chats) == 3
    sent = ask(wish)
    assert len(ask.server.chats) == 4
    assert sent.keys() & ALL.to_request().keys() == {"temperature", "max_tokens"}
    assert ask.told == [("seed", ""), ("reasoning_effort", "")]
    ask(of(ALL))  # another chat is told, too, without asking the server again
    assert len(ask.server.chats) == 5
    assert len(ask.told) == 4


def test_a_refused_value_is_not_sent_again_and_another_one_is(ask: Refusing) -> None:
    ask.refuses = {"temperature": "Unsupported value: 'temperature' does not support 0.3"}
    ask(of(Parameters(temperature=0.3)))
    assert ask.told == [("temperature", "0.3")]
    ask.refuses = {}
    assert ask(of(Parameters(temperature=1)))["temperature"] == 1
    assert "temperature" not in ask(of(Parameters(temperature=0.3)))


def test_the_newer_name_of_a_limit_is_taken_where_the_server_asks_for_it(ask: Refusing) -> None:
    ask.refuses = {"max_tokens": "'max_tokens' is not supported. Use 'max_completion_tokens'."}
    for _ in range(2):
        assert ask(of(ALL))["max_completion_tokens"] == 50
    assert len(ask.server.chats) == 3
    assert ask.told == []


def test_what_a_chat_was_told_is_known_after_a_restart(ask: Refusing) -> None:
    ask.refuses = {"seed": "Unsupported parameter: 'seed'"}
    ask(of(ALL))
    told = [event for event in ask.heard if isinstance(event, ParameterRefused)]
    wishes._refused.clear()
    model = Model("x/test", "Test", OpenAIClient(ask.server.base_url), "test-model", "test")
    known = wishes.recall_refusals(told, model)
    assert "seed" not in ask(Wishes(frozenset(["Ann"]), parameters=ALL, told=known))
    assert len(ask.told) == 1


def test_a_refusal_of_something_else_is_an_error_as_ever(ask: Refusing) -> None:
    ask.refuses = {"messages": "the picture is broken"}
    with pytest.raises(ModelError, match="picture is broken"):
        ask(of(ALL))
    ask.refuses = {"temperature": "temperature is a matter of taste"}
    with pytest.raises(ModelError, match="taste"):  # the call's own
        ask(of(ALL), temperature=1.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 99},
        {"temperature": float("nan")},
        {"temperature": True},
        {"seed": "abc"},
        {"seed": 1.5},
        {"max_tokens": 0},
        {"reasoning_effort": "very"},
    ],
)
def test_values_that_no_server_takes_are_refused_at_once(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(WrongArgument, match=name):
        Parameters(**wrong)


def test_a_million_letters_are_no_instructions() -> None:
    with pytest.raises(WrongArgument, match="1,000,000 characters; at most 20,000"):
        wishes.check_instructions("a" * 1_000_000)
