from __future__ import annotations

import threading

import pytest

from agentkit.core import bus, stopping
from agentkit.errors import BadModelReply, RateLimited
from agentkit.events import Event, ModelReplied, TokenDelta
from agentkit.llm.calls.client import call
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import message

ASK = [message("user", "hello")]


def test_replies_come_in_order_and_stream_by_words() -> None:
    model = scripted_model(
        [
            "one two  three\n",
            {
                "content": None,
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}],
            },
        ]
    )
    heard: list[Event] = []
    with bus.listening(heard.append):
        first = call(model, ASK, agent="Tester")
    second = call(model, ASK)
    pieces = [event.text for event in heard if isinstance(event, TokenDelta)]
    assert len(pieces) == 3
    assert "".join(pieces) == first.text == "one two  three\n"
    assert {event.agent for event in heard if isinstance(event, TokenDelta)} == {"Tester"}
    assert second.text == ""
    assert second.message["tool_calls"][0]["function"]["name"] == "f"
    assert first.cost == 0.0


def test_functions_see_the_request_and_errors_are_raised() -> None:
    model = scripted_model(lambda params: f"you said {params['messages'][-1]['content']}")
    assert call(model, ASK).text == "you said hello"
    with pytest.raises(RateLimited, match="enough"):
        call(scripted_model([RateLimited("enough")]), ASK)


def test_an_exhausted_script_says_so() -> None:
    with pytest.raises(BadModelReply, match="has 0 replies"):
        call(scripted_model([]), ASK)


def test_a_stop_ends_a_slow_reply_and_keeps_its_beginning() -> None:
    signal, heard = stopping.StopSignal(), list[Event]()

    def stop_after_two(event: Event) -> None:
        heard.append(event)
        if sum(isinstance(one, TokenDelta) for one in heard) == 2:
            threading.Thread(target=signal.set).start()

    with stopping.stoppable(signal), bus.listening(stop_after_two):
        reply = call(scripted_model(["word " * 2000], delay_s=0.02), ASK)
    assert reply.stopped
    assert 2 <= len(reply.text.split()) < 2000
    (ended,) = [event for event in heard if isinstance(event, ModelReplied)]
    assert (ended.status, ended.text) == ("stopped", reply.text)
    assert ended.usage.estimated
    assert ended.usage.output > 0
