"""Turns of a chat, from what is stored and from what happens."""

from __future__ import annotations

import threading

from agentkit import runs
from agentkit.core import bus
from agentkit.events import DocumentDone, DocumentProgress, MessageSent, ModelCalled, ModelReplied, Retrieved, TokenDelta
from agentkit.ledger import StoredMessage
from agentkit.ledger.store import utc_now
from agentkit.ui.turns import last_turns, live_turn, stored_turns


def stored(key: str, role: str, run: str, *, inner: bool = False) -> StoredMessage:
    return StoredMessage(key, "chat", None, run, "someone", "", role, key, "complete", {"inner": inner}, utc_now())


def test_messages_are_grouped_by_their_question() -> None:
    turns = stored_turns([
        stored("q1", "user", "r1"), stored("i1", "assistant", "r1", inner=True), stored("a1", "assistant", "r1"),
        stored("q2", "user", "r2"), stored("q3", "user", "r3"), stored("a3", "assistant", "r3"),
    ])  # fmt: skip
    assert [(turn.question.content if turn.question else "", [said.content for said in turn.inner]) for turn in turns] == [
        ("q1", ["i1"]),
        ("q2", []),
        ("q3", []),
    ]
    assert [turn.status for turn in turns] == ["complete", "interrupted", "complete"]
    assert [turn.run_id for turn in last_turns(turns, 3)] == ["r2", "r3"]
    assert last_turns([], 30) == []


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
        bus.emit(ModelReplied("c2", "Assistant", "p", "m", status="failed", error="connection lost"))
        bus.emit(ModelCalled("c2", "Assistant", "p", "m"))
        bus.emit(TokenDelta("80 ", "Assistant", "c2"))
        bus.emit(TokenDelta("degrees", "Assistant", "c2"))
        halted.set()
        assert halt.wait(10)

    run = runs.start(work, kind="chat", owner="turns", chat_id="chat")
    assert halted.wait(10)
    turn = live_turn(run, "Assistant")
    halt.set()
    run.result()
    assert turn.question is not None
    assert turn.question.content == "How hot?"
    assert turn.text == "80 degrees"
    assert [type(step).__name__ for step in turn.steps] == ["DocumentDone", "ModelReplied", "Retrieved", "ModelCalled"]
