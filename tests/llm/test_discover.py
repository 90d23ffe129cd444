"""Trying a connection: what is asked, what is told of it, and when it ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import Stopped
from agentkit.llm import Connection
from agentkit.llm.connections.contexts import Context
from agentkit.llm.connections.discover import PROBE_S, discover, probe, reachable
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.raw_server import RawServer, measured, reply

KEY = "a-key-of-azure"


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def test_a_probe_lists_the_models_and_asks_one() -> None:
    with OpenAIServer(lambda body: Answer("ready"), models=("small", "large")) as server:
        found = probe(Connection("x", server.base_url))
    assert found.ok
    assert found.models == ("small", "large")
    assert found.contexts == {"small": Context(4096), "large": Context(4096)}
    assert [(step.name, step.ok) for step in found.steps] == [
        ("List models", True),
        ("Ask small", True),
    ]
    assert "'ready'" in found.steps[1].detail
    assert server.chats[0]["stream"] is True


def test_a_probe_tells_the_dimension_where_the_server_embeds() -> None:
    with OpenAIServer(lambda body: Answer("ready"), models=("embedder", "small")) as server:
        found = probe(Connection("x", server.base_url))
    assert found.ok
    assert [(step.name, step.ok) for step in found.steps[1:]] == [
        ("Ask small", True),
        ("Embed with embedder", True),
    ]
    assert found.steps[2].detail == "3 numbers for a text."
    assert found.dimensions == {"embedder": 3}
    with OpenAIServer(lambda body: Answer("ready"), models=("broken-embedder", "small")) as server:
        found = probe(Connection("x", server.base_url))
    assert found.ok
    assert (found.steps[2].ok, "sends no vector" in found.steps[2].detail) == (False, True)


def test_a_probe_shows_the_exact_error() -> None:
    with OpenAIServer(
        lambda body: Answer(status=401, error={"message": "the key has expired"})
    ) as server:
        found = probe(Connection("x", server.base_url, models=("small",)))
    assert not found.ok
    assert "the key has expired" in found.steps[1].detail
    nobody = probe(Connection("x", "http://127.0.0.1:9/v1"))
    assert not nobody.ok
    assert "cannot be reached" in nobody.steps[0].detail


def test_local_servers_are_found_by_asking() -> None:
    with OpenAIServer(models=("a", "b")) as server:
        found = discover(2.0, (("Here", server.port), ("Nobody", 9)))
    assert found == [
        Connection("Here", f"http://127.0.0.1:{server.port}/v1", "", ("a", "b"), "found")
    ]


def test_a_server_that_hangs_is_given_up_after_ten_seconds_in_all(silent: str) -> None:
    assert PROBE_S == 10
    found = probe(Connection("x", silent, models=("small",)), timeout_s=0.5)
    assert not found.ok
    assert [step.name for step in found.steps] == ["List models"], "the next one is not begun"
    assert "did not answer within 0.5 s" in found.steps[0].detail
    assert "did not answer" in reachable(Connection("x", silent), 0.3).detail


def test_a_server_that_answers_drop_by_drop_is_given_up_too() -> None:
    with OpenAIServer(lambda body: Answer("one two three four", halt_after=2)) as server:
        found = probe(Connection("x", server.base_url, models=("small",)), timeout_s=3)
        server.go_on.set()
    assert [(step.name, step.ok) for step in found.steps] == [
        ("List models", True),
        ("Ask small", False),
    ]
    assert "did not answer within 3 s" in found.steps[1].detail


def test_a_server_with_a_problem_is_asked_once() -> None:
    with OpenAIServer(lambda body: Answer(status=503, error={"message": "busy"})) as server:
        found = probe(Connection("x", server.base_url, models=("small",)))
    assert not found.ok
    assert len(server.chats) == 1, "a test tries once"


def test_a_test_is_cancelled_at_once(silent: str) -> None:
    run = runs.start(lambda: probe(Connection("x", silent), timeout_s=600), kind="probe")
    assert not run.wait(0.2)
    run.stop()
    assert run.wait(60), "it waits for the server"
    with pytest.raises(Stopped):
        run.result()
    assert all(
        "agentkit-probe" not in one.name or not one.is_alive() for one in _ended("agentkit-probe")
    )


def _ended(name: str) -> list[threading.Thread]:
    """The threads of that name, each waited for."""
    found = [one for one in threading.enumerate() if one.name == name]
    for one in found:
        one.join(120)
    return found


@pytest.mark.parametrize(
    "sent",
    [
        measured(b"<html><body>Welcome</body></html>"),
        measured(b"<html>Sign in</html>", status="404 Not Found"),
        measured(b'"hello"'),
        measured(b'{"data": "none", "choices": 3}'),
        measured(b"", "Location: /login", status="302 Found"),
        reply(b"\xff\xfe\x00"),
        b"220 mail.example ESMTP\r\n",
    ],
)
def test_whatever_answers_is_told_in_the_steps(sent: bytes) -> None:
    with RawServer({"": sent}) as server:
        found = probe(
            Connection("x", server.url("/v1"), models=("small",), embedding_models=("e",))
        )
        assert not reachable(Connection("x", server.url("/v1"))).ok
        assert discover(2.0, (("Here", server.port),)) == []
    assert not found.ok
    assert [step.ok for step in found.steps] == [False] * 3


OLLAMA: dict[str, Any] = {
    "/api/ps": {"models": [{"name": "llama3:latest", "context_length": 4096}]},
    "/api/show": {
        "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
        "parameters": "stop x",
    },
}
NEW = {**OLLAMA["/api/show"], "parameters": "stop x\nnum_ctx     8192"}


@pytest.mark.parametrize(
    ("beside", "wanted"),
    [
        (OLLAMA, Context(4096, 131_072, cuts=True)),
        ({**OLLAMA, "/api/ps": {"models": []}}, Context(None, 131_072, cuts=True)),
        ({"/api/ps": {"models": []}, "/api/show": NEW}, Context(8192, 131_072, cuts=True)),
        ({"/api/ps": {"models": ["odd"]}, "/api/show": "odd"}, Context(None, None, cuts=True)),
        ({"/props": {"default_generation_settings": {"n_ctx": 2048}}}, Context(2048)),
        (
            {
                "/api/v0/models": {
                    "data": [
                        {"id": "llama3", "max_context_length": 9, "loaded_context_length": 8},
                    ]
                }
            },
            Context(8, 9),
        ),
        ({"/props": {"default_generation_settings": {"n_ctx": True}}}, None),
        ({}, None),
    ],
)
def test_the_real_context_is_asked_for(beside: dict[str, Any], wanted: Context | None) -> None:
    with OpenAIServer(
        lambda body: Answer("ready"), models=("llama3",), windows=False, beside=beside
    ) as server:
        found = probe(Connection("x", server.base_url, KEY))
    assert found.contexts == ({"llama3": wanted} if wanted else {})
    assert [step.ok for step in found.steps] == [True, True]
    assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in server.requests)


def test_azure_is_asked_by_deployment_and_version() -> None:
    ours = Connection(
        "A", "", KEY, ("chat",), "saved", ("embedder",), kind="azure", api_version="2024-10-21"
    )
    with OpenAIServer(lambda body: Answer("ready"), models=("gpt-5", "text-embedding-9")) as server:
        address = f"http://127.0.0.1:{server.port}"
        found = probe(Connection(**{**_fields(ours), "base_url": address}))
    assert [(step.name, step.ok) for step in found.steps] == [
        ("List models", True),
        ("Ask chat", True),
        ("Embed with embedder", True),
    ]
    assert (found.models, found.dimensions) == ((), {"embedder": 3}), (
        "what could be deployed is no offer"
    )
    assert [asked.path for asked in server.requests] == [
        "/openai/models",
        "/openai/deployments/chat/chat/completions",
        "/openai/deployments/embedder/embeddings",
    ]
    assert {asked.headers["api-key"] for asked in server.requests} == {KEY}


def _fields(connection: Connection) -> dict[str, Any]:
    return {name: getattr(connection, name) for name in connection.__dataclass_fields__}
