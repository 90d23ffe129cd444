"""OpenAIWrapper against a real server on loopback: failover, templates, caches, sums, streams and
scripts' own clients.
"""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from agentkit.core import bus, stopping
from agentkit.errors import (
    AgentkitError,
    ConfigError,
    ModelError,
    ModelTimedOut,
    ModelUnreachable,
    Stopped,
    WrongArgument,
    WrongType,
)
from agentkit.events import Event, ModelCalled, ModelReplied, Noted, TokenDelta
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from agentkit.llm.model import Model
from tests.llm.wrapper_kit import ASK, CALLS, COST, KEY, PRICE, Console, config, texts, wrapper
from tests.servers.openai_server import OpenAIServer, usage

pytestmark = pytest.mark.usefixtures("console")


def sent(server: OpenAIServer, **create: Any) -> dict[str, Any]:
    """The request that reaches the server."""
    wrapper(server, "echo").create(**create)
    return server.chats[-1]


# -- replies --


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_with_its_attributes_and_its_row(
    server: OpenAIServer, heard: list[Event], stream: bool
) -> None:
    response = wrapper(server, "m").create(
        messages=ASK, stream=stream, agent=SimpleNamespace(name="Bob")
    )
    assert (response.choices[0].message.content, response.model) == ("from m", "m")
    assert (response.config_id, response.pass_filter, response.cost) == (0, True, 0)
    assert texts(response) == response.message_retrieval_function(response) == ["from m"]
    rows = [event for event in heard if isinstance(event, ModelReplied)]
    assert [(row.agent, row.status, row.text, row.cost) for row in rows] == [
        ("Bob", "ok", "from m", 0.0)
    ]
    assert rows[0].raw_usage["total_tokens"] == usage("from m")["total_tokens"]
    assert sum(isinstance(event, ModelCalled) for event in heard) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_calls_choices_refusals_and_silence(server: OpenAIServer, stream: bool) -> None:
    def answered(model: str) -> list[Any]:
        return texts(wrapper(server, model).create(messages=ASK, stream=stream))

    (calling,) = answered("calling")
    assert [call["function"] for call in calling.model_dump()["tool_calls"]] == [
        CALLS[0]["function"]
    ]
    assert calling.tool_calls[0].function.name == "add"
    (old,) = answered("old")
    assert (old.function_call.name, old.function_call.arguments) == ("f", '{"x": 1}')
    assert answered("twice") == ["first one", "second two"]
    assert answered("refusing") == ["I will not"]
    assert answered("empty") == [None]


def test_a_stream_is_shown_on_the_console_and_the_colour_ends(
    server: OpenAIServer, console: Console
) -> None:
    wrapper(server, "m").create(messages=ASK, stream=True)
    assert console.text == "\033[32mfrom m\033[0m\n\n"
    wrapper(server, "twice").create(messages=ASK, stream=True)
    assert console.text.endswith("\033[32mfirst one\033[0m\n\n")  # of several answers, the first
    with pytest.raises(ModelUnreachable):
        wrapper(server, "half").create(messages=ASK, stream=True)
    assert console.text.endswith("one two\033[0m\n\n")


def test_a_prompt_is_continued(server: OpenAIServer) -> None:
    asked = wrapper(server, "m", allow_format_str_template=True)
    response = asked.create(prompt="Hi {name}", context={"name": "Bob"})
    assert texts(response) == ["from m"]
    assert server.requests[-1].path == "/v1/completions"
    assert server.requests[-1].body == {"model": "m", "prompt": "Hi Bob"}


class Reading(BaseModel):
    a: int


class Shown(Reading):
    def format(self) -> str:
        return f"a is {self.a}"


@pytest.mark.parametrize(("form", "text"), [(Reading, '{"a": 1}'), (Shown, "a is 1")])
def test_a_pydantic_model_is_sent_as_its_schema(
    server: OpenAIServer, form: type[Reading], text: str
) -> None:
    asked = wrapper(server, "json", response_format=form, cache_seed=1)
    assert [texts(asked.create(messages=ASK)) for _ in range(2)] == [[text], [text]]
    (body,) = server.chats
    assert body["response_format"]["json_schema"]["name"] == form.__name__
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["a"]


# -- failover --


@pytest.mark.parametrize(
    "model",
    ["status-400", "status-401", "status-404", "status-422", "status-429", "status-500", "broken"],
)
def test_the_next_model_is_asked_when_one_fails(
    server: OpenAIServer, heard: list[Event], model: str
) -> None:
    response = wrapper(server, model, "good").create(messages=ASK)
    assert (response.config_id, texts(response)) == (1, ["from good"])
    assert [event.status for event in heard if isinstance(event, ModelReplied)] == ["failed", "ok"]
    (note,) = [event.text for event in heard if isinstance(event, Noted)]
    assert note.startswith(f"The model {model} failed")
    with pytest.raises(ModelError) as caught:
        wrapper(server, model).create(messages=ASK)
    assert KEY not in str(caught.value)


def test_an_empty_answer_is_an_answer(server: OpenAIServer) -> None:
    assert wrapper(server, "empty", "good").create(messages=ASK).config_id == 0


def test_a_timeout_goes_on_and_at_last_is_a_timeout_error(server: OpenAIServer) -> None:
    slow = config(server, "slow", timeout=0.1)
    assert (
        OpenAIWrapper(config_list=[slow, config(server, "good")], cache_seed=None)
        .create(messages=ASK)
        .config_id
        == 1
    )
    with pytest.raises(TimeoutError, match="allow a longer `timeout`") as caught:
        OpenAIWrapper(config_list=[slow], cache_seed=None).create(messages=ASK)
    assert type(caught.value) is ModelTimedOut


def test_max_retries_are_further_attempts(server: OpenAIServer, heard: list[Event]) -> None:
    with pytest.raises(ModelUnreachable):
        OpenAIWrapper(**config(server, "status-500", max_retries=1), cache_seed=None).create(
            messages=ASK
        )
    assert [event.attempt for event in heard if isinstance(event, ModelReplied)] == [1, 2]


def test_a_filter_decides_and_the_last_answer_comes_back_marked(server: OpenAIServer) -> None:
    asked = wrapper(server, "m1", "m2", "m3")
    seen: list[Any] = []

    def second(context: Any, response: Any) -> bool:
        seen.append(context)
        return bool(response.model == "m2")

    response = asked.create(messages=ASK, filter_func=second, context={"a": 1})
    assert (response.config_id, response.pass_filter, seen) == (1, True, [{"a": 1}, {"a": 1}])
    response = asked.create(messages=ASK, filter_func=lambda context, response: False)
    assert (response.config_id, response.pass_filter) == (2, False)


def test_a_stop_is_no_failure_and_keeps_what_came(server: OpenAIServer, heard: list[Event]) -> None:
    signal = stopping.StopSignal()

    def stop(event: Event) -> None:
        if isinstance(event, TokenDelta):
            signal.set()

    slow = scripted_model(["one two three"] * 2, delay_s=0.001)
    asked = OpenAIWrapper(config_list=[{"model": slow, "stream": True}, config(server, "good")])
    with stopping.stoppable(signal), bus.listening(stop), pytest.raises(Stopped) as caught:
        asked.create(messages=ASK)
    assert caught.value.partial == "one"
    assert [event.status for event in heard if isinstance(event, ModelReplied)] == ["stopped"]
    assert not server.chats


# -- what is sent --


def test_contexts_fill_templates(server: OpenAIServer) -> None:
    def content(template: Any, **more: Any) -> Any:
        return sent(server, messages=[{"role": "user", "content": template}], **more)["messages"][
            0
        ]["content"]

    bob: dict[str, Any] = {"context": {"name": "Bob"}}
    assert content("hi {name}", **bob) == "hi {name}"
    assert content("hi {name}", **bob, allow_format_str_template=True) == "hi Bob"
    assert content("hi {name}", allow_format_str_template=True) == "hi {name}"
    assert content(lambda context: f"hi {context['name']}", **bob) == "hi Bob"
    assert (
        content([{"type": "text", "text": "hi {name}"}], **bob, allow_format_str_template=True)[0][
            "text"
        ]
        == "hi Bob"
    )
    assert content(None, **bob) is None
    with pytest.raises(WrongArgument, match="no context is given"):
        content(lambda context: "hi")
    with pytest.raises(WrongArgument, match="'name'"):
        content("hi {name}", context={"q": 1}, allow_format_str_template=True)


def test_the_callers_messages_stay_as_they_are(server: OpenAIServer) -> None:
    mine = [{"role": "user", "content": "hi {name}"}]
    sent(server, messages=mine, context={"name": "Bob"}, allow_format_str_template=True)
    assert mine == [{"role": "user", "content": "hi {name}"}]


def test_parameters_are_merged_and_the_wrappers_own_stay_here(server: OpenAIServer) -> None:
    body = sent(
        server,
        messages=ASK,
        model="other",
        temperature=0.1,
        tools=[],
        agent="Bob",
        tags=["x"],
        api_version="3",
        context={},
    )
    assert body == {"model": "echo", "messages": ASK, "temperature": 0.1}
    one = config(server, "echo", temperature=0.5)
    OpenAIWrapper(
        config_list=[one], temperature=0.1, top_p=0.3, base_url="http://nowhere", cache_seed=None
    ).create(messages=ASK)
    assert server.chats[-1] == {"model": "echo", "messages": ASK, "temperature": 0.5, "top_p": 0.3}


def test_headers_and_the_organization_travel(server: OpenAIServer) -> None:
    OpenAIWrapper(
        **config(server, "m", organization="org", default_headers={"x-extra": "1"}), cache_seed=None
    ).create(messages=ASK)
    headers = server.requests[-1].headers
    assert (headers["openai-organization"], headers["x-extra"], headers["authorization"]) == (
        "org",
        "1",
        f"Bearer {KEY}",
    )


def test_azure_deployments_have_no_dots(server: OpenAIServer) -> None:
    base: dict[str, Any] = {
        "api_type": "azure",
        "api_key": KEY,
        "api_version": "2024-02-01",
        "model": "gpt-3.5-turbo",
        "cache_seed": None,
    }
    address = server.base_url.removesuffix("/v1")
    response = OpenAIWrapper(**base, azure_endpoint=address).create(messages=ASK)
    OpenAIWrapper(**base, base_url=address, azure_deployment="dep.1").create(messages=ASK)
    assert [asked.path for asked in server.requests] == [
        f"/openai/deployments/{name}/chat/completions" for name in ("gpt-35-turbo", "dep1")
    ]
    assert server.requests[0].headers["api-key"] == KEY
    assert response.cost > 0


@pytest.mark.parametrize(
    ("configs", "kind", "words"),
    [
        ("m", WrongType, "must be a list"),
        ({"model": "m", "api_key": KEY}, WrongType, "config_list is a dict; it must be a list"),
        (["m"], WrongType, "each entry must be a dict"),
        ([[{"model": "m", "api_key": KEY}]], WrongType, "holds a list; each entry must be a dict"),
        ([{"model": "m"}], ConfigError, "no api_key"),
        (
            [{"model": "m", "api_type": "groq", "base_url": "http://x/v1", "timeout": "5"}],
            WrongArgument,
            "timeout is '5'",
        ),
        ([{"model": "m", "api_key": "k", "max_retries": -1}], WrongArgument, "max_retries is -1"),
        (
            [{"model": "m", "api_key": "k", "api_type": "azure"}],
            WrongArgument,
            "needs azure_endpoint",
        ),
        (
            [{"model": "m", "api_key": "k", "api_type": "azure", "base_url": "http://x"}],
            WrongArgument,
            "needs api_version",
        ),
        ([{"model": "m", "api_type": "bedrock", "api_key": "k"}], WrongArgument, "bedrock"),
    ],
)
def test_impossible_configurations_are_told(
    configs: Any, kind: type[AgentkitError], words: str
) -> None:
    with pytest.raises(kind, match=words) as raised:
        OpenAIWrapper(config_list=configs)
    assert KEY not in str(raised.value)


def test_an_address_with_a_login_is_told_without_it() -> None:
    address = f"http://me:{KEY}@127.0.0.1:9/v1?key={KEY}"
    asked = OpenAIWrapper(
        config_list=[{"model": "m", "base_url": address, "max_retries": 0}], cache_seed=None
    )
    with pytest.raises(
        ModelUnreachable, match=r"http://127\.0\.0\.1:9/v1 cannot be reached"
    ) as raised:
        asked.create(messages=ASK)
    assert KEY not in str(raised.value)


def test_impossible_calls_are_told(server: OpenAIServer) -> None:
    asked = wrapper(server, "m")
    for wrong in ({}, {"prompt": "a", "messages": ASK}):
        with pytest.raises(WrongArgument, match="either messages or a prompt"):
            asked.create(**wrong)
    with pytest.raises(WrongArgument, match="price is 'cheap'"):
        asked.create(messages=ASK, price="cheap")


# -- sums --


def test_sums_and_how_they_are_shown(server: OpenAIServer, console: Console) -> None:
    asked = OpenAIWrapper(config_list=[config(server, "m", price=PRICE)])
    asked.print_usage_summary()
    assert console.text == 'No usage summary. Please call "create" first.\n'
    response = asked.create(messages=ASK, cache_seed=None)
    assert response.cost == pytest.approx(COST)
    for _ in range(2):
        asked.create(messages=ASK, cache_seed=7)
    spent, all_in_all = asked.actual_usage_summary, asked.total_usage_summary
    assert spent == {
        "total_cost": pytest.approx(2 * COST),
        "m": {
            "cost": pytest.approx(2 * COST),
            "prompt_tokens": 240,
            "completion_tokens": 14,
            "total_tokens": 254,
        },
    }
    assert all_in_all is not None
    assert all_in_all["m"]["total_tokens"] == 381
    console.text = ""
    asked.print_usage_summary()
    line = "* Model 'm': cost: {}, prompt_tokens: {}, completion_tokens: {}, total_tokens: {}\n"
    assert (
        console.text == f"{'-' * 100}\nUsage summary excluding cached usage: \nTotal cost:"
        f" 0.268\n{line.format(0.268, 240, 14, 254)}\nUsage summary including cached usage:"
        f" \nTotal cost: 0.402\n{line.format(0.402, 360, 21, 381)}{'-' * 100}\n"
    )
    with pytest.raises(WrongArgument, match="mode is 'foo'"):
        asked.print_usage_summary("foo")
    asked.clear_usage_summary()
    assert (asked.actual_usage_summary, asked.total_usage_summary) == (None, None)


def test_an_unknown_price_is_unknown_in_the_row_and_warned_of_once(
    server: OpenAIServer, heard: list[Event], caplog: pytest.LogCaptureFixture
) -> None:
    client = OpenAIClient(server.base_url, KEY)
    client.provider = "models.example"  # the server of the test costs nothing under its own name
    asked = OpenAIWrapper(
        config_list=[{"model": Model("x/y", "X", client, "nameless-1", client.provider)}],
        cache_seed=None,
    )
    for _ in range(2):
        asked.create(messages=ASK)
    assert asked.total_usage_summary is not None
    assert asked.total_usage_summary["total_cost"] == 0
    assert [event.cost for event in heard if isinstance(event, ModelReplied)] == [None, None]
    (record,) = [one for one in caplog.records if "nameless-1" in one.getMessage()]
    assert (record.levelno, '"price"' in record.getMessage()) == (logging.WARNING, True)


def test_several_threads_share_a_wrapper(server: OpenAIServer) -> None:
    asked = OpenAIWrapper(
        config_list=[{"model": scripted_model(lambda params: "done")}], price=PRICE
    )
    one = asked.create(messages=ASK)
    threads = [
        threading.Thread(target=lambda: [asked.create(messages=ASK) for _ in range(25)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sums = asked.actual_usage_summary
    assert sums is not None
    assert sums["total_cost"] == pytest.approx(201 * one.cost)
    assert sums["scripted"]["completion_tokens"] == 201
