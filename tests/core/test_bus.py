"""Events reach whoever listens around the work, in this context and in no other."""

from __future__ import annotations

import contextvars
import threading

import pytest

from agentkit.core import bus
from agentkit.events import DocumentDone, DocumentProgress, Event, RunFinished, RunStarted


def test_without_listeners_nothing_happens() -> None:
    bus.emit(RunStarted("chat"))


def test_inner_and_outer_listeners_hear_in_the_order_in_which_they_began() -> None:
    heard: list[tuple[str, Event]] = []
    first, second = RunStarted("chat"), RunFinished()
    with bus.listening(lambda event: heard.append(("outer", event))):
        with bus.listening(lambda event: heard.append(("inner", event))):
            bus.emit(first)
        bus.emit(second)
    bus.emit(first)
    assert heard == [("outer", first), ("inner", first), ("outer", second)]


def test_a_listener_that_raises_keeps_no_other_from_hearing() -> None:
    heard: list[Event] = []

    def fail(event: Event) -> None:
        raise RuntimeError(f"{len(heard)} heard before")

    listening = bus.listening(fail, heard.append, fail, heard.append)
    with listening, pytest.raises(RuntimeError, match="0 heard before"):
        bus.emit(RunStarted("chat"))
    assert heard == [RunStarted("chat"), RunStarted("chat")]


def test_a_thread_hears_only_with_a_copied_context() -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        copied = contextvars.copy_context()
        for target in (
            lambda: bus.emit(RunStarted("alone")),
            lambda: copied.run(bus.emit, RunStarted("copied")),
        ):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert heard == [RunStarted("copied")]


def test_the_listeners_go_when_the_block_fails() -> None:
    heard: list[Event] = []
    try:
        with bus.listening(heard.append):
            raise RuntimeError("inside")
    except RuntimeError:
        bus.emit(RunStarted("after"))
    assert heard == []


def test_a_history_gives_what_came_after_a_number() -> None:
    history = bus.History()
    first, second = history.add(RunStarted("chat")), history.add(RunFinished())
    assert (first.seq, second.seq, history.last) == (1, 2, 2)
    assert history.after(0) == [first, second]
    assert history.after(1) == [second]
    assert history.after(2) == []


def test_a_history_of_few_documents_has_all_their_progress() -> None:
    history = bus.History()
    for number in range(250):
        _take_in(history, str(number))
    assert history.last == len(history.after(0)) == 250 * 9


def test_a_history_of_many_documents_forgets_how_far_they_had_got() -> None:
    history = bus.History()
    waiting = history.add(DocumentProgress("first", "first", "waiting"))
    for number in range(20_000):
        _take_in(history, str(number))
        assert history.after(history.last - 1)[0].seq == history.last, "the last one is there"

    kept = history.after(0)
    assert history.last == 180_001
    assert len(kept) < 1.6 * 20_000
    assert kept[0] == waiting, "nothing is known of it since"
    done = [one.event.document_id for one in kept if isinstance(one.event, DocumentDone)]
    assert done == list(map(str, range(20_000)))
    numbers = [one.seq for one in kept]
    assert numbers == sorted(numbers)
    assert history.after(90_000) == [one for one in kept if one.seq > 90_000]


def _take_in(history: bus.History, document: str) -> None:
    for _ in range(8):
        history.add(DocumentProgress(document, document, "embed"))
    history.add(DocumentDone(document, document, "indexed"))
