"""Pictures on the way into a call: which models are shown them, what they take, and that a call
that was recorded is served again, whatever was learned meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agentkit.core import bus, replay
from agentkit.core.replay import Recording
from agentkit.errors import ModelAuthFailed, ModelError, RateLimited
from agentkit.events import Event
from agentkit.llm import Model, sight
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.pictures import PLACE, Picture, Shown, count_most, showing
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import Message, message
from tests.servers.openai_server import Answer, OpenAIServer

CONTENT = b"the bytes of a picture"
CHART = Picture("chart.png", f"{'a' * 64}.png", 1024, 1024)
ASKED = "What is this?"


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    sight._blind.clear()
    yield
    sight._blind.clear()


def shown(*agents: str) -> Shown:
    return Shown(frozenset(agents), ASKED, (CHART,), lambda picture: CONTENT)


def named(name: str) -> Model:
    return Model("x/test", "Test", scripted_model(["yes"]).client, name, "test")


@pytest.mark.parametrize(
    ("names", "known"),
    [
        ("gpt-4o gpt-4.1-mini gpt-5.1 o1 o4-mini claude-sonnet-4 gemini-2.5-pro", "sees"),
        ("llava:7b qwen2.5-vl-7b llama3.2-vision gemma3:4b meta-llama/llama-4-scout", "sees"),
        ("gpt-3.5-turbo gpt-4 gpt-4-0613 o1-mini o3-mini gpt-oss-20b claude-2.1", "blind"),
        ("deepseek-chat llama-3.1-8b qwen3:8b mistral-7b gemma2:9b gemma3:1b phi-4", "blind"),
        ("extractive", "blind"),
        ("test-model my-own", "unknown"),
    ],
)
def test_which_models_see_is_known_by_their_names(names: str, known: str) -> None:
    assert {sight.find_sight(named(name)) for name in names.split()} == {known}


@pytest.mark.parametrize(
    "error",
    [
        ModelError("the image is too large: 9 MB exceed 5 MB"),
        ModelError("Invalid image data"),
        ModelError("no such parameter: seed"),
        RateLimited("too many images"),
        ModelAuthFailed("no access to vision models"),
    ],
)
def test_other_refusals_are_no_blindness(error: ModelError) -> None:
    assert not sight.refuses_pictures(error)


def test_tokens_are_counted_by_the_size_that_is_sent() -> None:
    assert CHART.count_tokens("gpt-4o") == (765, False)
    assert CHART.count_tokens("test-model")[1]
    assert count_most("gpt-4o") == 85 + 170 * 8


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ([message("user", ASKED)], 0),
        ([message("user", ASKED), message("assistant", "A field."), message("user", ASKED)], 2),
        ([message("user", f"Answer this: {ASKED}"), message("user", ASKED)], 1),
        ([message("system", ASKED), message("user", f"Answer this: {ASKED}")], 1),
        ([message("system", ASKED), message("user", "Go on.")], None),
    ],
)
def test_the_message_with_the_question_is_found(
    shared_server: OpenAIServer, said: list[Message], at: int | None
) -> None:
    shared_server.script = lambda body: Answer("A field.")
    model = Model("x/test", "Test", OpenAIClient(shared_server.base_url), "test-model", "test")
    with showing(shown("Ann")):
        call(model, said, agent="Ann", stream=False)
    sent = shared_server.chats[-1]["messages"]
    found = [place for place, one in enumerate(sent) if isinstance(one["content"], list)]
    assert found == ([] if at is None else [at])
    with showing(shown("Ann")):
        call(model, said, agent="Ben", stream=False)
    assert "data:" not in json.dumps(shared_server.chats[-1])


def test_a_recorded_call_is_served_also_where_the_model_is_known_to_be_blind_by_now(
    shared_server: OpenAIServer,
) -> None:
    shared_server.script = lambda body: Answer("A field.")
    model = Model("x/test", "Test", OpenAIClient(shared_server.base_url), "test-model", "test")
    heard: list[Event] = []
    with bus.listening(heard.append), showing(shown("Ann")):
        call(model, [message("user", ASKED)], agent="Ann")
    asked = len(shared_server.chats)
    assert PLACE in str(heard)
    sight.note_blind(model.provider, model.name)
    again = replay.replaying(Recording(heard))
    with bus.listening(lambda event: None), again, showing(shown("Ann")):
        reply = call(model, [message("user", ASKED)], agent="Ann")
    assert (reply.text, len(shared_server.chats)) == ("A field.", asked)
