"""What was really sent to a server, byte for byte, and never a secret."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from agentkit import runs
from agentkit.core import bus
from agentkit.errors import ModelError, StoreError
from agentkit.events import Event, ModelCalled, Recorded
from agentkit.ledger import Ledger, RunKey, requests
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from agentkit.llm.model import Model
from agentkit.messages import Message, message
from tests.servers.openai_server import Answer, OpenAIServer

OWNER = "me"
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {"type": "object", "properties": {"password": {"type": "string"}}},
    },
}
PICTURE: Any = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this? ä€\U0001f30d"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 400}},
    ],
}


def model(server: OpenAIServer, window: int | None = None, **options: Any) -> Model:
    client = OpenAIClient(server.base_url, "sk-very-secret-key", options=options)
    return Model("m", "M", client, "test-model", "here", context_window=window)


def kept_of(ledger: Ledger, run_id: str) -> list[str]:
    """What is kept of each attempt of a run, in order."""
    found = requests.of_run(ledger.database, run_id)
    return [found[seq].json for seq in sorted(found)]


def everything(ledger: Ledger) -> str:
    tables = ledger.database.rows("select table_name as name from duckdb_tables()")
    return str([ledger.database.rows(f"select * from {one['name']}") for one in tables])


def test_every_attempt_is_kept_as_the_server_had_it(ledger: Ledger) -> None:
    answers = iter(
        [
            Answer("one"),
            Answer(status=429, error={"message": "slow down"}, headers={"retry-after": "0"}),
            Answer("two"),
            Answer("three"),
            Answer("four"),
        ]
    )
    with OpenAIServer(lambda body: next(answers)) as server:
        asked = model(server, window=2_000)

        def work() -> None:
            history: list[Message] = [message("system", "Be calm."), PICTURE]
            call(
                asked,
                history,
                agent="A",
                params={"temperature": 0.5, "tools": [TOOL], "extra_body": {"top_k": 3}},
            )
            history += [message("assistant", "one"), message("user", "And now?")]
            call(asked, history, agent="A", stream=False)
            made: Any = [
                {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            ]
            history += [{"role": "assistant", "content": None, "tool_calls": made}]
            history += [
                {"role": "tool", "tool_call_id": "c", "content": "word " * 5_000}
            ]  # is shortened
            call(asked, history, agent="A")
            call(
                asked,
                history[:1],
                agent="A",
                params={"prompt": "Once upon"},
                stream=None,
                attempts=1,
            )

        run = runs.start(work, kind="test", owner=OWNER, ledger=ledger)
        run.result()
        came = [one.raw.decode() for one in server.requests if one.raw]
        (completed,) = [one.body for one in server.requests if one.path.endswith("/v1/completions")]
    kept = kept_of(ledger, run.id)
    assert kept[:4] == came
    assert "characters were left out here" in kept[3]
    assert len(kept) == 5
    assert completed == {"model": "test-model", "prompt": "Once upon"}
    assert kept[4] == '{"model":"test-model","prompt":"Once upon"}'
    assert "sk-very-secret-key" not in everything(ledger)


def test_a_server_that_refuses_an_option_is_asked_again_and_that_is_kept(ledger: Ledger) -> None:
    def script(body: dict[str, Any]) -> Answer:
        if "stream_options" in body:
            return Answer(status=400, error={"message": "unknown field stream_options"})
        return Answer("Here.")

    with OpenAIServer(script) as server:
        asked = model(server)
        run = runs.start(
            lambda: call(asked, [message("user", "Hi")]), kind="test", owner=OWNER, ledger=ledger
        )
        reply = run.result()
        came = [one.raw.decode() for one in server.requests]
    assert kept_of(ledger, run.id) == came
    assert len(came) == 2
    assert ledger.request_of(OWNER, reply.call_id).json == came[-1]
    assert ledger.request_of(OWNER, reply.call_id).parameters == {
        "model": "test-model",
        "stream": True,
    }


def test_failover_keeps_what_each_server_was_sent(ledger: Ledger) -> None:
    with (
        OpenAIServer(lambda body: Answer(status=500, error={"message": "broken"})) as first,
        OpenAIServer(lambda body: Answer("Here.")) as second,
    ):
        entries = [
            {
                "model": "a",
                "base_url": one.base_url,
                "api_key": "sk-very-secret-key",
                "max_retries": 0,
                "timeout": 9,
                "extra_headers": {"X-Gate": "hidden-header"},
            }
            for one in (first, second)
        ]
        wrapper = OpenAIWrapper(config_list=entries, cache_seed=None)
        run = runs.start(
            lambda: wrapper.create(messages=[message("user", "Hi")]),
            kind="t",
            owner=OWNER,
            ledger=ledger,
        )
        run.result()
        came = [one.requests[0].raw.decode() for one in (first, second)]
    assert kept_of(ledger, run.id) == came
    assert "secret" not in everything(ledger)
    assert "hidden-header" not in everything(ledger)


def test_a_given_connection_tells_what_the_sdk_was_given(ledger: Ledger) -> None:
    with OpenAIServer(lambda body: Answer("Here.")) as server, httpx2.Client() as http:
        asked = model(server, http_client=http)
        run = runs.start(
            lambda: call(asked, [message("user", "Hi")]), kind="test", owner=OWNER, ledger=ledger
        )
        run.result()
        (kept,) = requests.of_run(ledger.database, run.id).values()
        assert {**kept.around, "messages": kept.messages} == server.chats[0]


def test_what_a_client_of_somebody_else_is_given_is_kept_without_its_secrets(
    ledger: Ledger,
) -> None:
    asked = scripted_model(["Here."])
    given = {
        "api_key": "sk-very-secret-key",
        "extra_headers": {"a": "hidden-header"},
        "extra_body": {"my_api_key": "hidden-too"},
        "response_format": Recorded,
        "tools": [TOOL],
        "max_tokens": 7,
        "on_done": print,
    }
    run = runs.start(
        lambda: call(asked, [message("user", "Hi")], params=given),
        kind="t",
        owner=OWNER,
        ledger=ledger,
    )
    kept = ledger.request_of(OWNER, run.result().call_id)
    assert kept.tools == [TOOL], "a tool may well have a parameter that is called password"
    assert kept.parameters == {
        "model": "scripted",
        "stream": True,
        "api_key": "(not kept)",
        "extra_body": {"my_api_key": "(not kept)"},
        "response_format": "<agentkit.events.Recorded>",
        "max_tokens": 7,
        "on_done": "<builtins.builtin_function_or_method>",
    }
    assert not any(one in everything(ledger) for one in ("very-secret", "hidden"))


def test_a_call_that_never_got_out_is_told_too() -> None:
    heard: list[Event] = []
    with OpenAIServer(models=()) as server:
        nameless = Model("m", "M", OpenAIClient(server.base_url), "", "here")
        with bus.listening(heard.append), pytest.raises(ModelError, match="lists no models"):
            call(nameless, [message("user", "Hi")])
    assert [type(one).__name__ for one in heard] == ["ModelCalled", "ModelReplied"]


def test_a_ledger_that_fails_is_not_taken_for_a_server_that_does() -> None:
    class Full:
        def keep(self, run: RunKey, events: list[Recorded]) -> None:
            raise StoreError("the disk is full")

    def hear(event: Event) -> None:
        if isinstance(event, ModelCalled):
            Full().keep(RunKey("r", OWNER), [])

    with OpenAIServer(lambda body: Answer("Here.")) as server:
        asked = model(server)
        with bus.listening(hear), pytest.raises(StoreError, match="the disk is full"):
            call(asked, [message("user", "Hi")])
        assert server.requests == []
