"""What the writer stores of a run, and when."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from agentkit.errors import StoreError
from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    Event,
    HumanAnswered,
    ModelCalled,
    Recorded,
    Retrieved,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    TokenDelta,
    Usage,
)
from agentkit.ledger import Ledger, LedgerWriter, RunKey
from agentkit.ledger import queries as ask
from tests.ledger.conftest import NOON, OWNER, call, record, say


def stored(ledger: Ledger, run_id: str) -> list[str]:
    return [
        row["kind"]
        for row in ledger.database.rows(
            "select kind from events where run_id = ? order by seq", [run_id]
        )
    ]


def test_the_events_come_back_in_order_without_those_that_are_only_shown(ledger: Ledger) -> None:
    done = DocumentDone("d", "a.txt", "indexed", 3, 200, 0.5)
    looked = Retrieved(
        "q", "Documents", "hybrid", [{"document": "a.txt", "score": 0.5}], 0.01, {"dense": 0.005}
    )
    replied = call(Usage(10, 5, 2, 7, 3), cost=0.25)
    run_id = record(
        ledger,
        [DocumentProgress("d", "a.txt", "embed", 1, 3), done, looked, TokenDelta("a"), replied],
    )
    events = ask.events(ledger, OWNER, run_id)
    assert [one.event for one in events] == [
        RunStarted("chat", "a run"),
        done,
        looked,
        replied,
        RunFinished(),
    ]
    assert [one.seq for one in events] == [1, 3, 4, 6, 7]
    assert {one.at for one in events} == {NOON.timestamp()}


@pytest.mark.parametrize(
    ("end", "state", "reason"),
    [
        (RunFinished("done"), "finished", "done"),
        (RunFailed("no key", "ModelAuthFailed"), "failed", "no key"),
        (RunStopped(), "stopped", "stopped by the user"),
    ],
)
def test_a_run_is_closed_as_it_ended(ledger: Ledger, end: Event, state: str, reason: str) -> None:
    writer = LedgerWriter(ledger, RunKey("r", OWNER))
    writer.write(Recorded(1, NOON.timestamp(), RunStarted("ingest", "3 documents")))
    assert [run["state"] for run in ask.runs(ledger, OWNER)] == ["running"]
    writer.write(Recorded(2, NOON.timestamp() + 2.5, end))
    (run,) = ask.runs(ledger, OWNER, kind="ingest")
    assert (run["state"], run["reason"], run["title"], run["seconds"]) == (
        state,
        reason,
        "3 documents",
        2.5,
    )
    assert ask.runs(ledger, OWNER, kind="chat") == []


def test_one_row_for_every_attempt_of_a_call(ledger: Ledger) -> None:
    usage = Usage(10, 20, 30, 40, 50, estimated=True)
    failed = replace(call(), call_id="c", status="failed", error="429", error_type="RateLimited")
    second = replace(
        call(usage), call_id="c", attempt=2, first_token_s=0.5, raw_usage={"prompt_tokens": 60}
    )
    chat = ledger.create_chat(OWNER, "t", "answer", "offline", "Documents")
    run_id = record(ledger, [failed, second], chat_id=chat.id, message_id="answer")
    rows = ledger.database.rows("select * from llm_calls order by attempt")
    assert [(row["id"], row["attempt"], row["status"], row["error_type"]) for row in rows] == [
        ("c", 1, "failed", "RateLimited"),
        ("c", 2, "ok", ""),
    ]
    buckets = ("input", "cache_read", "cache_write", "output", "reasoning")
    assert [rows[1][f"{name}_tokens"] for name in buckets] == [10, 20, 30, 40, 50]
    assert (rows[1]["estimated"], rows[1]["cost"], rows[1]["first_token_s"]) == (True, None, 0.5)
    assert json.loads(rows[1]["raw_usage"]) == {"prompt_tokens": 60}
    booked = {(row["owner"], row["run_id"], row["chat_id"], row["message_id"]) for row in rows}
    assert booked == {(OWNER, run_id, chat.id, "answer")}


def test_outside_of_a_chat_messages_are_events_only(ledger: Ledger) -> None:
    run_id = record(ledger, [say("m", None)])
    assert stored(ledger, run_id) == ["RunStarted", "MessageSent", "RunFinished"]
    assert ledger.database.value("select count(*) from messages") == 0


def test_an_event_is_stored_with_what_follows_from_it_or_not_at_all(ledger: Ledger) -> None:
    chat = ledger.create_chat(OWNER, "t", "answer", "offline", "Documents")
    record(ledger, [say("same id", None)], chat_id=chat.id)
    writer = LedgerWriter(ledger, RunKey("second", OWNER, chat.id))
    writer.write(Recorded(1, NOON.timestamp(), RunStarted("chat")))
    writer.write(Recorded(2, NOON.timestamp(), say("same id", None)))
    assert stored(ledger, "second") == ["RunStarted"]
    with pytest.raises(Exception, match="same id"):  # what waited with it is stored all the same
        writer.write(Recorded(3, NOON.timestamp(), RunFailed("twice", "Error")))
    assert stored(ledger, "second") == ["RunStarted", "RunFailed"]


def test_events_that_may_wait_are_written_with_the_next_or_when_many(ledger: Ledger) -> None:
    writer = LedgerWriter(ledger, RunKey("r", OWNER), wait_s=3600)
    at = NOON.timestamp()
    done = DocumentDone("d", "a.txt", "indexed")
    writer.write(Recorded(1, at, RunStarted("ingest")))
    writer.write(Recorded(2, at, done))
    writer.write(Recorded(3, at, ModelCalled("c", "", "local", "MiniLM", "embedding")))
    assert stored(ledger, "r") == ["RunStarted"]
    writer.write(Recorded(4, at, HumanAnswered("q", "yes")))
    assert len(stored(ledger, "r")) == 4
    for seq in range(5, 5 + 64):
        assert len(stored(ledger, "r")) == 4
        writer.write(Recorded(seq, at, done))
    assert len(stored(ledger, "r")) == 68
    writer.write(Recorded(69, at, done))
    writer.write(Recorded(70, at, RunFinished()))
    assert stored(ledger, "r")[-2:] == ["DocumentDone", "RunFinished"]


def test_what_waits_is_stored_by_itself_and_text_until_its_reply_is_there(ledger: Ledger) -> None:
    writer = LedgerWriter(ledger, RunKey("r", OWNER), wait_s=0.01)
    at = NOON.timestamp()
    writer.write(Recorded(1, at, RunStarted("chat")))
    writer.write(Recorded(2, at, ModelCalled("c", "Assistant", "server", "small")))
    until(lambda: stored(ledger, "r") == ["RunStarted", "ModelCalled"])
    for seq, text in ((3, "Green tea "), (4, "takes "), (5, "80 degrees.")):
        writer.write(Recorded(seq, at, TokenDelta(text, "Assistant", "c")))
    writer.write(Recorded(6, at, TokenDelta("Black tea", "Critic", "d")))
    whole = {"Green tea takes 80 degrees.", "Black tea"}
    until(lambda: {delta(one).text for one in ledger.begun("r")} == whole)
    first, second = ledger.begun("r")
    assert (first.seq, delta(first).agent, delta(first).call_id) == (5, "Assistant", "c")
    writer.write(Recorded(7, at, replace(call(), call_id="c", text="Green tea takes 80 degrees.")))
    assert ledger.begun("r") == [second]
    writer.write(Recorded(8, at, TokenDelta(" takes 95.", "Critic", "d")))
    writer.write(Recorded(9, at, RunFinished()))
    assert ledger.begun("r") == []
    assert ledger.database.value("select count(*) from streamed") == 0
    assert len(stored(ledger, "r")) == 4


def test_what_could_not_be_stored_by_itself_is_told_to_the_run(ledger: Ledger) -> None:
    """The run fails with its next event, as if that could not be stored."""
    tried = threading.Event()

    class Full:
        def keep(self, run: RunKey, events: Sequence[Recorded]) -> None:
            tried.set()
            raise StoreError("the disk is full")

    writer = LedgerWriter(Full(), RunKey("r", OWNER), wait_s=0.01)
    writer.write(Recorded(1, NOON.timestamp(), TokenDelta("Green", "Assistant", "c")))
    assert tried.wait(60)
    with pytest.raises(StoreError, match="the disk is full"):
        writer.write(Recorded(2, NOON.timestamp(), RunFinished()))


def delta(recorded: Recorded) -> TokenDelta:
    assert isinstance(recorded.event, TokenDelta)
    return recorded.event


def until(true: Callable[[], bool]) -> None:
    """Wait for it, at most a minute."""
    for _ in range(6000):
        if true():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come true within a minute")


def test_several_threads_of_a_run_lose_nothing(ledger: Ledger) -> None:
    writer = LedgerWriter(ledger, RunKey("r", OWNER))
    writer.write(Recorded(0, NOON.timestamp(), RunStarted("ingest")))

    def work(first: int) -> None:
        for seq in range(first, first + 100):
            writer.write(
                Recorded(seq, NOON.timestamp(), DocumentDone(str(seq), "a.txt", "indexed"))
            )

    threads = [threading.Thread(target=work, args=[first]) for first in (1, 101, 201)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.write(Recorded(301, NOON.timestamp(), RunFinished()))
    assert [one.seq for one in ask.events(ledger, OWNER, "r")] == list(range(302))


def test_a_reply_that_is_no_valid_unicode_is_kept(ledger: Ledger) -> None:
    chat = ledger.create_chat(OWNER, "half \ud83d", "answer", "offline", "Documents")
    run_id = record(
        ledger, [say("m", None, "a \ud800 b"), RunFailed("c \udfff", "E")], chat_id=chat.id
    )
    assert ledger.thread(OWNER, chat.id)[0].content == "a ? b"
    assert len(ask.events(ledger, OWNER, run_id)) == 4
    assert ledger.chat(OWNER, chat.id).title == "half ?"
