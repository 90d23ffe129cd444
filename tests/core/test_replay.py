"""What a run had completed is served once each, in its order; a difference is told."""

from __future__ import annotations

import pytest

from agentkit.core import bus, replay
from agentkit.core.replay import Recording, hash_of
from agentkit.errors import ReplayDiffers
from agentkit.events import (
    CodeRan,
    Event,
    HumanAnswered,
    HumanInputRequested,
    ModelCalled,
    ModelReplied,
    Retrieved,
    ToolCalled,
    ToolReturned,
)


def reply(agent: str, asked: str, text: str) -> list[Event]:
    return [
        ModelCalled(text, agent, "local", "m", asked=asked),
        ModelReplied(text, agent, "local", "m", text=text, asked=asked),
    ]


def test_replies_are_served_by_agent_and_request_each_once() -> None:
    lived: list[str] = []
    recording = Recording(
        [*reply("A", "x", "one"), *reply("B", "x", "two"), *reply("A", "x", "three")],
        on_live=lambda: lived.append("live"),
    )
    taken = [recording.take_reply("A", "x", ()) for _ in range(3)]
    assert [one.text if one else None for one in taken] == ["one", "three", None]
    assert lived == ["live"]
    other = recording.take_reply("B", "x", ())
    assert other is not None
    assert other.text == "two"
    assert recording.take_reply("B", "x", ()) is None
    assert lived == ["live"]  # told once


def test_another_request_than_the_recorded_one_is_told_with_what_differs() -> None:
    sent = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How hot?"}]
    now = [sent[0], {"role": "user", "content": "How cold?"}]
    recording = Recording(reply("A", "x", "one"), read_request=lambda call_id: sent)
    with pytest.raises(ReplayDiffers, match=r"message 2 was «.*hot.*» and is «.*cold"):
        recording.take_reply("A", "y", now)
    with pytest.raises(ReplayDiffers, match="there are fewer messages than 1"):
        recording.take_reply("A", "y", sent[:1])
    with pytest.raises(ReplayDiffers, match="there are more messages than 2"):
        recording.take_reply("A", "y", [*sent, sent[0]])
    assert recording.take_reply("A", "x", sent) is not None  # which is still there


def test_a_request_that_had_begun_is_sent_again_beside_others() -> None:
    begun = ModelCalled("c", "A", "local", "m", asked="y")
    recording = Recording([*reply("A", "x", "one"), begun])
    assert recording.take_reply("A", "y", ()) is None


def test_side_by_side_no_order_is_expected() -> None:
    import contextvars

    recording = Recording(reply("A", "x", "one"))

    def ask() -> object:
        replay.work_side_by_side()
        return recording.take_reply("A", "y", ())

    assert contextvars.copy_context().run(ask) is None
    with pytest.raises(ReplayDiffers):
        recording.take_reply("A", "y", ())


def test_results_code_and_look_ups_are_served_by_what_was_asked_for() -> None:
    ran = CodeRan("A", "python", "print(1)", 0, "1")
    found = Retrieved("tea", "Kitchen", "hybrid", [{"document_id": "d", "start": 0, "end": 3}], 0.1)
    stopped = CodeRan("A", "python", "print(2)", 137, "", stopped=True)
    recording = Recording(
        [
            ToolCalled("1", "A", "book", "{}"),
            ToolReturned("1", "A", "book", True, "booked"),
            ToolCalled("2", "A", "book", '{"place": "Riga"}'),
            ran,
            stopped,
            found,
        ]
    )
    assert recording.has_begun("A", "book", '{"place": "Riga"}')
    assert not recording.has_begun("A", "book", "{}")
    taken = recording.take_result("A", "book", "{}")
    assert taken is not None
    assert taken[1].content == "booked"
    assert recording.take_result("A", "book", "{}") is None
    assert recording.take_result("A", "book", '{"place": "Riga"}') is None  # it never ended
    assert recording.take_code("A", "python", "print(1)") == ran
    assert recording.take_code("A", "python", "print(1)") is None
    assert recording.take_code("A", "python", "print(2)") is None
    assert recording.take_hits("tea", exact=True) is None
    assert recording.take_hits("tea") == found


def test_a_recorded_result_is_told_again_with_its_call() -> None:
    called = ToolCalled("1", "A", "book", "{}")
    returned = ToolReturned("1", "A", "book", True, "booked", 0.1)
    heard: list[Event] = []
    assert replay.tell_result("A", "book", "{}") is None  # nothing is gone on with
    with replay.replaying(Recording([called, returned])), bus.listening(heard.append):
        assert replay.tell_result("A", "book", "{}") == returned
        assert replay.tell_result("A", "book", "{}") is None
    assert heard == [called, returned]


def test_numbers_of_passages_are_those_that_tools_gave() -> None:
    hits = [{"document_id": name, "start": 0, "end": 3, "text": name} for name in "abc"]
    passages = [{**hits[2], "marker": 1}, {**hits[0], "marker": 2}]
    recording = Recording(
        [
            Retrieved("tea", "Kitchen", "hybrid", hits, 0.1),
            ToolCalled("1", "A", "search", "{}"),
            ToolReturned("1", "A", "search", True, "...", passages=passages),
        ]
    )
    assert [hit["text"] for hit in recording.list_numbered()] == ["c", "a"]


def test_a_persons_answers_are_served_and_what_they_said_unasked() -> None:
    recording = Recording(
        [
            HumanInputRequested("1", "A", "May it run?", draft="x"),
            HumanAnswered("1", "approve"),
            HumanInputRequested("2", "A", "And this?"),
            HumanAnswered("", "Be quick!", place=3),
            HumanAnswered("", "Please.", place=3),
        ]
    )
    taken = recording.take_answer("A", "May it run?", "x")
    assert taken is not None
    assert taken[1].text == "approve"
    assert recording.has_asked("A", "And this?", "")
    assert recording.take_answer("A", "And this?", "") is None
    assert recording.has_said()
    assert recording.take_said(2) == []
    assert recording.take_said(3) == ["Be quick!", "Please."]
    assert not recording.has_said()


def test_chance_is_the_same_for_runs_that_go_on_with_one_another() -> None:
    def throw() -> list[int]:
        with replay.replaying(None, "root"):
            return [replay.chance().randrange(1_000_000) for _ in range(1)]

    assert throw() == throw()
    with replay.replaying(None, "other"):
        assert [replay.chance().randrange(1_000_000)] != throw()


def test_equal_values_have_the_same_hash_whatever_the_order_of_keys() -> None:
    assert hash_of({"a": 1, "b": [2]}) == hash_of({"b": [2], "a": 1})
    assert hash_of({"a": 1}) != hash_of({"a": 2})
    assert hash_of(object()) == hash_of(object())  # what JSON has nothing for
    assert hash_of("\ud800")
