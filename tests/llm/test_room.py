"""The guard before every request: below the window, with what must stay, and told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core import bus
from agentkit.errors import ContextTooLong
from agentkit.events import Compressed, Event, ModelCalled
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.calls.room import STRATEGY, fit_messages, room_in, shorten
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import count_messages
from agentkit.messages import FunctionCall, Message, ToolCall, message
from tests.servers.openai_server import Answer, OpenAIServer

WINDOW = 4_000
QUESTION = message("user", "What came out?")
SYSTEM = message("system", "You are a calm assistant.")
LINES = "".join(f"line {number}: {number * 37}\n" for number in range(20_000))


def model(window: int | None = WINDOW) -> Model:
    return replace(scripted_model(lambda params: "So it is."), context_window=window)


def called(number: int, result: str, before: str | None = None) -> list[Message]:
    """A call of a tool with its result."""
    function: FunctionCall = {"name": "look", "arguments": json.dumps({"n": number})}
    made: list[ToolCall] = [{"id": f"call_{number}", "type": "function", "function": function}]
    return [
        {"role": "assistant", "content": before, "tool_calls": made},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def tokens(messages: Sequence[Message]) -> int:
    return count_messages(messages, "scripted")[0]


def fit(messages: Sequence[Message], window: int = WINDOW) -> tuple[list[Message], list[Event]]:
    heard: list[Event] = []
    with bus.listening(heard.append):
        made = fit_messages(model(window), messages, [], {}, "A")
    return made, heard


def test_what_fits_is_sent_as_it_is() -> None:
    given_messages = [SYSTEM, *called(1, "42"), QUESTION]
    made, heard = fit(given_messages)
    assert (made, heard) == (given_messages, [])
    assert fit_messages(model(None), [message("user", LINES)], [], {}, "A") == [
        message("user", LINES)
    ]


def test_the_first_and_last_lines_of_a_long_result_are_sent() -> None:
    before = [SYSTEM, QUESTION, *called(1, LINES)]
    made, heard = fit(before)
    result = str(made[-1]["content"])
    assert made[:-1] == before[:-1]
    assert result.startswith("line 0: 0\nline 1: 37\n")
    assert result.endswith("line 19999: 739963\n")
    assert "lines, " in result
    assert "characters were left out here ...]\n" in result
    assert 1_000 < tokens(made) < WINDOW
    (told,) = heard
    assert isinstance(told, Compressed)
    assert (told.agent, told.strategy, told.ok, told.results_shortened) == ("A", STRATEGY, True, 1)
    assert (told.messages_before, told.messages_after) == (4, 4)
    assert told.tokens_before == tokens(before) > 100_000
    assert told.tokens_after == tokens(made)
    assert before[-1]["content"] == LINES


def test_output_of_code_is_shortened_too_and_words_are_not() -> None:
    program = message("assistant", "```python\nprint('much')\n```")
    output = message("user", f"exitcode: 0 (execution succeeded)\nCode output: {LINES}")
    made, _ = fit([SYSTEM, QUESTION, program, output])
    assert made[:3] == [SYSTEM, QUESTION, program]
    assert str(made[3]["content"]).startswith(
        "exitcode: 0 (execution succeeded)\nCode output: line 0"
    )


def test_the_oldest_in_the_middle_goes_first_and_the_model_is_told() -> None:
    talk = [
        message("user" if n % 2 == 0 else "assistant", f"{n}: " + "words and more words " * 20)
        for n in range(200)
    ]
    made, heard = fit([SYSTEM, *talk, QUESTION])
    gone = len(talk) + 2 - len(made)
    assert str(made[0]["content"]).startswith(str(SYSTEM["content"]))
    assert f"[{gone:,} earlier messages of this conversation were left out" in str(
        made[0]["content"]
    )
    assert made[1] == talk[0]
    assert made[2:] == [*talk[gone + 1 :], QUESTION]
    (told,) = heard
    assert isinstance(told, Compressed)
    assert (told.messages_before, told.messages_after) == (202, len(made))


def test_what_cannot_fit_is_not_sent() -> None:
    heard: list[Event] = []
    with (
        bus.listening(heard.append),
        pytest.raises(ContextTooLong, match="takes 4,000 tokens") as told,
    ):
        call(model(), [SYSTEM, message("user", LINES)], agent="A")
    assert "so it was not sent; ask for less" in str(told.value)
    assert heard == []


def test_room_is_kept_for_the_reply_that_was_asked_for() -> None:
    before = [SYSTEM, QUESTION, *called(1, LINES)]
    long_reply = fit_messages(model(), before, [], {"max_tokens": 2_000}, "A")
    assert tokens(long_reply) + 2_000 < WINDOW
    room = room_in(model(), {"max_tokens": WINDOW * 2})
    assert room is not None
    assert room.most > 0


def test_a_server_never_sees_more_than_its_window() -> None:
    """A chat of look-ups, each of which would fill the window."""
    with OpenAIServer(lambda body: Answer("So it is.")) as server:
        asked = Model(
            "m", "M", OpenAIClient(server.base_url), "test-model", "here", context_window=WINDOW
        )
        history: list[Message] = [SYSTEM, QUESTION]
        heard: list[Event] = []
        with bus.listening(heard.append):
            for number in range(12):
                history += called(number, LINES[: 40_000 * (number % 3)], "I look. " * 50)
                call(asked, history, agent="A")
        sizes = [count_messages(body["messages"], "test-model")[0] for body in server.chats]
    assert max(sizes) < WINDOW
    assert len(sizes) == 12
    assert [event.messages for event in heard if isinstance(event, ModelCalled)][
        -1
    ] == server.chats[-1]["messages"]
    assert sum(isinstance(event, Compressed) for event in heard) >= 10


texts = st.integers(0, 4_000).map(
    lambda size: "It rains in the hills. \n"[: size % 24] * (1 + size // 24)
)
odd = st.text(max_size=40)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Any talk with calls and results, and a question somewhere."""
    made: list[Message] = [SYSTEM] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["user", "assistant", "call", "calls", "code", "function"]))
        text = draw(texts) + draw(odd)
        if kind in ("user", "assistant"):
            made.append({"role": kind, "content": text})
        elif kind == "code":
            made.append(
                message("user", f"exitcode: 0 (execution succeeded)\nCode output: {text * 9}")
            )
        elif kind == "function":
            arguments: FunctionCall = {"name": "old", "arguments": "{}"}
            made.append({"role": "assistant", "content": None, "function_call": arguments})
            made.append({"role": "function", "name": "old", "content": text * 9})
        else:
            pair = called(number, text * 9)
            more = called(number + 100, draw(texts) * 9)
            if kind == "calls":
                pair[0]["tool_calls"] += more[0]["tool_calls"]
                pair.append(more[1])
            made += pair
    made.insert(
        draw(st.integers(bool(made), len(made))) if _may_stand_anywhere(made) else len(made),
        QUESTION,
    )
    return made


def _may_stand_anywhere(messages: Sequence[Message]) -> bool:
    return not any(each.get("role") in ("tool", "function") for each in messages)


def _paired(messages: Sequence[Message]) -> bool:
    """Whether every call is followed by its results, and every result belongs to one."""
    waiting: list[str] = []
    for each in messages:
        if each.get("role") in ("tool", "function"):
            name = each.get("tool_call_id") or str(each.get("name"))
            if name not in waiting:
                return False
            waiting.remove(name)
            continue
        if waiting:
            return False
        waiting = [made["id"] for made in each.get("tool_calls", ())]
        if "function_call" in each:
            waiting.append(str(each["function_call"]["name"]))
    return not waiting


@given(histories(), st.integers(600, 6_000))
def test_any_history_ends_up_below_the_window_or_is_refused(
    messages: list[Message], window: int
) -> None:
    before = json.dumps(messages)
    try:
        made = fit_messages(model(window), messages, [], {}, "A")
    except ContextTooLong:
        words = [each for each in messages if each["role"] in ("user", "assistant", "system")]
        assert max(len(str(each.get("content"))) for each in words) > window // 2
        return
    assert json.dumps(messages) == before
    assert tokens(made) < window
    assert _paired(made)
    questions = [
        each
        for each in messages
        if each["role"] == "user" and not str(each["content"]).startswith("exitcode: ")
    ]
    assert questions[-1] in made
    if messages[0] == SYSTEM:
        assert str(made[0]["content"]).startswith(str(SYSTEM["content"]))
    assert made[-1].get("role") == messages[-1].get("role")


@given(st.text(max_size=3_000), st.integers(0, 500))
def test_a_shortened_text_keeps_its_ends(text: str, characters: int) -> None:
    made = shorten(text, characters)
    head, _, rest = made.partition("[... ")
    tail = rest.partition("...]\n")[2]
    if "[... " not in text and "...]" not in text:
        assert text.startswith(head.removesuffix("\n"))
        assert text.endswith(tail)
        assert len(head) + len(tail) <= characters + 1


def test_a_chat_of_two_thousand_messages_costs_little() -> None:
    """What was counted once is only looked up, however often the chat is sent."""
    counted: list[int] = []

    class Counting:
        """Counts every text that it is asked about."""

        def count_tokens(self, text: str) -> int:
            counted.append(len(text))
            return len(text) // 4

    asked = Model("own/m", "M", Counting(), "own-model", "own", context_window=20_000)  # type: ignore[arg-type]
    talk = [
        message("user" if n % 2 == 0 else "assistant", f"{n}: " + "word " * 30)
        for n in range(2_000)
    ]
    fit_messages(asked, [SYSTEM, *talk, QUESTION], [], {}, "A")
    texts_first = len(counted)
    for number in range(20):
        talk.append(message("assistant", f"And {number}."))
        fit_messages(asked, [SYSTEM, *talk, QUESTION], [], {}, "A")
    assert (len(counted) - texts_first) / 20 < 20
