"""What happens to a collection while it is searched, filled, or changed by others."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from agentkit.core import bus
from agentkit.errors import ConfigError, NotFound, StoreError
from agentkit.events import DocumentDone, DocumentProgress, Event
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.index import indexes as indexes_module
from agentkit.retrieval.index.indexes import CollectionIndex, Indexes
from agentkit.retrieval.options import MODES, SearchOptions
from agentkit.retrieval.types import IndexVersion
from tests.retrieval.conftest import OWNER, Shelf
from tests.retrieval.full_disk import at_most


class TurnedEmbedder(FakeEmbedder):
    """The same name and size, other vectors: a model that was exchanged."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.roll(super().embed(texts), 7, axis=1)


TABLES = ("collections", "index_versions", "documents", "texts", "chunks", "tombstones")


def at(stage: str, act: Callable[[], object]) -> Callable[[Event], None]:
    """A listener that acts once, when a document reaches the stage."""
    waiting = [act]

    def listen(event: Event) -> None:
        if isinstance(event, DocumentProgress) and event.stage == stage and waiting:
            waiting.pop()()

    return listen


def answering(shelf: Shelf) -> IndexVersion:
    return shelf.library.store.version(shelf.library.collection(OWNER, "Docs").id)


@pytest.mark.parametrize("stage", ["parse", "split", "embed", "commit", "index"])
def test_a_collection_that_is_deleted_while_it_is_filled_leaves_nothing(
    shelf: Shelf, stage: str
) -> None:
    sources = [
        shelf.source(f"{number}.md", f"# Number {number}\n\nThe text of number {number}.")
        for number in range(150)
    ]
    delete = at(stage, lambda: shelf.library.delete_collection(OWNER, "Docs"))
    ended: list[Event] = []
    with (
        bus.listening(delete),
        bus.listening(ended.append),
        pytest.raises(NotFound, match="deleted meanwhile"),
    ):
        shelf.library.ingest(OWNER, "Docs", sources)
    assert {
        table: shelf.database.value(f"select count(*) from {table}") for table in TABLES
    } == dict.fromkeys(TABLES, 0)
    assert list((shelf.settings.data / "indexes").iterdir()) == []
    assert [file for file in (shelf.settings.data / "files").rglob("*") if file.is_file()] == []
    begun = {one.document_id for one in ended if isinstance(one, DocumentProgress)}
    assert begun <= {one.document_id for one in ended if isinstance(one, DocumentDone)}, (
        "nothing looks busy for ever"
    )


def test_what_has_failed_while_the_ingest_broke_off_is_told_as_well(shelf: Shelf) -> None:
    """Reading is ahead of what is told: a document that has failed by then must not look busy for
    ever.
    """
    bad = shelf.files / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    heard: list[Event] = []

    def is_failed() -> bool:
        return [one.status for one in shelf.library.store.documents(collection_id)] == ["failed"]

    def break_off() -> None:
        while not is_failed():
            time.sleep(0.01)
        raise ZeroDivisionError

    collection_id = shelf.library.create_collection(OWNER, "Docs").id
    with bus.listening(heard.append, at("parse", break_off)), pytest.raises(ZeroDivisionError):
        shelf.library.ingest(OWNER, "Docs", [Source("bad.pdf", bad, "upload:bad.pdf")])
    assert [one.status for one in heard if isinstance(one, DocumentDone)] == ["failed"]
    assert [one.status for one in shelf.library.documents(OWNER, "Docs")] == ["failed"]


def test_a_search_ends_well_when_its_collection_is_deleted_meanwhile(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", "Cats sleep.")])
    version = answering(shelf)
    index = shelf.library.indexes.of(version)
    ids, _ = index.find_matching("cats", 5)
    shelf.library.delete_collection(OWNER, "Docs")
    assert index.passages(ids) == {}
    index.refresh()
    index.settle()
    assert not (shelf.settings.data / "indexes" / version.id).exists()
    with pytest.raises(NotFound, match="deleted meanwhile"):
        shelf.library.indexes.of(version)
    with pytest.raises(NotFound, match="deleted meanwhile"):
        shelf.library.store.version(version.collection_id)
    assert not (shelf.settings.data / "indexes" / version.id).exists()


def test_what_a_transaction_takes_back_never_gets_into_an_index(shelf: Shelf) -> None:
    (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", "Cats sleep.")])

    def delete_and_fail() -> None:
        with shelf.database.transaction():
            shelf.library.store.forget_document(done.document_id)
            shelf.texts("cats sleep")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delete_and_fail()
    assert len(shelf.texts("cats sleep")) == 1
    assert shelf.library.check() == []


def test_deleted_documents_are_not_found_although_the_indexes_cannot_be_written(
    shelf: Shelf,
) -> None:
    everything = SearchOptions(mode="lexical", collapse=1.0)
    shelf.library.ingest(
        OWNER,
        "Docs",
        [shelf.source("cats.md", "Cats sleep."), shelf.source("dogs.md", "Dogs sleep.")],
    )
    (cats,) = [one.id for one in shelf.library.documents(OWNER, "Docs", "cats")]
    assert len(shelf.library.retrieve(OWNER, "Docs", "sleep", options=everything)) == 2
    index = shelf.library.indexes.of(answering(shelf))
    shelf.library.delete_documents(OWNER, [cats])
    with at_most(10):
        assert [
            hit.document
            for hit in shelf.library.retrieve(OWNER, "Docs", "sleep", options=everything)
        ] == ["dogs.md"]
        assert any("could not be written" in problem.what for problem in index.check())
    assert [
        hit.document for hit in shelf.library.retrieve(OWNER, "Docs", "sleep", options=everything)
    ] == ["dogs.md"]
    assert index.check() == []


class SlowToOpen(Indexes):
    """Takes a while to open one version."""

    def __init__(self, shelf: Shelf, slow: IndexVersion, folder: Path) -> None:
        super().__init__(shelf.library.store.chunk_table, folder)
        self.slow, self.begun, self.go_on = slow, threading.Event(), threading.Event()

    def _open_index(self, version: IndexVersion) -> CollectionIndex:
        if version.id == self.slow.id:
            self.begun.set()
            assert self.go_on.wait(60)
        return super()._open_index(version)


def test_to_open_a_large_index_holds_up_no_other(shelf: Shelf, tmp_path: Path) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", "Cats sleep.")])
    shelf.library.ingest(OWNER, "Others", [shelf.source("dogs.md", "Dogs bark.")])
    slow, other = (
        answering(shelf),
        shelf.library.store.version(shelf.library.collection(OWNER, "Others").id),
    )
    indexes = SlowToOpen(shelf, slow, tmp_path / "indexes")
    found: list[CollectionIndex] = []
    threads = [threading.Thread(target=lambda: found.append(indexes.of(slow))) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert indexes.begun.wait(60)
    assert indexes.of(other).find_matching("dogs", 5)[0], "while the other one opens"
    indexes.go_on.set()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]
    indexes.close()


def test_those_used_last_stay_open_and_the_others_answer_too(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes_module, "MOST_OPEN", 3)
    wrong: list[BaseException] = []

    def use(first: int) -> None:
        try:
            for number in range(8):
                name = f"{(first + number) % 8}.md"
                shelf.library.ingest(
                    OWNER, name, [shelf.source(f"{first}-{name}", f"Cats {first} of {name} sleep.")]
                )
                assert shelf.texts("sleep", collection=name)
        except BaseException as error:  # noqa: BLE001 - reported below, in the thread of the test
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(first,)) for first in (0, 3, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    names = [collection.name for collection in shelf.library.collections(OWNER)]
    hits = shelf.library.retrieve(
        OWNER, names, "cats sleep", top_k=100, options=SearchOptions(collapse=1.0, merge=False)
    )
    assert len(hits) == 24, "in more collections than stay open"
    assert shelf.library.check() == []
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    for kind in ("hnsw", "arrow"):
        assert (
            len([one for one in mapped if re.search(rf"{shelf.settings.data}/.*\.{kind}$", one)])
            <= 3
        )


def test_one_index_that_cannot_be_saved_does_not_keep_others_from_it(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    class Unsaved(CollectionIndex):
        def close(self) -> None:
            super().close()
            raise StoreError("no space")

    class Some(Indexes):
        def _open_index(self, version: IndexVersion) -> CollectionIndex:
            return Unsaved(self._chunks, version, self._folder / version.id, 10)

    names = ("One", "Two", "Three")
    for name in names:
        shelf.library.ingest(OWNER, name, [shelf.source("cats.md", "Cats sleep.")])
    indexes = Some(shelf.library.store.chunk_table, shelf.settings.data / "others")
    for version in shelf.library.store.versions():
        indexes.of(version)
    with caplog.at_level(logging.WARNING):
        indexes.close()
    assert caplog.text.count("could not be saved: no space") == len(names)


def test_a_version_is_searched_as_part_of_its_own_collection_only(shelf: Shelf) -> None:
    for name in ("Docs", "Others"):
        shelf.library.ingest(OWNER, name, [shelf.source("cats.md", "Cats sleep.")])
    version = answering(shelf)
    assert shelf.library.retrieve(OWNER, "Docs", "cats", version_id=version.id)
    for names in ("Others", ["Docs", "Others"]):
        with pytest.raises(ConfigError, match="name the one collection that it belongs to"):
            shelf.library.retrieve(OWNER, names, "cats", version_id=version.id)
    shelf.library.ingest("bob", "Docs", [shelf.source("cats.md", "Cats sleep.")])
    with pytest.raises(NotFound):
        shelf.library.retrieve("bob", "Docs", "cats", version_id=version.id)


def test_a_query_may_hold_anything_but_collections_are_needed(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", "Cats sleep.")])
    for mode in MODES:
        assert shelf.library.retrieve(OWNER, "Docs", "cats \ud83d \0", mode=mode)
    with pytest.raises(ConfigError, match="name at least one"):
        shelf.library.retrieve(OWNER, [], "cats")


def test_the_same_version_can_be_made_again_when_its_model_has_changed_under_its_name(
    shelf: Shelf,
) -> None:
    library = shelf.library
    library.ingest(
        OWNER,
        "Docs",
        [shelf.source("cats.md", "Cats sleep."), shelf.source("dogs.md", "Dogs bark.")],
    )
    old = answering(shelf)
    assert library.retrieve(OWNER, "Docs", "cats sleep", mode="dense")

    def again() -> IndexVersion:
        return library.versions.add(
            OWNER, "Docs", embedder="fake", max_tokens=old.max_tokens, overlap=old.overlap
        )

    with pytest.raises(ConfigError, match="already"):
        again()
    library.embedders.default = TurnedEmbedder()
    made = again()
    with pytest.raises(ConfigError, match="build a new version"):
        library.retrieve(OWNER, "Docs", "cats sleep")
    with pytest.raises(ConfigError, match="already"):
        again()
    library.versions.promote(OWNER, made.id)
    assert library.retrieve(OWNER, "Docs", "cats sleep", mode="dense")[0].document == "cats.md"
    with pytest.raises(ConfigError, match="already"):
        again()
    with pytest.raises(ConfigError, match="differently"):
        library.versions.promote(OWNER, old.id)
