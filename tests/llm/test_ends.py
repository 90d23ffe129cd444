"""How a reply ended: a cut one is told as a fact, wherever it goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentkit import runs
from agentkit.core import bus
from agentkit.database import Database
from agentkit.errors import BadModelReply, ModelError, ModelUnreachable
from agentkit.event_json import from_json, to_json
from agentkit.events import Event, ModelReplied, ReplyEnd, TokenDelta
from agentkit.ledger import Ledger, queries
from agentkit.llm.cache import Cache
from agentkit.llm.calls.client import call
from agentkit.llm.calls.ends import cut_by, end_of
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from agentkit.llm.model import Model, Reply
from agentkit.messages import message
from tests.servers.openai_server import Answer, OpenAIServer

ASK = [message("user", "hello")]
CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "wipe", "arguments": '{"folder": "old"}'},
}
HALF = {**CALL, "function": {"name": "wipe", "arguments": '{"folder": "ol'}}
BEGUN = {**CALL, "function": {"name": "wipe", "arguments": ""}}


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


class Asked:
    """A call, and the ends that were told of it."""

    def __init__(
        self, server: OpenAIServer, answer: Answer, stream: bool = True, attempts: int = 1
    ) -> None:
        server.script = lambda body: answer
        self.heard: list[Event] = []
        self.reply: Reply | None = None
        self.error: ModelError | None = None
        model = Model("x/test", "Test", OpenAIClient(server.base_url), "test-model", "test")
        with bus.listening(self.heard.append):
            try:
                self.reply = call(model, ASK, stream=stream, attempts=attempts)
            except ModelError as error:
                self.error = error

    @property
    def told(self) -> list[tuple[str, ReplyEnd | None]]:
        return [(one.status, one.end) for one in self.heard if isinstance(one, ModelReplied)]


STREAMS: list[tuple[Answer, ReplyEnd]] = [
    (Answer("one two"), "whole"),
    (Answer("one two", done=False), "whole"),
    (Answer("one two", finish=None), "whole"),
    (Answer("one two", finish="end_turn"), "whole"),
    (Answer("one two", finish=None, done=False), "broken_off"),
    (Answer("one two", finish=None, done=False, usage=False), "broken_off"),
    (Answer("one two", finish="error"), "broken_off"),
    (Answer("one two", finish="length"), "token_limit"),
    (Answer("one two", finish="max_tokens", done=False), "token_limit"),
    (Answer("one two", finish="content_filter"), "filtered"),
]


@pytest.mark.parametrize(("answer", "end"), STREAMS)
def test_a_stream_tells_how_it_ended(server: OpenAIServer, answer: Answer, end: ReplyEnd) -> None:
    asked = Asked(server, answer)
    assert asked.reply is not None
    assert (asked.reply.text, asked.reply.end, asked.told) == ("one two", end, [("ok", end)])


@pytest.mark.parametrize(
    ("finish", "end"), [(None, "whole"), ("stop", "whole"), ("length", "token_limit")]
)
def test_a_reply_in_one_piece_is_whole_unless_it_says_otherwise(
    server: OpenAIServer, finish: str | None, end: ReplyEnd
) -> None:
    asked = Asked(server, Answer("one two", finish=finish), stream=False)
    assert asked.reply is not None
    assert asked.reply.end == end


def test_an_event_that_breaks_off_in_its_middle_is_no_error_of_form(server: OpenAIServer) -> None:
    half = 'data: {"choices": [{"delta": {"content": "one two"}}]}\n\ndata: {"choices": [{"del'
    asked = Asked(server, Answer(body=half))
    assert asked.reply is not None
    assert (asked.reply.text, asked.reply.end) == ("one two", "broken_off")


@pytest.mark.parametrize("made", [CALL, HALF, BEGUN])
def test_a_call_that_breaks_off_is_not_made_but_asked_for_again(
    server: OpenAIServer, made: dict[str, Any]
) -> None:
    asked = Asked(server, Answer(tool_calls=[made], finish=None, done=False), attempts=2)
    assert isinstance(asked.error, ModelUnreachable)
    assert "before it was whole; try again" in str(asked.error)
    assert asked.told == [("failed", None)] * 2


@pytest.mark.parametrize("stream", [True, False])
def test_half_a_call_at_the_limit_of_tokens_is_not_made(server: OpenAIServer, stream: bool) -> None:
    for made in (HALF, BEGUN):
        asked = Asked(server, Answer(tool_calls=[CALL, made], finish="length"), stream=stream)
        assert isinstance(asked.error, BadModelReply)
        assert "was cut off while it called wipe, which is not run so; allow more tokens" in str(
            asked.error
        )
        assert sum(one.usage.total for one in asked.heard if isinstance(one, ModelReplied)) > 0
    asked = Asked(server, Answer(tool_calls=[CALL], finish="length"), stream=stream)
    assert asked.reply is not None
    assert (asked.reply.end, asked.reply.message["tool_calls"][0]["function"]["name"]) == (
        "token_limit",
        "wipe",
    )


def test_nothing_but_an_opening_is_tried_again(server: OpenAIServer) -> None:
    opening = 'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    asked = Asked(server, Answer(body=opening), attempts=2)
    assert isinstance(asked.error, ModelUnreachable)
    assert not [one for one in asked.heard if isinstance(one, TokenDelta)]
    assert len(asked.told) == 2


def test_a_cut_reply_of_a_broken_server_is_not_remembered(
    server: OpenAIServer, tmp_path: Path
) -> None:
    answers = [
        Answer("one", finish=None, done=False),
        Answer("one two", finish="length"),
        Answer("never"),
    ]
    server.script = lambda body: answers.pop(0)
    wrapper = OpenAIWrapper(
        config_list=[{"model": "m", "base_url": server.base_url, "api_key": "k"}]
    )
    with Cache.disk(1, str(tmp_path)) as cache:
        ends = [end_of(wrapper.create(messages=ASK, cache=cache, stream=True)) for _ in range(3)]
    assert ends == ["broken_off", "token_limit", "token_limit"], (
        "what the server would say again is remembered"
    )


def test_the_ledger_keeps_how_a_reply_ended(server: OpenAIServer, tmp_path: Path) -> None:
    server.script = lambda body: Answer("one two", finish="length")
    model = Model("x/test", "Test", OpenAIClient(server.base_url), "test-model", "test")
    database = Database(tmp_path / "agentkit.duckdb")
    ledger = Ledger(database)
    run = runs.start(lambda: call(model, ASK), kind="chat", ledger=ledger)
    assert run.result().end == "token_limit"
    (kept,) = [
        one.event
        for one in queries.events(ledger, "local", run.id)
        if isinstance(one.event, ModelReplied)
    ]
    assert kept.end == "token_limit"
    database.close()
    before = to_json(kept)
    del before["end"]  # as earlier versions wrote it
    assert from_json(before).end is None  # type: ignore[union-attr]


def test_scripts_and_clients_of_scripts_may_say_it() -> None:
    reply = call(scripted_model([{"content": "one", "reply_end": "broken_off"}]), ASK)
    assert reply.end == "broken_off"
    assert cut_by(call(scripted_model(["one"]), ASK).end) is None
    assert end_of(SimpleNamespace(choices=[SimpleNamespace(message=None)])) == "whole"
    assert (
        end_of(SimpleNamespace(choices=[SimpleNamespace(finish_reason="length")], reply_end=[]))
        == "token_limit"
    )
