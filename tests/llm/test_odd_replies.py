"""Whatever a server sends with status 200: an answer or clear words, never a raw exception, and one
row in the ledger.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit import runs
from agentkit.database import Database
from agentkit.errors import AgentkitError, BadModelReply, ModelUnreachable
from agentkit.ledger import Ledger
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.replies import LONGEST_REPLY, MOST_CALLS
from agentkit.llm.model import Model, Reply
from agentkit.messages import message
from tests.servers.openai_server import Answer, OpenAIServer

Body = dict[str, Any]
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 3,
    "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 4},
}


def whole(content: Any = "hello", finish: Any = "stop", **rest: Any) -> Body:
    """A reply in one piece."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **rest},
        "finish_reason": finish,
    }
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": USAGE,
    }


def chunk(delta: Any, finish: Any = None, **rest: Any) -> Body:
    """A piece of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        **rest,
    }


def streamed(*chunks: Any, done: bool = True) -> str:
    """Chunks as they stand in a stream."""
    said = [json.dumps(each) for each in chunks] + (["[DONE]"] if done else [])
    return "".join(f"data: {each}\n\n" for each in said)


@dataclass(frozen=True)
class Outcome:
    """What came of a call: a reply or an error, and what stands of it in the ledger."""

    reply: Reply | None
    error: AgentkitError | None
    row: dict[str, Any]


class Asking:
    """A server, a ledger, and a call that is asked once in a run of its own."""

    def __init__(self, server: OpenAIServer, ledger: Ledger) -> None:
        self.server = server
        self.ledger = ledger
        self._model = Model("x/test", "Test", OpenAIClient(server.base_url), "test-model", "test")

    def __call__(self, answer: Answer | str, *, stream: bool) -> Outcome:
        self.server.script = lambda body: (
            answer if isinstance(answer, Answer) else Answer(body=answer)
        )
        ask = [message("user", "hello")]
        run = runs.start(
            lambda: call(self._model, ask, stream=stream, attempts=1),
            kind="chat",
            ledger=self.ledger,
        )
        reply, error = None, None
        try:
            reply = run.result()
        except AgentkitError as raised:
            error = raised
        (row,) = self.ledger.database.rows("select * from llm_calls where run_id = ?", [run.id])
        return Outcome(reply, error, row)


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    database = Database(tmp_path_factory.mktemp("odd") / "agentkit.duckdb")
    with OpenAIServer() as server:
        yield Asking(server, Ledger(database))
    database.close()


def is_told(outcome: Outcome) -> None:
    """Either there is an answer, or words that name the server, what it did and what to do."""
    assert (outcome.reply is None) != (outcome.error is None)
    if outcome.reply is not None:
        assert outcome.row["status"] == "ok"
        said = outcome.reply.message
        called = said.get("tool_calls") or said.get("function_call")
        assert outcome.reply.text.encode() or called
        return
    assert isinstance(outcome.error, BadModelReply | ModelUnreachable)
    words = str(outcome.error)
    assert (outcome.row["status"], outcome.row["error"]) == ("failed", words)
    assert "127.0.0.1" in words or "The model" in words
    assert any(
        advice in words for advice in ("; ask ", "; check", "; try again", ", or choose another")
    )
    assert len(words) < 700


FINE: dict[str, tuple[Body, str]] = {
    "the content in parts": (
        whole([{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]),
        "hello",
    ),
    "thoughts among the parts": (
        whole([{"type": "thinking", "thinking": []}, {"type": "text", "text": "hello"}]),
        "hello",
    ),
    "no reason to finish": (whole(finish=None), "hello"),
    "a reason that is no text": (whole(finish={"why": 1}), "hello"),
    "no usage": ({**whole(), "usage": None}, "hello"),
    "names of the wrong type": (
        {**whole(), "id": 7, "created": "x", "model": [], "object": None},
        "hello",
    ),
    "names of Python's own": (
        {**whole(), "_fields_set": 5, "__cls": 5, "self": 1, "reply_end": []},
        "hello",
    ),
    "half a character": (whole("he\ud83dllo"), "he\ufffdllo"),
    "known parts of the wrong type": (whole(annotations=5, audio="x", role=9), "hello"),
}


@pytest.mark.parametrize("name", FINE)
def test_what_can_be_read_is_read(ask: Asking, name: str) -> None:
    body, text = FINE[name]
    outcome = ask(json.dumps(body), stream=False)
    is_told(outcome)
    assert outcome.reply is not None
    assert outcome.reply.text == text


PIECES: dict[str, tuple[str, str]] = {
    "a delta of null": (
        streamed(chunk({"content": "hello"}), chunk(None), chunk(None, "stop")),
        "hello",
    ),
    "choices of null": (
        streamed(chunk({"content": "hello"}, "stop"), {"choices": None, "usage": USAGE}),
        "hello",
    ),
    "content in parts": (
        streamed(chunk({"content": [{"type": "text", "text": "hello"}]}, "stop")),
        "hello",
    ),
    "no number": (streamed({"choices": [{"delta": {"content": "hello"}}]}), "hello"),
    "comments and other lines": (
        ": wait\n\nevent: x\nid: 1\n" + streamed(chunk({"content": "hello"}, "stop")),
        "hello",
    ),
    "lines that end otherwise": (
        streamed(chunk({"content": "hello"}, "stop")).replace("\n", "\r\n"),
        "hello",
    ),
    "an event in several lines": (
        'data: {"choices": [{"delta":\ndata: {"content": "hello"}}]}\n\ndata: [DONE]\n\n',
        "hello",
    ),
    "line ends of Unicode": (
        streamed(chunk({"content": "one"})).replace("one", "one\u2028two"),
        "one\u2028two",
    ),
    "a last event without its end": (
        streamed(chunk({"content": "hello"}, "stop"), done=False).rstrip("\n"),
        "hello",
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_a_stream_that_can_be_read_is_read(ask: Asking, name: str) -> None:
    body, text = PIECES[name]
    outcome = ask(body, stream=True)
    is_told(outcome)
    assert outcome.reply is not None
    assert outcome.reply.text == text


def test_who_is_asked_for_a_stream_may_send_all_at_once(ask: Asking) -> None:
    kind = {"content-type": "application/json"}
    outcome = ask(Answer(body=json.dumps(whole()), headers=kind), stream=True)
    assert outcome.reply is not None
    assert outcome.reply.text == "hello"


REFUSED: dict[str, tuple[Body, str]] = {
    "content of 42": (whole(42), "sent 42 as the text"),
    "content of an object": (whole({"text": "hello"}), "as the text"),
    "a number among the parts": (whole([42]), r"sent \[42\] as the text"),
    "a refusal of 42": (whole(None, refusal=42), "sent 42 as the text"),
    "no choices": ({**whole(), "choices": None}, "not as OpenAI's chat API does"),
    "choices of 42": ({**whole(), "choices": 42}, "sent 42 as the choices"),
    "a choice of null": ({**whole(), "choices": [None]}, r"sent \[None\] as the choices"),
    "a message that is a text": (
        {**whole(), "choices": [{"message": "hello"}]},
        "sent 'hello' as the message",
    ),
    "a message of null": ({**whole(), "choices": [{"message": None}]}, "empty reply"),
    "a call of null": (whole(tool_calls=[None]), "as the tool calls"),
    "a call without its function": (
        whole(tool_calls=[{**CALL, "function": None}]),
        "as the call of a function",
    ),
    "a function that is a text": (
        whole(tool_calls=[{**CALL, "function": "add"}]),
        "sent 'add' as the call",
    ),
    "a function without a name": (
        whole(tool_calls=[{**CALL, "function": {"arguments": "{}"}}]),
        "as the call of a function",
    ),
    "arguments of 42": (
        whole(tool_calls=[{**CALL, "function": {"name": "add", "arguments": 42}}]),
        "as the call of a function",
    ),
    "an id of 42": (whole(tool_calls=[{**CALL, "id": 42}]), "as a tool call"),
    "calls that are no list": (whole(tool_calls={"0": CALL}), "as the tool calls"),
    "the older call of 42": (whole(None, function_call=42), "sent 42 as the call of a function"),
    "an error": ({"error": {"message": "the house burns"}}, "could not answer.*the house burns"),
    "an error without words": ({"error": 42}, "no reason given"),
    "too many calls": (
        whole(None, tool_calls=[CALL] * (MOST_CALLS + 1)),
        "65 calls of functions, of which 64",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_words(ask: Asking, name: str) -> None:
    body, words = REFUSED[name]
    outcome = ask(json.dumps(body), stream=False)
    is_told(outcome)
    with pytest.raises(BadModelReply, match=words):
        raise outcome.error or AssertionError(outcome.reply)


SPOILT: dict[str, tuple[str, str]] = {
    "a piece of 42": (streamed(42), "sent 42 as a piece"),
    "a delta of 42": (streamed(chunk(42)), "sent 42 as a piece"),
    "content of 42": (
        streamed(chunk({"content": "a"}), chunk({"content": 42})),
        "sent 42 as the text",
    ),
    "choices of 42": (streamed({"choices": 42}), "sent 42 as the choices"),
    "a number that is none": (
        streamed({"choices": [{"index": "first", "delta": {}}]}),
        "as the number of a choice",
    ),
    "a number beyond all": (
        streamed({"choices": [{"index": 10**30, "delta": {}}]}),
        "as the number of a choice",
    ),
    "a call without a name": (
        streamed(chunk({"tool_calls": [{"id": "c", "function": None}]}, "stop")),
        "without a name",
    ),
    "a call with a number that is none": (
        streamed(chunk({"tool_calls": [{**CALL, "index": "a"}]})),
        "the number of a tool call",
    ),
    "an error in the middle": (
        streamed(chunk({"content": "a"}), {"error": {"message": "out of paper"}}),
        "out of paper",
    ),
    "a number of 5,000 digits": ("data: " + "1" * 5000 + "\n\n", "not JSON"),
    "lists within lists": ("data: " + "[" * 50_000 + "]" * 50_000 + "\n\n", "not JSON"),
    "lists within lists, not too many for Python": (
        "data: " + "[" * 200 + "]" * 200 + "\n\n",
        "nests deeper",
    ),
    "no JSON": ("data: {oops\n\n", "not JSON"),
    "nothing": ("", "without a word"),
    "a page": ("<html><body>Welcome</body></html>", "without a word"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_stream_that_cannot_be_read_is_refused_in_words(ask: Asking, name: str) -> None:
    body, words = SPOILT[name]
    outcome = ask(body, stream=True)
    is_told(outcome)
    with pytest.raises(BadModelReply, match=words):
        raise outcome.error or AssertionError(outcome.reply)


COUNTS: tuple[Any, ...] = (10**30, -5, "12", "many", 1.5, True, [], {})


@pytest.mark.parametrize(
    "name", ["prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"]
)
@pytest.mark.parametrize("count", COUNTS, ids=repr)
def test_a_count_that_cannot_be_is_counted_here(ask: Asking, name: str, count: Any) -> None:
    usage = (
        {**USAGE, "prompt_tokens_details": {"cached_tokens": count}}
        if name == "cached_tokens"
        else {**USAGE, name: count}
    )
    for stream in (False, True):
        body = (
            streamed(chunk({"content": "hello"}, "stop", usage=usage))
            if stream
            else json.dumps({**whole(), "usage": usage})
        )
        outcome = ask(body, stream=stream)
        is_told(outcome)
        assert outcome.row["estimated"]
        assert 0 < outcome.row["input_tokens"] < 100
        assert (outcome.row["output_tokens"], json.loads(outcome.row["raw_usage"])) == (1, {})


@pytest.mark.parametrize("usage", [42, "much", [], [1]])
def test_a_usage_that_is_none_is_counted_here(ask: Asking, usage: Any) -> None:
    outcome = ask(json.dumps({**whole(), "usage": usage}), stream=False)
    is_told(outcome)
    assert outcome.row["estimated"]


def test_notes_beside_the_counts_are_kept(ask: Asking) -> None:
    usage = {
        **USAGE,
        "cost": 0.25,
        "is_byok": False,
        "cost_details": {"upstream": None},
        "queue_time": 1e999,
    }
    outcome = ask(json.dumps({**whole(), "usage": usage}), stream=False)
    raw = json.loads(outcome.row["raw_usage"])
    assert (raw["prompt_tokens"], raw["cost"], raw["is_byok"], "queue_time" in raw) == (
        9,
        0.25,
        False,
        False,
    )
    assert not outcome.row["estimated"]


def test_a_reply_that_is_refused_keeps_what_it_took(ask: Asking) -> None:
    outcome = ask(json.dumps(whole(42)), stream=False)
    assert (
        outcome.row["input_tokens"],
        outcome.row["cache_read_tokens"],
        outcome.row["output_tokens"],
    ) == (5, 4, 3)
    assert json.loads(outcome.row["raw_usage"]) == {}
    page = ask("<html>Welcome</html>", stream=False)
    assert (page.row["input_tokens"], page.row["cost"]) == (0, 0.0), "no model has replied"


def test_a_text_without_end_is_cut_and_the_server_is_left(ask: Asking) -> None:
    ask.server.broken_off.clear()
    outcome = ask(
        Answer(over_and_over=streamed(chunk({"content": "word " * 2000}), done=False)), stream=True
    )
    assert ask.server.broken_off.wait(60), "the server was left writing"
    assert outcome.reply is not None
    assert (len(outcome.reply.text), outcome.reply.end) == (LONGEST_REPLY, "too_long")
    assert outcome.row["output_tokens"] > LONGEST_REPLY / 10
    assert outcome.row["estimated"]


def test_a_text_beyond_all_in_one_piece_is_cut(ask: Asking) -> None:
    outcome = ask(json.dumps(whole("x" * (LONGEST_REPLY + 1))), stream=False)
    assert outcome.reply is not None
    assert (len(outcome.reply.text), outcome.reply.end) == (LONGEST_REPLY, "too_long")


ENDLESS: dict[str, tuple[str, str]] = {
    "calls": (
        streamed(chunk({"tool_calls": [{"id": "c", "function": {"name": "add"}}]}), done=False),
        "64 calls",
    ),
    "arguments": (
        streamed(
            chunk(
                {"tool_calls": [{"index": 0, "function": {"name": "", "arguments": "1" * 9000}}]}
            ),
            done=False,
        ),
        "calls of functions in a reply of more than 2,000,000 characters",
    ),
    "a line": ("x" * 60_000, "more than 32 MB"),
    "lines of one event": ("data:" + "x" * 60_000 + "\n", "more than 32 MB"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_refused_and_the_server_is_left(ask: Asking, name: str) -> None:
    piece, words = ENDLESS[name]
    ask.server.broken_off.clear()
    outcome = ask(Answer(over_and_over=piece), stream=True)
    assert ask.server.broken_off.wait(60), "the server was left writing"
    is_told(outcome)
    with pytest.raises(BadModelReply, match=words):
        raise outcome.error or AssertionError(outcome.reply)


@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_end_is_left_too(ask: Asking, status: int) -> None:
    ask.server.broken_off.clear()
    outcome = ask(Answer(over_and_over="x" * 60_000, status=status), stream=False)
    assert ask.server.broken_off.wait(60), "the server was left writing"
    assert (
        "32 MB" in outcome.row["error"]
        if status == 200
        else "a problem of its own (500: xxx" in outcome.row["error"]
    )


def test_an_error_with_half_a_character_is_told(ask: Asking) -> None:
    outcome = ask(
        Answer(status=400, body='{"error": {"message": "no \\ud800 here"}}'), stream=False
    )
    assert "400: no ? here" in outcome.row["error"]


# Any node of a proper reply is replaced by anything.

NUMBERS = st.integers() | st.just(10**30) | st.floats()
BARE = st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | st.just("x" * 70_000)


def holding(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)


JSON = BARE | holding(BARE) | holding(holding(BARE))
WHOLE = whole(tool_calls=[CALL], refusal=None)
CHUNKS = [
    chunk({"role": "assistant", "content": "hel"}),
    chunk({"content": "lo", "tool_calls": [{"index": 0, **CALL}]}),
    chunk({"function_call": {"name": "add", "arguments": "{}"}}, "stop"),
    {"choices": [], "usage": USAGE},
]
MUCH = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.data_too_large,
    ],
)


def places(value: Any) -> list[Callable[[Any], None]]:
    """For each node of a JSON value a function that puts something else there."""
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found: list[Callable[[Any], None]] = []
    for key, child in children:
        found += [partial(value.__setitem__, key), *places(child)]
    return found


@st.composite
def spoilt(draw: st.DrawFn, proper: Any) -> Any:
    made = copy.deepcopy(proper)
    for _ in range(draw(st.integers(1, 2))):
        draw(st.sampled_from(places(made)))(draw(JSON))
    return made


@MUCH
@given(body=spoilt(WHOLE))
def test_a_reply_with_anything_in_it_is_told(ask: Asking, body: Any) -> None:
    is_told(ask(json.dumps(body), stream=False))


@MUCH
@given(chunks=spoilt(CHUNKS), done=st.booleans())
def test_a_stream_with_anything_in_it_is_told(ask: Asking, chunks: Any, done: bool) -> None:
    is_told(ask(streamed(*chunks, done=done), stream=True))
