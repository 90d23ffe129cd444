"""What chat templates demand: requests are put into the order they take, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core import bus
from agentkit.errors import ModelError
from agentkit.events import Event, ModelCalled, ModelReplied
from agentkit.llm import Model
from agentkit.llm.calls import templates
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import Message, message, text_of
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.strict import refuse_as_gemma, refuse_as_mistral, strict

WORDS = st.text("abc", max_size=3)


@pytest.fixture(autouse=True)
def nothing_learned() -> Iterator[None]:
    templates._learned.clear()
    yield
    templates._learned.clear()


@st.composite
def anything(draw: st.DrawFn) -> list[Message]:
    """Messages of all roles in any order, results with and without their calls."""
    made: list[dict[str, Any]] = []
    roles = st.sampled_from(["system", "user", "assistant", "calls", "tool", "developer"])
    for number, role in enumerate(draw(st.lists(roles, min_size=1, max_size=9))):
        content = f"{draw(WORDS)}-{number}."
        ids = [f"call_{draw(st.integers(0, 3))}_{each}" for each in range(draw(st.integers(1, 2)))]
        if role == "calls":
            function = {"name": "look", "arguments": "{}"}
            calls = [{"id": each, "type": "function", "function": function} for each in ids]
            said = {"role": "assistant", "content": draw(st.sampled_from([None, content]))}
            made.append({**said, "tool_calls": calls})
        elif role == "tool":
            made.append({"role": "tool", "tool_call_id": ids[0], "content": content})
        else:
            named = {"name": draw(st.sampled_from("AB"))} if draw(st.booleans()) else {}
            made.append({"role": role, "content": content, **named})
    return cast("list[Message]", made)


def texts(messages: Sequence[Message]) -> str:
    return "\n".join(text_of(each.get("content")) for each in messages)


@given(anything())
def test_any_messages_are_put_into_the_order_that_templates_take(messages: list[Message]) -> None:
    in_turn = templates.to_form(messages, "in_turn")
    plain = templates.to_form(messages, "without_system")
    assert refuse_as_mistral(in_turn) == ""
    assert refuse_as_gemma(plain) == ""
    for said in (text_of(each.get("content")) for each in messages):
        assert said in texts(in_turn)
        assert said in texts(plain)


@given(anything())
def test_what_is_in_order_stays_as_it_is(messages: list[Message]) -> None:
    in_turn = templates.to_form(messages, "in_turn")
    assert templates.to_form(in_turn, "in_turn") == in_turn
    assert templates.to_form(in_turn, "any") == in_turn


@given(anything())
def test_openai_gets_a_result_for_each_call_and_all_that_was_said(messages: list[Message]) -> None:
    sent = templates.to_form(messages, "any")
    left = list(sent)
    for each in messages:
        left.remove(each)
    assert {each["content"] for each in left} <= {"This call was not run."}
    assert [each for each in sent if each in messages] == messages
    for number, each in enumerate(sent):
        results = takewhile(lambda other: other["role"] == "tool", sent[number + 1 :])
        answered = {result["tool_call_id"] for result in results}
        assert {one["id"] for one in each.get("tool_calls", ())} <= answered


def test_names_that_openai_refuses_are_sent_otherwise() -> None:
    names = ["Data analyst", "a/b<c>", "Jürgen", "n" * 70]
    sent = templates.to_form([message("user", "Hi.", name) for name in names], "any")
    assert [each["name"] for each in sent] == ["Data_analyst", "a_b_c_", "Jürgen", "n" * 64]
    result = cast(Message, {"role": "function", "name": "look", "content": "seen"})
    assert templates.to_form([result], "any") == [result]


def test_a_plain_conversation_is_sent_as_it_is() -> None:
    said = [message("system", "Be kind."), message("user", "Hi"), message("assistant", "Hello")]
    said.append(message("user", "And now?"))
    assert templates.to_form(said, "in_turn") == said


def test_several_speakers_are_told_by_name_and_one_is_not() -> None:
    group = [
        message("user", "What now?", "User"),
        message("user", "It is long.", "Researcher"),
        message("assistant", "I see.", "Writer"),
        message("system", "Who speaks next?"),
    ]
    assert templates.to_form(group, "in_turn") == [
        message("user", "User:\nWhat now?\n\nResearcher:\nIt is long."),
        message("assistant", "I see."),
        message("user", "Who speaks next?"),
    ]
    alone = [message("user", "Hi", "User")]
    assert templates.to_form(alone, "in_turn") == [message("user", "Hi")]


def test_pictures_stay_beside_the_texts_around_them() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    said = cast(
        "list[Message]",
        [
            {"role": "user", "content": "Look:"},
            {"role": "user", "content": [picture]},
        ],
    )
    (one,) = templates.to_form(said, "in_turn")
    assert one["content"] == [{"type": "text", "text": "Look:"}, picture]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("gpt-5", "any"),
        ("qwen3:8b", "any"),
        ("llama3.1:8b", "any"),
        ("gemma2:9b", "without_system"),
        ("google/gemma-2-9b-it", "without_system"),
        ("gemma-7b-it", "without_system"),
        ("gemma3:4b", "in_turn"),
        ("google/gemma-3-27b-it", "in_turn"),
        ("mistral-small-latest", "in_turn"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "in_turn"),
        ("meta-llama/Llama-2-7b-chat-hf", "in_turn"),
    ],
)
def test_families_are_known_by_their_names(name: str, form: str) -> None:
    client = OpenAIClient("http://127.0.0.1:1/v1", "")
    assert templates.find_form(Model(name, name, client, name, "127.0.0.1:1")) == form


@pytest.mark.parametrize("template", [refuse_as_mistral, refuse_as_gemma])
def test_a_server_that_refuses_is_asked_in_its_order_and_so_from_then_on(template: Any) -> None:
    said = [message("system", "Be kind."), message("user", "One"), message("user", "Two")]
    with OpenAIServer(strict(template, lambda body: Answer("Yes."))) as server:
        model = Model("m", "m", OpenAIClient(server.base_url, ""), "test-model", server.base_url)
        events: list[Event] = []
        with bus.listening(events.append):
            assert call(model, said).text == "Yes."
        refused = len(server.chats) - 1
        assert call(model, [*said, message("system", "Be short.")]).text == "Yes."
        assert len(server.chats) == refused + 2
        sent = server.chats[-1]["messages"]
    assert refused == (1 if template is refuse_as_mistral else 2)
    assert [event.status for event in events if isinstance(event, ModelReplied)] == [
        *["failed"] * refused,
        "ok",
    ]
    told = [event.messages for event in events if isinstance(event, ModelCalled)]
    assert len(told) == refused + 1
    assert told[0] == said
    assert "Be short." in sent[-1]["content"]


def test_a_refusal_of_something_else_is_not_tried_again() -> None:
    said = [message("user", "One"), message("user", "Two")]
    model = scripted_model(lambda request: ModelError("The temperature is too high."))
    with pytest.raises(ModelError, match="temperature"):
        call(model, said)
    client: Any = model.client
    assert len(client.requests) == 1


def test_a_refusal_that_no_order_helps_is_told_as_the_server_says_it() -> None:
    said = [message("user", "One"), message("user", "Two")]
    model = scripted_model(lambda request: ModelError("roles must be odd"))
    with pytest.raises(ModelError, match="roles must be odd"):
        call(model, said)
    client: Any = model.client
    assert len(client.requests) == 2, "without a system message there is one other order"
    assert templates.find_form(model) == "any"
