"""Turns of a chat, from what is stored and from what happens."""

from __future__ import annotations

import threading
from dataclasses import replace

from agentkit import runs
from agentkit.core import bus
from agentkit.events import (
    ChatEnded,
    CodeRan,
    DocumentDone,
    DocumentProgress,
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Noted,
    Recorded,
    ReplyParsed,
    Retrieved,
    TokenDelta,
    ToolCalled,
    ToolReturned,
)
from agentkit.ledger import StoredMessage
from agentkit.ledger.store import utc_now
from agentkit.reasons import EndReason
from agentkit.ui.steps.following import Waiting, follow
from agentkit.ui.steps.step import Asked, ToolUse
from agentkit.ui.steps.turns import last_turns, read_turns, steps
from agentkit.ui.steps.words import LIVE, lately


def stored(key: str, role: str, run: str, *, inner: bool = False) -> StoredMessage:
    return StoredMessage(
        key, "chat", None, run, "someone", "", role, key, "complete", {"inner": inner}, utc_now()
    )


def test_messages_are_grouped_by_their_question() -> None:
    turns = read_turns(
        [
            stored("q1", "user", "r1"),
            stored("i1", "assistant", "r1", inner=True),
            stored("a1", "assistant", "r1"),
            stored("q2", "user", "r2"),
            stored("q3", "user", "r3"),
            stored("a3", "assistant", "r3"),
        ]
    )
    assert [
        (turn.question.content if turn.question else "", [said.content for said in turn.inner])
        for turn in turns
    ] == [
        ("q1", ["i1"]),
        ("q2", []),
        ("q3", []),
    ]
    assert [turn.status for turn in turns] == ["complete", "interrupted", "complete"]
    assert [turn.run_id for turn in last_turns(turns, 3)] == ["r2", "r3"]
    assert last_turns([], 30) == []


def test_what_agents_say_in_the_role_of_a_user_is_no_question() -> None:
    (turn,) = read_turns(
        [
            stored("q", "user", "r"),
            stored("i", "user", "r", inner=True),
            stored("a", "assistant", "r"),
        ]
    )
    assert turn.question is not None
    assert (turn.question.content, [said.content for said in turn.inner]) == ("q", ["i"])


def test_a_live_turn_shows_the_answering_agent_alone_and_each_step_once() -> None:
    halt, halted = threading.Event(), threading.Event()

    def work() -> None:
        bus.emit(MessageSent("q", None, "user", "team", "user", "How hot?"))
        bus.emit(DocumentProgress("d", "tea.txt", "parse"))
        bus.emit(DocumentProgress("d", "tea.txt", "embed", 1, 2))
        bus.emit(DocumentDone("d", "tea.txt", "indexed", chunks=2))
        bus.emit(ModelCalled("c1", "Query writer", "p", "m"))
        bus.emit(TokenDelta("hot tea?", "Query writer", "c1"))
        bus.emit(ModelReplied("c1", "Query writer", "p", "m"))
        bus.emit(ModelCalled("e1", "", "local", "embedder", "embedding"))
        bus.emit(Retrieved("hot tea?", "Kitchen", "hybrid", [], 0.1))
        bus.emit(ModelCalled("c2", "Assistant", "p", "m"))
        bus.emit(TokenDelta("Broken off", "Assistant", "c2"))
        bus.emit(
            ModelReplied("c2", "Assistant", "p", "m", status="failed", error="connection lost")
        )
        bus.emit(ModelCalled("c2", "Assistant", "p", "m"))
        bus.emit(TokenDelta("80 ", "Assistant", "c2"))
        bus.emit(TokenDelta("degrees", "Assistant", "c2"))
        halted.set()
        assert halt.wait(60)

    run = runs.start(work, kind="chat", owner="turns", chat_id="chat")
    assert halted.wait(60)
    turn = follow(run, "Assistant").catch_up(run)
    halt.set()
    run.result()
    assert turn.question is not None
    assert turn.question.content == "How hot?"
    assert turn.text == "80 degrees"
    assert [type(step).__name__ for step in turn.steps] == [
        "DocumentDone",
        "ModelReplied",
        "Retrieved",
        "ModelCalled",
    ]


def test_what_model_calls_wait_for_is_told() -> None:
    called, replied = ModelCalled("c", "Critic", "p", "m"), ModelReplied("c", "Critic", "p", "m")
    limited = replace(replied, status="failed", error_type="RateLimited", retry_in_s=8.0)
    other, word = ModelCalled("d", "Writer", "p", "m"), TokenDelta("It", "Critic", "c")
    stray = TokenDelta("It")

    def told(now: float, *heard: tuple[float, Event]) -> str:
        waiting = Waiting()
        for number, (at, event) in enumerate(heard, 1):
            waiting.hear(Recorded(number, at, event))
        return waiting.describe(now)

    assert told(9.9, (0, called)) == ""
    assert told(14.2, (0, called)).startswith("No word for 14 s; Stop ends the wait")
    assert told(14.2, (0, called), (10, word)) == ""
    assert told(34.2, (0, called), (10, word)).startswith("No word for 24 s")
    assert told(34.2, (0, called), (10, word), (11, replied), (12, stray)) == ""
    assert told(34.2, (0, called), (33, other)) == "", "another one has just been asked"
    assert told(2.5, (0, called), (2, limited)) == "Rate limited, next try in 8 s"
    assert told(30, (0, called), (2, limited)) == "", "it is over, or the next try says more"
    assert told(12, (0, called), (2, limited), (10, called)) == ""


def recorded(*events: Event) -> list[Recorded]:
    return [Recorded(number, 0.0, event) for number, event in enumerate(events, start=1)]


def said(sender: str, text: str, *, role: str = "user", **extra: object) -> MessageSent:
    return MessageSent(
        f"{sender}: {text}", None, sender, "someone", role, text, extra={"inner": True, **extra}
    )


def test_calls_are_paired_with_what_they_returned_and_questions_with_their_answer() -> None:
    request = HumanInputRequested("r", "Runner", "May it run?", ["approve"], "{}", "json")
    called, returned = (
        ToolCalled("t", "Runner", "clock", "{}"),
        ToolReturned("t", "Runner", "clock", True, "noon"),
    )
    answered = HumanAnswered("r", "approve")
    assert steps(recorded(request)) == [Asked(request)]
    assert steps(recorded(request, answered, called)) == [Asked(request, answered), ToolUse(called)]
    assert steps(recorded(request, answered, called, returned)) == [
        Asked(request, answered),
        ToolUse(called, returned),
    ]
    assert steps(recorded(returned)) == [ToolUse(ToolCalled("t", "Runner", "clock", ""), returned)]


def test_what_only_repeats_is_left_out() -> None:
    question = MessageSent("q", None, "user", "team", "user", "How hot?")
    answer = MessageSent(
        "a", None, "Writer", "user", "assistant", "80 degrees", extra={"inner": False}
    )
    called = ToolCalled("t", "Runner", "search", "{}")
    returned = ToolReturned("t", "Runner", "search", True, "80")
    ran = CodeRan("Runner", "python", "print(80)", 0, "80")
    why = EndReason("terminated", "Writer")
    over = ChatEnded("User", "Group", "the Writer is done", end=why)
    shown = steps(
        recorded(
            question,
            ChatEnded("checker", "chooser", "chosen", silent=True),
            said("Runner", "How hot?"),
            said("Assistant", "", tool_calls=[{}]),
            called,
            Retrieved("hot", "Kitchen", "hybrid", [], 0.1),
            returned,
            said("Runner", "80", role="tool"),
            said("Assistant", "I compute:"),
            ran,
            said("Runner", "exitcode: 0"),
            said("Group", "I compute:", silent=True),
            said("Writer", "80 degrees\nTERMINATE"),
            Noted("Group", "that was all", why),
            over,
            answer,
        )
    )
    assert shown == [
        said("Assistant", "", tool_calls=[{}]),
        ToolUse(called, returned),
        said("Assistant", "I compute:"),
        ran,
        over,
    ]
    assert [
        type(step) for step in steps(recorded(Retrieved("hot", "Kitchen", "hybrid", [], 0.1)))
    ] == [Retrieved]


def test_what_was_made_of_a_document_stands_for_the_reading() -> None:
    read = Noted("Extractor", "1 of 2 fields", document_id="a")
    reads = DocumentProgress("b", "b.txt", "parse")
    asks, unread = (
        ModelCalled("c", "Extractor", "p", "m"),
        ReplyParsed("Extractor", "json", 1, False, error="no JSON"),
    )
    other = Noted("Extractor", "b.txt: 1 of 2 fields", document_id="c")
    assert steps(
        recorded(DocumentProgress("a", "a.txt", "parse"), asks, unread, read, reads, other)
    ) == [
        asks,
        unread,
        read,
        reads,
        other,
    ]


def test_a_live_answer_is_not_what_was_written_for_another_agent() -> None:
    halt, halted = threading.Event(), threading.Event()

    def work() -> None:
        bus.emit(ModelCalled("c1", "Assistant", "p", "m"))
        bus.emit(TokenDelta("print(1)", "Assistant", "c1"))
        bus.emit(said("Assistant", "print(1)"))
        halted.set()
        assert halt.wait(60)
        halted.clear()
        bus.emit(ModelCalled("c2", "Assistant", "p", "m"))
        bus.emit(TokenDelta("It is 1.\nTERMINATE", "Assistant", "c2"))

    run = runs.start(work, kind="chat", owner="turns", chat_id="chat")
    assert halted.wait(60)
    assert follow(run, "Assistant").catch_up(run).text == ""
    halt.set()
    run.result()
    assert follow(run, "Assistant").catch_up(run).text == "It is 1."


def test_of_a_long_text_that_is_being_written_the_end_is_drawn() -> None:
    assert lately("short") == (0, "short")
    text = "".join(f"line {number}\n" for number in range(50_000))
    starts = set()
    for length in range(LIVE + 1, LIVE + 4_000, 100):
        hidden, shown = lately(text[:length])
        assert shown == text[hidden:length]
        assert LIVE - 6_000 < len(shown) <= LIVE
        assert shown.startswith("line ")
        starts.add(hidden)
    assert len(starts) <= 2, "it would jump at every look"
    assert lately("x" * 2_000_000)[0] > 1_900_000


def test_a_turn_knows_what_cut_its_answer() -> None:
    answered = stored("a1", "assistant", "r1")
    answered.extra["cut"] = "token_limit"
    (turn,) = read_turns([stored("q1", "user", "r1"), answered])
    assert turn.cut == "token_limit"
    (open_turn,) = read_turns([stored("q1", "user", "r1")])
    assert open_turn.cut is None
