"""One group of documents is stored while the next one is embedded, and keeps all promises."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from agentkit.core import bus, stopping
from agentkit.errors import ModelError, Stopped
from agentkit.events import DocumentDone, DocumentProgress, Event
from agentkit.retrieval import FakeEmbedder, Library
from tests.retrieval.conftest import OWNER, Shelf

DEADLINE_S = 120


class Halting(FakeEmbedder):
    """Calls `then` when it is given something of the second document."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self.then = then

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if any("Harbour" in text for text in texts):
            self.then()
        return super().embed(texts)


class Meeting:
    """Holds the first document where it is to be indexed until the second one is embedded."""

    def __init__(self) -> None:
        self.second_began = threading.Event()
        self.events: list[Event] = []
        self.met: list[bool] = []

    def hear(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, DocumentProgress) and event.stage == "index" and not self.met:
            self.met.append(self.second_began.wait(DEADLINE_S))

    def ended(self) -> dict[str, str]:
        return {one.document: one.status for one in self.events if isinstance(one, DocumentDone)}


def text(about: str, parts: int) -> str:
    """A document of so many chunks."""
    return "\n\n".join(f"# {about} {n}\n\n{f'{about} has part {n}. ' * 30}" for n in range(parts))


def take_in(shelf: Shelf, meeting: Meeting, then: Callable[[], object]) -> None:
    library = Library(shelf.database, shelf.settings, Halting(then))
    sources = [
        shelf.source("first.md", text("Garden", 40)),
        shelf.source("second.md", text("Harbour", 150)),
    ]
    try:
        with bus.listening(meeting.hear):
            library.ingest(OWNER, "Docs", sources)
    finally:
        library.close()


def stored(shelf: Shelf) -> dict[str, tuple[str, bool]]:
    """Of each document its state, and whether it has chunks."""
    collection = shelf.library.collection(OWNER, "Docs").id
    found = shelf.library.store.documents(collection)
    return {one.name: (one.status, one.chunks > 0) for one in found}


def test_a_group_is_stored_while_the_next_one_is_embedded(shelf: Shelf) -> None:
    meeting = Meeting()
    take_in(shelf, meeting, meeting.second_began.set)
    assert meeting.met == [True]
    assert meeting.ended() == {"first.md": "indexed", "second.md": "indexed"}
    stages = {
        name: [
            one.stage
            for one in meeting.events
            if isinstance(one, DocumentProgress) and one.document == name
        ]
        for name in meeting.ended()
    }
    for found in stages.values():
        assert list(dict.fromkeys(found))[-3:] == ["embed", "commit", "index"]
    assert stored(shelf) == {"first.md": ("indexed", True), "second.md": ("indexed", True)}


def test_a_stop_keeps_the_group_that_is_stored_meanwhile(shelf: Shelf) -> None:
    meeting, signal = Meeting(), stopping.StopSignal()

    def stop() -> None:
        signal.set()
        meeting.second_began.set()

    with stopping.stoppable(signal), pytest.raises(Stopped):
        take_in(shelf, meeting, stop)
    assert meeting.met == [True]
    assert meeting.ended() == {"first.md": "indexed", "second.md": "stopped"}
    assert stored(shelf) == {"first.md": ("indexed", True), "second.md": ("stopped", False)}


def test_a_model_that_fails_costs_nothing_that_is_stored_meanwhile(shelf: Shelf) -> None:
    meeting = Meeting()

    def fail() -> None:
        meeting.second_began.set()
        raise ModelError("the model has gone")

    with pytest.raises(ModelError, match="has gone"):
        take_in(shelf, meeting, fail)
    assert meeting.ended() == {"first.md": "indexed", "second.md": "failed"}
    assert stored(shelf) == {"first.md": ("indexed", True), "second.md": ("failed", False)}


def test_what_cannot_be_stored_ends_the_ingest_with_its_error(shelf: Shelf) -> None:
    meeting = Meeting()

    def refuse(event: Event) -> None:
        if isinstance(event, DocumentProgress) and event.stage == "commit":
            raise ModelError("no more room")

    with bus.listening(refuse), pytest.raises(ModelError, match="no more room"):
        take_in(shelf, meeting, meeting.second_began.set)
    assert set(meeting.ended().values()) == {"failed"}
    assert set(stored(shelf).values()) == {("failed", False)}
