"""Connections to model servers are used again, by one request at a time, and a stop cuts the one
that runs.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentkit import AssistantAgent
from agentkit.core import connections, stopping
from agentkit.errors import ModelError, Stopped
from agentkit.llm import Model, call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.messages import Message
from agentkit.retrieval.embedding.rerank import ServerReranker
from agentkit.retrieval.embedding.servers import ServerEmbedder
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.raw_server import CERTIFICATE

ASK: list[Message] = [{"role": "user", "content": "Hello?"}]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    connections.close_idle()
    scores = {"results": [{"index": 0, "relevance_score": 0.5}]}
    with OpenAIServer(
        lambda body: Answer("Good day to you."), beside={"/v1/rerank": scores}
    ) as running:
        yield running
    connections.close_idle()


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nothing that is idle is too old."""
    monkeypatch.setattr(connections, "KEPT_S", 3600.0)


def model(server: OpenAIServer) -> Model:
    return Model("x", "x", OpenAIClient(server.base_url, "key"), "test-model", "x")


@pytest.mark.parametrize("stream", [True, False])
def test_ten_calls_go_over_one_connection(server: OpenAIServer, stream: bool) -> None:
    for _ in range(10):
        assert call(model(server), ASK, stream=stream).text == "Good day to you."
    assert len(server.chats) == 10
    assert len(server.connections) == 1


def test_so_do_agents_of_both_kinds_and_loops_that_end(server: OpenAIServer) -> None:
    entry = {"model": "test-model", "api_key": "key", "base_url": server.base_url}
    agent = AssistantAgent("agent", llm_config={"config_list": [entry], "cache_seed": None})
    for _ in range(3):
        assert agent.generate_reply(messages=list(ASK)) == "Good day to you."
        assert asyncio.run(agent.a_generate_reply(messages=list(ASK))) == "Good day to you."
    assert len(server.chats) == 6
    assert len(server.connections) == 1


def test_so_do_embedding_and_reranking(server: OpenAIServer) -> None:
    embedder = ServerEmbedder(server.base_url, "key", "embedder")
    for _ in range(3):
        assert embedder.embed(["Cats sleep."]).shape == (1, 3)
        assert ServerReranker(server.base_url, "key", "r").scores("cats", ["Cats sleep."]) == [0.5]
    assert len(server.requests) == 1 + 3 + 3
    assert len(server.connections) == 1


def test_calls_side_by_side_have_their_own_and_leave_them_to_the_next(server: OpenAIServer) -> None:
    both = threading.Barrier(2)

    def script(body: dict[str, object]) -> Answer:
        return Answer("Good day to you.", halt_after=1)

    server.script = script

    def ask() -> str:
        both.wait(60)
        return call(model(server), ASK).text

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask) for _ in range(2)]
        while len(server.chats) < 2:
            threading.Event().wait(0.005)
        server.go_on.set()
        assert [each.result() for each in asked] == ["Good day to you."] * 2
    assert len(server.connections) == 2
    assert call(model(server), ASK).text == "Good day to you."
    assert len(server.connections) == 2


def test_a_stop_cuts_a_request_over_a_connection_that_was_used_before(server: OpenAIServer) -> None:
    call(model(server), ASK)
    server.script = lambda body: Answer("word " * 1000, halt_after=0)
    signal = stopping.StopSignal()
    stopper = threading.Thread(target=stop_after, args=(server, 2, signal))
    stopper.start()
    with stopping.stoppable(signal):
        assert call(model(server), ASK).stopped
    stopper.join()
    assert server.broken_off.wait(60), "the server was not told that nobody listens any more"
    server.script = lambda body: Answer("Here again.")
    assert call(model(server), ASK).text == "Here again."
    assert len(server.connections) == 2


def test_so_it_is_over_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    connections._certificates.cache_clear()
    signal = stopping.StopSignal()
    try:
        with OpenAIServer(
            lambda body: Answer("Good day to you."), certificate=CERTIFICATE
        ) as server:
            call(model(server), ASK)
            call(model(server), ASK)
            assert len(server.connections) == 1
            server.script = lambda body: Answer("word " * 1000, halt_after=0)
            stopper = threading.Thread(target=stop_after, args=(server, 3, signal))
            stopper.start()
            with stopping.stoppable(signal):
                assert call(model(server), ASK).stopped
            stopper.join()
            assert server.broken_off.wait(60)
    finally:
        connections.close_idle()
        connections._certificates.cache_clear()


def test_a_stop_cuts_an_embedding(server: OpenAIServer) -> None:
    embedder = ServerEmbedder(server.base_url, "key", "embedder")
    embedder.embed(["Cats sleep."])
    answered, signal = threading.Event(), stopping.StopSignal()

    def slow(body: dict[str, object]) -> Answer:
        signal_soon.start()
        answered.wait(60)
        return Answer(status=400)

    signal_soon = threading.Thread(target=signal.set)
    server.embed = slow
    with stopping.stoppable(signal), pytest.raises(Stopped):
        embedder.embed(["Cats sleep."])
    assert not answered.is_set()  # it did not wait for the server
    answered.set()
    signal_soon.join()


def test_a_stop_that_comes_late_cuts_nobody_else(server: OpenAIServer) -> None:
    call(model(server), ASK)
    with connections.line(server.base_url, connect_s=10, silence_s=60) as first:
        assert first.http.get(f"{server.base_url}/models").status_code == 200
    with connections.line(server.base_url, connect_s=10, silence_s=60) as second:
        assert second.http is first.http
        first.cut()
        assert second.http.get(f"{server.base_url}/models").status_code == 200
    assert not first.is_cut
    assert len(server.connections) == 1


def test_a_server_that_was_started_anew_is_reached(server: OpenAIServer) -> None:
    call(model(server), ASK)
    again = OpenAIServer(lambda body: Answer("After a rest."), port=0)
    server.__exit__()
    with pytest.raises(ModelError, match="cannot be reached"):
        call(model(server), ASK, attempts=1)
    with again:
        assert call(model(again), ASK).text == "After a rest."


def test_a_refusal_leaves_nothing_behind(server: OpenAIServer) -> None:
    server.script = lambda body: Answer(status=400, error={"message": "no"})
    for _ in range(3):
        with pytest.raises(ModelError):
            call(model(server), ASK)
    server.script = lambda body: Answer("Good.", headers={"set-cookie": "a=b"})
    call(model(server), ASK)
    call(model(server), ASK)
    assert all("cookie" not in asked.headers for asked in server.requests)


def test_a_server_that_goes_on_after_its_last_word_is_not_waited_for(server: OpenAIServer) -> None:
    whole = call(model(server), ASK)
    chunk = '{"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}'
    server.script = lambda body: Answer(over_and_over=f"data: {chunk}\n\ndata: [DONE]\n\n")
    assert call(model(server), ASK).text == "Done."
    server.script = lambda body: Answer("Good day to you.")
    assert call(model(server), ASK).text == whole.text


def test_what_is_idle_for_long_is_closed(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(model(server), ASK)
    (kept,) = connections._idle
    monkeypatch.setattr(connections, "KEPT_S", 0.0)
    call(model(server), ASK)
    assert kept.http.is_closed
    assert len(server.connections) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_opens_its_own_and_leaves_those_of_its_parent(
    server: OpenAIServer,
) -> None:
    asked = model(server)
    call(asked, ASK)
    said = multiprocessing.get_context("fork").SimpleQueue()

    def child() -> None:
        said.put(call(asked, ASK).text)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert said.get() == "Good day to you."
    assert len(server.connections) == 2
    call(asked, ASK)
    assert len(server.connections) == 2


def stop_after(server: OpenAIServer, chats: int, signal: stopping.StopSignal) -> None:
    """Stop when the server was asked so often."""
    while len(server.chats) < chats:
        threading.Event().wait(0.005)
    signal.set()
