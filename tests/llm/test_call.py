"""The client against a real server on loopback: what is streamed, counted, retried, stopped, and
how failures are told.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentkit.core import bus, stopping
from agentkit.errors import (
    AgentkitError,
    BadModelReply,
    ContextTooLong,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelUnreachable,
    RateLimited,
    Stopped,
)
from agentkit.events import Event, ModelCalled, ModelReplied, TokenDelta
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.model import Model, Reply
from agentkit.messages import message
from tests.servers.openai_server import Answer, OpenAIServer, usage
from tests.timing import Clock

KEY = "sk-verysecret-0123456789"
ASK = [message("system", "Be brief."), message("user", "hello")]


class Asking:
    """A server that gives these answers in turn, the last one for ever, and a model there."""

    def __init__(self, server: OpenAIServer) -> None:
        self.server = server
        self.heard: list[Event] = []
        self.answers: list[Answer] = []
        server.script = self._next

    def _next(self, body: dict[str, Any]) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def __call__(
        self, *answers: Answer, stream: bool = True, name: str = "test-model", **params: Any
    ) -> Reply:
        self.answers = list(answers)
        model = Model("x/test", "Test", OpenAIClient(self.server.base_url, KEY), name, "test")
        with bus.listening(self.heard.append):
            return call(model, ASK, agent="Tester", stream=stream, params=params)

    @property
    def ends(self) -> list[ModelReplied]:
        return [event for event in self.heard if isinstance(event, ModelReplied)]


@pytest.fixture
def ask() -> Iterator[Asking]:
    with OpenAIServer() as server:
        yield Asking(server)


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_is_told_and_counted_and_costs_nothing_on_this_machine(
    ask: Asking, stream: bool
) -> None:
    reply = ask(Answer("hello big world"), stream=stream)
    assert (reply.text, reply.model, reply.stopped, reply.cost) == (
        "hello big world",
        "test-model",
        False,
        0.0,
    )
    said = usage("hello big world")
    assert reply.usage.total == said["total_tokens"]
    assert (reply.usage.cache_read, reply.usage.reasoning, reply.usage.estimated) == (20, 5, False)
    pieces = [event for event in ask.heard if isinstance(event, TokenDelta)]
    assert [piece.text for piece in pieces] == (["hello", " big", " world"] if stream else [])
    assert all(piece.agent == "Tester" and piece.call_id == reply.call_id for piece in pieces)
    (end,) = ask.ends
    assert (end.status, end.text, end.attempt, end.raw_usage["total_tokens"]) == (
        "ok",
        reply.text,
        1,
        said["total_tokens"],
    )
    assert (end.first_token_s is not None) == stream
    assert isinstance(ask.heard[0], ModelCalled)
    assert ask.server.chats[0]["messages"] == ASK


def test_the_key_travels_and_parameters_are_passed_on(ask: Asking) -> None:
    ask(Answer("fine"), temperature=0.5)
    assert ask.server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert ask.server.chats[0]["temperature"] == 0.5
    assert ask.server.chats[0]["stream_options"] == {"include_usage": True}


def test_a_server_that_counts_nothing_is_estimated(ask: Asking) -> None:
    reply = ask(Answer("hello world", usage=False))
    assert reply.usage.estimated
    assert reply.usage.output == 2
    assert reply.usage.input > 5


@pytest.mark.parametrize(
    "figures",
    [
        '{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}',
        '{"inputTokens": 9}',
        '{"total_tokens": 33}',
    ],
)
def test_a_usage_that_says_nothing_is_estimated(ask: Asking, figures: str) -> None:
    choice = (
        '{"index": 0, "message": {"role": "assistant", "content": "hello world"}, "finish_reason":'
        ' "stop"}'
    )
    body = (
        '{"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices":'
        f' [{choice}], "usage": {figures}}}'
    )
    reply = ask(Answer(body=body), stream=False)
    assert (reply.usage.estimated, reply.usage.output) == (True, 2)
    assert reply.usage.input > 5
    assert reply.cost == 0


def test_a_server_that_rejects_the_usage_option_is_asked_without(ask: Asking) -> None:
    def script(body: dict[str, Any]) -> Answer:
        if "stream_options" in body:
            return Answer(status=400, error={"message": "Unknown parameter: stream_options"})
        return Answer("done")

    ask.server.script = script
    model = Model("x/test", "Test", OpenAIClient(ask.server.base_url), "test-model", "test")
    assert [call(model, ASK).text for _ in range(2)] == ["done", "done"]
    assert ["stream_options" in body for body in ask.server.chats] == [True, False, False]


def test_an_empty_model_name_means_the_first_of_the_server(ask: Asking) -> None:
    assert ask(Answer("fine"), name="").model == "test-model"


@pytest.mark.parametrize("stream", [True, False])
def test_tool_calls_are_put_together(ask: Asking, stream: bool) -> None:
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate([("add", '{"a": 1, "b": 22}'), ("look", "{}")])
    ]
    reply = ask(Answer(tool_calls=calls), stream=stream)
    made = [
        (one["id"], one["function"]["name"], one["function"]["arguments"])
        for one in reply.message["tool_calls"]
    ]
    assert made == [("c0", "add", '{"a": 1, "b": 22}'), ("c1", "look", "{}")]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_trouble_is_tried_again_with_a_row_for_each_attempt(
    ask: Asking, status: int
) -> None:
    reply = ask(Answer(status=status, error={"message": "not now"}), Answer("now"))
    assert reply.text == "now"
    assert [(end.status, end.attempt) for end in ask.ends] == [("failed", 1), ("ok", 2)]
    assert [end.retry_in_s for end in ask.ends] == [0.5, None]
    assert len({end.call_id for end in ask.ends}) == 1
    assert ask.ends[0].cost == 0.0
    assert "not now" in ask.ends[0].error


def test_retry_after_is_honoured(ask: Asking) -> None:
    clock = Clock()
    with stopping.stoppable(clock):
        ask(
            Answer(status=429, error={"message": "slow down"}, headers={"retry-after": "7"}),
            Answer("ok"),
        )
    assert clock.waited == [7.0]


AZURE = (
    "Requests to the ChatCompletions_Create Operation have exceeded the token rate limit of your"
    " pricing tier. Please retry after 9 seconds. Please go here:"
    " https://aka.ms/oai/quotaincrease to further increase the default rate limit."
)
GOOGLE = "You exceeded your current quota, please check your plan. Please retry in 22.5s."


@pytest.mark.parametrize(
    ("said", "headers", "wait"),
    [(AZURE, {}, 9.0), (AZURE, {"retry-after": "4"}, 4.0), (GOOGLE, {}, 22.5)],
)
def test_a_rate_limit_that_speaks_of_quotas_is_waited_for(
    ask: Asking, said: str, headers: dict[str, str], wait: float
) -> None:
    clock = Clock()
    with stopping.stoppable(clock):
        reply = ask(Answer(status=429, error={"message": said}, headers=headers), Answer("ok"))
    assert (reply.text, clock.waited) == ("ok", [wait])


def test_it_gives_up_after_three_attempts(ask: Asking) -> None:
    with pytest.raises(ModelUnreachable, match="500: broken"):
        ask(Answer(status=500, error={"message": "broken"}))
    assert [end.attempt for end in ask.ends] == [1, 2, 3]
    assert [end.retry_in_s for end in ask.ends] == [0.5, 1.0, None]


def test_a_long_wait_is_left_to_the_user(ask: Asking) -> None:
    with pytest.raises(RateLimited, match="3600 s"):
        ask(Answer(status=429, error={"message": "later"}, headers={"retry-after": "3600"}))
    assert len(ask.ends) == 1


def test_a_stop_ends_the_wait_for_the_next_attempt(ask: Asking) -> None:
    signal = stopping.StopSignal()

    def stop_at_failure(event: Event) -> None:
        if isinstance(event, ModelReplied):
            signal.set()

    with stopping.stoppable(signal), bus.listening(stop_at_failure), pytest.raises(Stopped):
        ask(Answer(status=429, error={"message": "slow"}, headers={"retry-after": "50"}))
    assert [end.status for end in ask.ends] == ["failed"]


FAILURES = [
    (
        Answer(status=401, error={"message": f"Incorrect API key provided: {KEY}"}),
        ModelAuthFailed,
        "refuses the key",
    ),
    (Answer(status=403, error={"message": "not for you"}), ModelAuthFailed, "not for you"),
    (
        Answer(status=404, error={"message": "The model `nope` does not exist"}),
        ModelNotFound,
        "has no model 'test-model'",
    ),
    (Answer(status=404, error={"message": "Not Found"}), ModelNotFound, "usually ends in /v1"),
    (
        Answer(status=400, error={"message": "too long", "code": "x"}),
        ModelError,
        "rejects the request",
    ),
    (
        Answer(status=400, error={"message": "This model's maximum context length is 8 tokens"}),
        ContextTooLong,
        "fewer passages",
    ),
    (
        Answer(status=400, error={"message": "the request exceeds the available context size"}),
        ContextTooLong,
        "larger context",
    ),
    (
        Answer(
            status=429,
            error={"message": "You exceeded your current quota", "code": "insufficient_quota"},
        ),
        RateLimited,
        "credit",
    ),
    (
        Answer(status=429, error={"message": "The daily quota is used up."}),
        RateLimited,
        "credit",
    ),
    (Answer(body="data: {oops\n\n"), BadModelReply, "not JSON"),
    (Answer(body=""), BadModelReply, "without a word"),
    (Answer(""), BadModelReply, "empty reply"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), FAILURES)
def test_failures_are_told_in_our_own_errors_and_not_retried(
    ask: Asking, answer: Answer, kind: type[ModelError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        ask(answer)
    assert type(caught.value) is kind
    (end,) = ask.ends
    assert (end.status, end.error_type, end.error) == ("failed", kind.__name__, str(caught.value))


@pytest.mark.parametrize("body", ["{oops", "<html>hello</html>", '{"choices": []}', "[]", '"text"'])
def test_what_is_no_reply_is_told(ask: Asking, body: str) -> None:
    with pytest.raises(BadModelReply):
        ask(Answer(body=body), stream=False)


def test_an_empty_reply_has_its_price_all_the_same(ask: Asking) -> None:
    with pytest.raises(BadModelReply):
        ask(Answer(""))
    assert ask.ends[0].usage.prompt == usage("")["prompt_tokens"]


def test_a_connection_that_breaks_keeps_what_came_and_is_not_tried_again(ask: Asking) -> None:
    with pytest.raises(ModelUnreachable):
        ask(Answer("one two three four", drop_after=2))
    (end,) = ask.ends
    assert (end.status, end.text) == ("failed", "one two")
    assert end.usage.estimated
    assert end.usage.output == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("stream", [True, False])
def test_a_redirect_takes_neither_key_nor_question_to_another_server(
    ask: Asking, status: int, stream: bool
) -> None:
    with OpenAIServer() as other:
        place = f"{other.base_url}/chat/completions"
        with pytest.raises(
            ModelError, match=rf"sends the request on to {place} \({status}\).*enter that address"
        ):
            ask(Answer(status=status, headers={"location": f"{place}?key={KEY}"}), stream=stream)
        assert not other.requests
    assert len(ask.ends) == 1


def test_a_login_in_the_address_goes_to_that_server_alone(ask: Asking) -> None:
    address = ask.server.base_url.replace("//", "//me:secret@")
    model = Model("x", "x", OpenAIClient(address), "test-model", "x")
    ask.server.script = lambda body: Answer("fine")
    assert call(model, ASK).text == "fine"
    with OpenAIServer() as other:
        ask.server.script = lambda body: Answer(
            status=307, headers={"location": f"{other.base_url}/chat/completions"}
        )
        with pytest.raises(ModelError, match="sends the request on") as caught:
            call(model, ASK)
        assert not other.requests
    assert "secret" not in str(caught.value)


def test_nobody_at_the_address_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        ModelUnreachable, match=rf"127.0.0.1:{port}/v1 cannot be reached \(.*refused"
    ):
        call(Model("x", "x", OpenAIClient(f"http://127.0.0.1:{port}/v1"), "m", "x"), ASK)


def test_a_silent_server_is_told(ask: Asking) -> None:
    ask.server.script = lambda body: Answer("late", delay_s=30)
    slow = Model("x", "x", OpenAIClient(ask.server.base_url, read_timeout_s=0.1), "m", "x")
    with pytest.raises(ModelUnreachable, match="did not answer in time"):
        call(slow, ASK)


def test_a_stop_closes_the_stream_and_keeps_what_came(ask: Asking) -> None:
    reply = stopped_when(
        ask,
        lambda heard: sum(isinstance(event, TokenDelta) for event in heard) >= 3,
        stream=True,
        delay_s=0.02,
    )
    assert reply.stopped
    assert 3 <= len(reply.text.split()) < 1000
    assert ask.server.broken_off.wait(60), "the server was not told that nobody listens any more"
    (end,) = ask.ends
    assert (end.status, end.text) == ("stopped", reply.text)


@pytest.mark.parametrize("stream", [True, False])
def test_a_stop_before_the_first_word_ends_the_wait(ask: Asking, stream: bool) -> None:
    reply = stopped_when(ask, lambda heard: bool(ask.server.chats), stream=stream, delay_s=300)
    assert reply.stopped
    assert reply.text == ""
    assert [end.status for end in ask.ends] == ["stopped"]


def stopped_when(
    ask: Asking, ready: Callable[[list[Event]], bool], *, stream: bool, delay_s: float
) -> Reply:
    """Ask for a very long reply and stop as soon as `ready` says."""
    signal, done = stopping.StopSignal(), threading.Event()

    def watch() -> None:
        while not ready(list(ask.heard)) and not done.wait(0.005):
            pass
        signal.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with stopping.stoppable(signal):
            return ask(Answer("word " * 1000, delay_s=delay_s), stream=stream)
    finally:
        done.set()
        watcher.join()


def test_the_key_is_nowhere(ask: Asking, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ModelAuthFailed) as caught:
        ask(Answer(status=401, error={"message": f"Incorrect API key provided: {KEY}"}))
    error: BaseException | None = caught.value
    assert isinstance(error, AgentkitError)
    assert error.__cause__ is None
    assert error.__suppress_context__
    model = Model("x", "x", OpenAIClient(ask.server.base_url, KEY), "m", "x")
    shown = [str(error), repr(error), repr(ask.heard), repr(model), repr(model.client), caplog.text]
    assert not [text for text in shown if "verysecret" in text]
