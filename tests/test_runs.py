"""Runs: their events in order, their ends, stopping, asking a person, and the registry."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentkit import runs
from agentkit.core import bus, stopping
from agentkit.core.twin import ASYNC
from agentkit.errors import ModelAuthFailed, NotFound, Stopped
from agentkit.events import (
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    ModelReplied,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    TokenDelta,
    Usage,
)
from agentkit.ledger import Ledger, queries
from agentkit.messages import new_id
from agentkit.runs import Run


def events(run: Run[Any]) -> list[Event]:
    return [recorded.event for recorded in run]


def until(run: Run[Any], kind: type[Event]) -> Event:
    return next(recorded.event for recorded in run if isinstance(recorded.event, kind))


def wait_to_be_stopped() -> None:
    bus.emit(TokenDelta("working"))
    stopping.current().wait(120)
    stopping.check()


def test_events_come_in_order_and_again_for_a_second_reader() -> None:
    def work() -> str:
        for number in range(100):
            bus.emit(TokenDelta(str(number)))
        return "result"

    run = runs.start(work, kind="chat", title="count")
    wanted = [
        RunStarted("chat", "count"),
        *[TokenDelta(str(number)) for number in range(100)],
        RunFinished(),
    ]
    assert events(run) == wanted
    assert events(run) == wanted
    assert [recorded.seq for recorded in run] == list(range(1, 103))
    assert [recorded.seq for recorded in run.events(after=100)] == [101, 102]
    assert run.result() == "result"
    assert run.ended
    assert run.wait(0)


def test_a_reader_gets_the_events_while_the_work_goes_on() -> None:
    go_on = threading.Event()

    def work() -> None:
        bus.emit(TokenDelta("first"))
        go_on.wait(120)

    run = runs.start(work, kind="chat")
    assert until(run, TokenDelta) == TokenDelta("first")
    assert not run.ended
    assert not run.wait(0)
    go_on.set()
    run.result()


def test_the_own_error_is_raised_again_and_told(caplog: pytest.LogCaptureFixture) -> None:
    error = ModelAuthFailed("the key is wrong")

    def work() -> None:
        raise error

    run = runs.start(work, kind="chat")
    with pytest.raises(ModelAuthFailed) as caught:
        run.result()
    assert caught.value is error
    assert events(run)[-1] == RunFailed("the key is wrong", "ModelAuthFailed")
    (logged,) = [one for one in caplog.records if one.name == "agentkit.runs"]
    assert (logged.getMessage(), logged.exc_info) == ("run failed: the key is wrong", None)


def test_an_error_that_nobody_expected_is_logged_with_where_it_arose(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def work() -> str:
        return dict[str, str]()["nothing"]

    run = runs.start(work, kind="chat")
    with pytest.raises(KeyError):
        run.result()
    assert "Traceback" in caplog.text


def test_an_exit_in_the_work_ends_the_run_and_not_the_process() -> None:
    def work() -> None:
        raise SystemExit(3)

    run = runs.start(work, kind="chat")
    with pytest.raises(SystemExit):
        run.result()
    assert events(run)[-1] == RunFailed("3", "SystemExit")


def test_stop_ends_the_work_where_it_looks() -> None:
    run = runs.start(wait_to_be_stopped, kind="chat")
    until(run, TokenDelta)
    run.stop()
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert run.stopping
    assert events(run)[-1] == RunStopped()


def test_work_that_keeps_its_part_when_stopped_has_a_result() -> None:
    def work() -> str:
        bus.emit(TokenDelta("part"))
        stopping.current().wait(120)
        return "part"

    run = runs.start(work, kind="chat")
    until(run, TokenDelta)
    run.stop()
    assert run.result() == "part"
    assert events(run)[-1] == RunStopped()


def test_a_person_is_asked_and_answers_each_question_once() -> None:
    go_on = threading.Event()

    def work() -> str:
        first = runs.ask_human("Planner", "Go on?")
        go_on.wait(120)
        return first + runs.ask_human("Planner", "Sure?")

    run = runs.start(work, kind="chat")
    first = until(run, HumanInputRequested)
    assert run.waiting_for == first
    run.answer("yes, ")
    with pytest.raises(NotFound, match="asks nothing"):
        run.answer("too much")
    go_on.set()
    second = next(
        one.event
        for one in run
        if isinstance(one.event, HumanInputRequested) and one.event != first
    )
    assert isinstance(second, HumanInputRequested)
    assert (second.agent, second.prompt) == ("Planner", "Sure?")
    run.answer("quite")
    assert run.result() == "yes, quite"
    assert [event.text for event in events(run) if isinstance(event, HumanAnswered)] == [
        "yes, ",
        "quite",
    ]
    assert run.waiting_for is None


def test_stop_frees_the_one_who_waits_for_a_person() -> None:
    run = runs.start(lambda: runs.ask_human("Planner", "Go on?"), kind="chat")
    until(run, HumanInputRequested)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert run.waiting_for is None


def test_a_stopped_run_asks_nobody_any_more() -> None:
    def work() -> str:
        try:
            return runs.ask_human("Planner", "Go on?")
        except Stopped:
            return runs.ask_human("Planner", "Really?")

    run = runs.start(work, kind="chat")
    until(run, HumanInputRequested)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert sum(isinstance(event, HumanInputRequested) for event in events(run)) == 1


def asking_for(answer_s: float | None) -> runs.Run[str]:
    """A run that asks once and waits for so long."""

    def work() -> str:
        run = runs.current()
        assert run
        run.answer_s = answer_s
        return runs.ask_human("Planner", "Go on?")

    return runs.start(work, kind="chat")


def test_a_question_that_nobody_answers_in_time_is_given_up() -> None:
    run = asking_for(0.01)
    answer = run.result()
    assert isinstance(answer, runs.Unanswered)
    assert (answer, answer.waited_s) == ("", 0.01)
    (request,) = [event for event in events(run) if isinstance(event, HumanInputRequested)]
    at = next(one.at for one in run.events() if one.event == request)
    assert request.until == pytest.approx(at + 0.01, abs=5)
    assert HumanAnswered(request.request_id, "", 0.01) in events(run)
    assert run.waiting_for is None
    with pytest.raises(NotFound, match="asks nothing"):
        run.answer("too late", request.request_id)


def test_an_answer_in_time_counts_and_so_does_a_stop() -> None:
    answered, stopped = asking_for(600.0), asking_for(600.0)
    until(answered, HumanInputRequested)
    answered.answer("yes")
    assert answered.result() == "yes"
    assert [one.waited_s for one in events(answered) if isinstance(one, HumanAnswered)] == [None]
    until(stopped, HumanInputRequested)
    stopped.stop()
    with pytest.raises(Stopped):
        stopped.result()


def test_without_a_limit_a_question_says_no_time() -> None:
    run = asking_for(None)
    request = until(run, HumanInputRequested)
    assert isinstance(request, HumanInputRequested)
    assert request.until is None
    run.answer("")
    assert run.result() == ""
    assert not isinstance(run.result(), runs.Unanswered)


def two_who_ask() -> list[str]:
    both = threading.Barrier(2, timeout=30)

    def ask(name: str) -> str:
        both.wait()
        try:
            return runs.ask_human(name, "Well?")
        except Stopped:
            return f"{name} stopped"

    contexts = [(contextvars.copy_context(), name) for name in ("Ann", "Bob")]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda each: each[0].run(ask, each[1]), contexts))


def test_two_who_ask_at_once_are_answered_one_after_the_other() -> None:
    run = runs.start(two_who_ask, kind="chat")
    for recorded in run:
        if isinstance(recorded.event, HumanInputRequested):
            assert not run.wait(0.05)  # time for the other one to ask, too
            assert run.waiting_for == recorded.event
            run.answer(f"for {recorded.event.agent}", recorded.event.request_id)
    assert run.result() == ["for Ann", "for Bob"]
    pairs = [
        event for event in events(run) if isinstance(event, HumanInputRequested | HumanAnswered)
    ]
    assert [type(event) for event in pairs] == [HumanInputRequested, HumanAnswered] * 2
    assert pairs[0].request_id == pairs[1].request_id != pairs[2].request_id == pairs[3].request_id


def test_a_stop_frees_the_one_who_waits_for_their_turn_to_ask_too() -> None:
    run = runs.start(two_who_ask, kind="chat")
    until(run, HumanInputRequested)
    assert not run.wait(0.05)
    run.stop()
    assert run.wait(120)
    assert run.result() == ["Ann stopped", "Bob stopped"]
    assert sum(isinstance(event, HumanInputRequested) for event in events(run)) == 1


def test_outside_of_runs_nobody_can_be_asked() -> None:
    assert runs.current() is None
    with pytest.raises(NotFound, match="outside of a run"):
        runs.ask_human("Planner", "Go on?")


def test_the_work_knows_its_run() -> None:
    run = runs.start(runs.current, kind="chat")
    assert run.result() is run


def test_the_context_of_the_starter_goes_along() -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        runs.start(lambda: bus.emit(TokenDelta("inside")), kind="chat").result()
    assert heard == [RunStarted("chat"), TokenDelta("inside"), RunFinished()]


def test_live_runs_are_found_by_owner_kind_and_chat(owner: str) -> None:
    chat = runs.start(wait_to_be_stopped, kind="chat", owner=owner, chat_id="c")
    ingest = runs.start(wait_to_be_stopped, kind="ingest", owner=owner)
    started = [chat, ingest]
    assert runs.live(owner) == started
    assert runs.live(owner, kind="ingest") == [ingest]
    assert runs.live(owner, chat_id="c") == [chat]
    assert runs.live("other") == []
    assert runs.get(chat.id, owner) is chat
    with pytest.raises(NotFound, match="known to this process"):
        runs.get(chat.id, "other")
    for run in started:
        run.stop()
        run.wait(120)
    assert runs.live(owner) == []
    assert runs.get(chat.id, owner) is chat


def test_runs_that_ended_long_ago_are_forgotten_and_live_ones_are_not(owner: str) -> None:
    live = runs.start(wait_to_be_stopped, kind="chat", owner=owner)
    first = runs.start(lambda: None, kind="chat", owner=owner)
    first.wait(120)
    for _ in range(runs._KEPT + 1):
        runs.start(lambda: None, kind="chat", owner=owner).wait(120)
    with pytest.raises(NotFound):
        runs.get(first.id, owner)
    assert runs.get(live.id, owner) is live
    live.stop()
    live.wait(120)


def test_a_run_is_written_to_the_ledger(ledger: Ledger, owner: str) -> None:
    chat = ledger.create_chat(owner, "t", "answer", "offline", "Documents")
    usage = Usage(10, output=5)

    def work() -> None:
        run = runs.current()
        assert run is not None
        bus.emit(TokenDelta("he"))
        bus.emit(ModelReplied(new_id(), "Assistant", "server", "small", usage=usage, cost=0.5))
        bus.emit(MessageSent(run.message_id, None, "Assistant", "user", "assistant", "hello"))

    run = runs.start(work, kind="chat", title="hello?", owner=owner, chat_id=chat.id, ledger=ledger)
    run.result()
    assert [message.content for message in ledger.thread(owner, chat.id)] == ["hello"]
    stored = queries.events(ledger, owner, run.id)
    kept = [recorded for recorded in run if not isinstance(recorded.event, TokenDelta)]
    assert [(one.seq, one.event) for one in stored] == [(one.seq, one.event) for one in kept]
    assert [one.at for one in stored] == pytest.approx(
        [one.at for one in kept], abs=1e-5
    )  # microseconds are kept
    assert queries.of_messages(ledger, owner, [run.message_id])[run.message_id].cost == 0.5
    assert [one["state"] for one in queries.runs(ledger, owner)] == ["finished"]


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_ledger_that_fails_fails_the_run_and_nothing_hangs(
    ledger: Ledger, owner: str, caplog: pytest.LogCaptureFixture, fails_at: int
) -> None:
    table = "runs" if fails_at == 1 else "messages"
    ledger.database.execute(f"alter table {table} rename to gone")
    chat = ledger.create_chat(owner, "t", "answer", "offline", "Documents")

    def work() -> None:
        bus.emit(MessageSent(new_id(), None, "user", "team", "user", "hello"))

    run = runs.start(work, kind="chat", owner=owner, chat_id=chat.id, ledger=ledger)
    with pytest.raises(Exception, match=table):
        run.result()
    assert isinstance(events(run)[-1], RunFailed)
    assert (
        next(record.levelno for record in caplog.records if record.name == "agentkit.runs")
        == logging.ERROR
    )


@pytest.mark.parametrize("kind", [RunStarted, ModelReplied, MessageSent, RunFinished, object])
def test_a_listener_that_raises_is_told_and_the_ledger_has_all_the_same(
    ledger: Ledger, owner: str, kind: type[object]
) -> None:
    chat = ledger.create_chat(owner, "t", "answer", "offline", "Documents")

    def work() -> str:
        bus.emit(ModelReplied(new_id(), "Assistant", "server", "small", cost=0.5))
        bus.emit(MessageSent(new_id(), None, "Assistant", "user", "assistant", "hello"))
        return "hello"

    def listen(event: Event) -> None:
        if isinstance(event, kind):
            raise RuntimeError("this listener is broken")

    with bus.listening(listen):
        run = runs.start(work, kind="chat", owner=owner, chat_id=chat.id, ledger=ledger)
    with pytest.raises(RuntimeError, match="this listener is broken"):
        run.result()
    order = ["RunStarted", "ModelReplied", "MessageSent", "RunFinished"]
    told = order[: order.index(kind.__name__) + 1] if kind is not object else order[:1]
    stored = [type(one.event).__name__ for one in queries.events(ledger, owner, run.id)]
    if kind is RunFinished:
        assert stored == told
        assert queries.run_state(ledger, owner, run.id).state == "finished"
    else:
        assert stored == [*told, "RunFailed"]
        assert queries.run_state(ledger, owner, run.id).state == "failed"
    paid = queries.totals(ledger, queries.CallFilter(owner)).cost
    assert paid == (0.5 if "ModelReplied" in told else None)


def test_many_runs_at_a_time_keep_apart(ledger: Ledger, owner: str) -> None:
    def worker(number: int) -> Callable[[], int]:
        def work() -> int:
            for _ in range(20):
                bus.emit(TokenDelta(str(number)))
            bus.emit(MessageSent(new_id(), None, "a", "b", "user", str(number)))
            return number

        return work

    started = [
        runs.start(worker(number), kind="chat", owner=owner, ledger=ledger) for number in range(8)
    ]
    for number, run in enumerate(started):
        assert run.result() == number
        assert {event.text for event in events(run) if isinstance(event, TokenDelta)} == {
            str(number)
        }
        sent = [
            one.event
            for one in queries.events(ledger, owner, run.id)
            if isinstance(one.event, MessageSent)
        ]
        assert [one.content for one in sent] == [str(number)]


def test_a_cancelled_question_gives_way_to_the_next() -> None:
    """An async chat that is cancelled while a person is asked: nobody waits for that answer any
    more.
    """

    async def chats() -> str:
        first = asyncio.create_task(ASYNC.block(runs.ask_human, "Planner", "First?"))
        # Set by another thread.
        while (run := runs.current()) is not None and run.waiting_for is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await ASYNC.block(runs.ask_human, "Planner", "Second?")

    run = runs.start(lambda: asyncio.run(chats()), kind="chat")
    for recorded in run:
        if isinstance(recorded.event, HumanInputRequested) and recorded.event.prompt == "Second?":
            run.answer("yes", recorded.event.request_id)
    assert run.result() == "yes"
