"""Index versions: built beside the one that answers, from the database alone, promoted and gone
back from.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from agentkit.core import bus, stopping
from agentkit.errors import ConfigError, DocumentError, NotFound, Stopped
from agentkit.events import DocumentDone, DocumentProgress, Event
from agentkit.retrieval import FakeEmbedder, Library
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.types import IndexVersion
from tests.retrieval.conftest import OWNER, Shelf

ANIMALS = ("cats", "dogs", "lions", "owls", "bees")


class TurnedEmbedder(FakeEmbedder):
    """The same name and size, other vectors: a model that was exchanged."""

    def embed(self, texts: object) -> np.ndarray:
        # Texts, as the protocol says.
        return np.roll(super().embed(texts), 7, axis=1)  # type: ignore[arg-type]


def about(animal: str) -> str:
    parts = [
        f"# {animal}\n\n"
        + " ".join(f"The {animal} do thing {number} of many." for number in range(30))
        for _ in range(3)
    ]
    return "\n\n".join(parts)


def opened(shelf: Shelf, *others: FakeEmbedder, default: FakeEmbedder | None = None) -> Library:
    """The shelf's library, opened with these embedders; nothing else has happened since."""
    shelf.library.close()
    known = {other.name: other for other in others}
    shelf.library = Library(
        shelf.database,
        shelf.settings,
        Embedders(default or FakeEmbedder(), known.get, lambda: list(known)),
    )
    return shelf.library


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Five documents of several chunks each, and a library that knows a second embedder."""
    opened(shelf, FakeEmbedder(96, "wide"))
    shelf.library.ingest(
        OWNER, "Docs", [shelf.source(f"{animal}.md", about(animal)) for animal in ANIMALS]
    )
    return shelf


def small(library: Library, changes: dict[str, object] | None = None) -> IndexVersion:
    values = {"embedder": "wide", "max_tokens": 40, "overlap": 10} | (changes or {})
    # As `add` wants them.
    return library.versions.add(OWNER, "Docs", **values)  # type: ignore[arg-type]


def status(library: Library, version: IndexVersion) -> tuple[bool, int, int]:
    found = next(
        one for one in library.versions.listed(OWNER, "Docs") if one.version.id == version.id
    )
    return found.version.active, found.documents, found.missing


def best(library: Library, version: IndexVersion | None = None) -> list[str]:
    """Which document each animal's name finds first."""
    return [
        library.retrieve(
            OWNER, "Docs", animal, top_k=1, version_id=version.id if version else None
        )[0].document
        for animal in ANIMALS
    ]


def whenever(test: Callable[[Event], bool], act: Callable[[], object]) -> Callable[[Event], None]:
    """A listener that acts once, at the first event that passes the test."""
    waiting = [act]

    def listen(event: Event) -> None:
        if test(event) and waiting:
            waiting.pop()()

    return listen


def on_stage(stage: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, DocumentProgress) and event.stage == stage


WANTED = [f"{animal}.md" for animal in ANIMALS]


def test_a_version_is_built_beside_and_takes_over_without_the_originals(filled: Shelf) -> None:
    library = filled.library
    (old,) = [one.version for one in library.versions.listed(OWNER, "Docs")]
    chunks = library.collection(OWNER, "Docs").chunks
    shutil.rmtree(filled.settings.data / "files")
    version = small(library)
    assert (version.active, version.dimension, version.max_tokens, version.overlap) == (
        False,
        96,
        40,
        10,
    )
    assert status(library, version) == (False, 0, 5)
    heard: list[Event] = []
    with bus.listening(heard.append):
        assert library.versions.build(OWNER, version.id) == 5
    assert [event.status for event in heard if isinstance(event, DocumentDone)] == ["indexed"] * 5
    assert {event.stage for event in heard if isinstance(event, DocumentProgress)} == {
        "split",
        "embed",
        "commit",
        "index",
    }
    assert library.versions.build(OWNER, version.id) == 0
    # Beside: nothing has changed for those who search.
    assert (
        library.collection(OWNER, "Docs").chunks,
        library.collection(OWNER, "Docs").embedder,
    ) == (chunks, "fake")
    assert best(library) == best(library, version) == WANTED
    library.versions.promote(OWNER, version.id)
    assert [one.version.id for one in library.versions.listed(OWNER, "Docs")] == [
        version.id,
        old.id,
    ]
    assert (status(library, version), status(library, old)) == ((True, 5, 0), (False, 5, 0))
    after = library.collection(OWNER, "Docs")
    assert (after.embedder, after.documents) == ("wide", 5)
    assert after.chunks > chunks
    for document in library.documents(OWNER, "Docs"):
        pieces = library.chunks(OWNER, document.id, 0, 1_000)
        assert (len(pieces), sum(piece.tokens for piece in pieces)) == (
            document.chunks,
            document.tokens,
        )
        assert max(piece.tokens for piece in pieces) <= 40
        text = library.text(OWNER, document.id)
        assert all(text[piece.start : piece.end] == piece.text for piece in pieces)
        assert any(before.end > piece.start for before, piece in pairwise(pieces))
    assert best(library) == WANTED


def test_going_back(filled: Shelf) -> None:
    library = filled.library
    (old,) = [one.version for one in library.versions.listed(OWNER, "Docs")]
    before = [(one.name, one.chunks, one.tokens) for one in library.documents(OWNER, "Docs")]
    version = small(library)
    library.versions.promote(OWNER, version.id)
    library.ingest(OWNER, "Docs", [filled.source("elks.md", about("elks"))])
    assert status(library, old) == (False, 5, 1)
    library.versions.promote(OWNER, old.id)
    library.versions.promote(OWNER, old.id)
    assert status(library, old) == (True, 6, 0)
    assert [(one.name, one.chunks, one.tokens) for one in library.documents(OWNER, "Docs")][
        1:
    ] == before
    assert library.retrieve(OWNER, "Docs", "elks", top_k=1)[0].document == "elks.md"
    assert library.check() == []
    filled.library = opened(filled, FakeEmbedder(96, "wide"))
    assert filled.library.check() == []
    library.versions.discard(OWNER, version.id)
    assert not (filled.settings.data / "indexes" / version.id).exists()
    assert filled.database.value("select count(distinct version_id) from chunks") == 1
    with pytest.raises(NotFound, match="discarded"):
        library.versions.one(OWNER, version.id)


def test_what_answers_goes_on_answering_during_a_build(filled: Shelf) -> None:
    library = filled.library
    seen: list[list[str]] = []
    version = small(library)
    with bus.listening(whenever(on_stage("embed"), lambda: seen.append(best(library)))):
        library.versions.promote(OWNER, version.id)
    assert seen == [WANTED]
    assert best(library) == WANTED


@pytest.mark.parametrize("stage", ["split", "embed", "commit", "index"])
def test_taking_in_replacing_and_deleting_during_a_build(filled: Shelf, stage: str) -> None:
    library = filled.library
    rows = {document.name: document for document in library.documents(OWNER, "Docs")}

    def change() -> None:
        library.delete_documents(OWNER, [rows["dogs.md"].id])
        sources = [
            filled.source("cats.md", "# Cats\n\nwhiskers only\n"),
            filled.source("elks.md", about("elks")),
        ]
        assert {done.status for done in library.ingest(OWNER, "Docs", sources)} == {"indexed"}

    version = small(library)
    # The writer holds its turn while it embeds: what changes then comes from another thread, as it
    # does in the app.
    late = stage in {"embed", "commit", "index"}
    act = (lambda: library.delete_documents(OWNER, [rows["dogs.md"].id])) if late else change
    with bus.listening(whenever(on_stage(stage), act)):
        library.versions.build(OWNER, version.id)
    if late:
        change_rest = [
            filled.source("cats.md", "# Cats\n\nwhiskers only\n"),
            filled.source("elks.md", about("elks")),
        ]
        library.ingest(OWNER, "Docs", change_rest)
        assert status(library, version) == (False, 3, 2)
    else:
        assert status(library, version) == (False, 5, 0)
    library.versions.promote(OWNER, version.id)
    found = {document.name: document for document in library.documents(OWNER, "Docs")}
    assert set(found) == {"cats.md", "lions.md", "owls.md", "bees.md", "elks.md"}
    assert [chunk.text for chunk in library.chunks(OWNER, found["cats.md"].id)] == [
        "# Cats\n\nwhiskers only"
    ]
    assert all(document.chunks for document in found.values())
    assert library.retrieve(OWNER, "Docs", "elks", top_k=1)[0].document == "elks.md"
    assert library.check() == []


def test_a_document_that_is_replaced_while_its_group_is_embedded_is_built_anew(
    filled: Shelf,
) -> None:
    library = filled.library
    (document,) = [one for one in library.documents(OWNER, "Docs") if one.name == "cats.md"]
    version = small(library)

    def replace() -> None:  # as a second writer's transaction would, between reading and storing
        with filled.database.transaction():
            filled.database.execute(
                "update documents set sha256 = 'another' where id = ?", [document.id]
            )

    with bus.listening(whenever(on_stage("commit"), replace)):
        assert library.versions.build(OWNER, version.id) == 5
    assert status(library, version) == (False, 5, 0)
    assert filled.database.value(
        "select count(*) = count(distinct (document_id, ordinal)) from chunks where version_id = ?",
        [version.id],
    )


def test_a_stop_in_the_middle_is_gone_on_from(filled: Shelf) -> None:
    library = filled.library
    sources = [
        filled.source(f"{number}.md", f"# Number {number}\n\nabout {number}\n")
        for number in range(150)
    ]
    library.ingest(OWNER, "Docs", sources)
    version = small(library)
    signal = stopping.StopSignal()
    listen = whenever(lambda event: isinstance(event, DocumentDone), signal.set)
    with stopping.stoppable(signal), bus.listening(listen), pytest.raises(Stopped):
        library.versions.promote(OWNER, version.id)
    active, documents, missing = status(library, version)
    assert (active, documents + missing) == (False, 155)
    assert 0 < documents < 155
    assert best(library) == WANTED
    library = opened(filled, FakeEmbedder(96, "wide"))
    library.versions.promote(OWNER, version.id)
    assert status(library, version) == (True, 155, 0)
    assert library.check() == []


def test_a_promotion_waits_for_an_ingest_and_takes_its_documents_along(filled: Shelf) -> None:
    library = filled.library
    version = small(library)
    halted, go_on = threading.Event(), threading.Event()

    def halt() -> None:
        halted.set()
        assert go_on.wait(120)

    def ingest() -> None:
        with bus.listening(whenever(on_stage("parse"), halt)):
            library.ingest(OWNER, "Docs", [elks])

    elks = filled.source("elks.md", about("elks"))
    taking_in = threading.Thread(target=ingest)
    promoting = threading.Thread(target=library.versions.promote, args=(OWNER, version.id))
    taking_in.start()
    assert halted.wait(120)
    promoting.start()
    promoting.join(0.5)
    assert promoting.is_alive()
    assert not status(library, version)[0]
    go_on.set()
    for thread in (taking_in, promoting):
        thread.join(120)
    assert status(library, version) == (True, 6, 0)
    assert library.retrieve(OWNER, "Docs", "elks", top_k=1)[0].document == "elks.md"


def test_two_builds_of_one_version_at_a_time_make_no_chunk_twice(filled: Shelf) -> None:
    library = filled.library
    version = small(library)
    threads = [
        threading.Thread(target=library.versions.build, args=(OWNER, version.id)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert status(library, version) == (False, 5, 0)
    assert filled.database.value(
        "select count(*) = count(distinct (document_id, ordinal)) from chunks where version_id = ?",
        [version.id],
    )
    assert library.check() == []


def test_discarded_while_it_is_built(filled: Shelf) -> None:
    library = filled.library
    version = small(library)
    act = whenever(on_stage("split"), lambda: library.versions.discard(OWNER, version.id))
    with bus.listening(act), pytest.raises(NotFound, match="discarded"):
        library.versions.promote(OWNER, version.id)
    assert (
        filled.database.value("select count(*) from chunks where version_id = ?", [version.id]) == 0
    )
    assert not (filled.settings.data / "indexes" / version.id).exists()
    assert best(library) == WANTED


def test_documents_of_an_older_store_are_read_once_more(filled: Shelf) -> None:
    library = filled.library
    with filled.database.transaction():
        filled.database.execute("update texts set sections = null")
    before = {
        one.name: [chunk.text for chunk in library.chunks(OWNER, one.id)]
        for one in library.documents(OWNER, "Docs")
    }
    same = library.versions.add(
        OWNER,
        "Docs",
        embedder="wide",
        max_tokens=library.store.version_table.of(library.collection(OWNER, "Docs").id)[
            0
        ].max_tokens,
    )
    library.versions.promote(OWNER, same.id)
    after = {
        one.name: [chunk.text for chunk in library.chunks(OWNER, one.id)]
        for one in library.documents(OWNER, "Docs")
    }
    assert after == before
    assert filled.database.value("select count(*) from texts where sections is null") == 0


def test_what_cannot_be_built_is_named_and_nothing_is_swapped(filled: Shelf) -> None:
    library = filled.library
    rows = {document.name: document for document in library.documents(OWNER, "Docs")}
    for name in ("cats.md", "dogs.md"):
        library.original(OWNER, rows[name].id).unlink()
    with filled.database.transaction():
        filled.database.execute("update texts set sections = null")
        filled.database.execute(
            "update texts set text = text || '!' where document_id = ?", [rows["owls.md"].id]
        )
    version = small(library)
    done: list[Event] = []
    with (
        bus.listening(done.append),
        pytest.raises(ConfigError, match=r"3 of the documents .*cats.md") as raised,
    ):
        library.versions.promote(OWNER, version.id)
    assert "Delete these documents" in str(raised.value)
    failed = {
        event.document: event.error
        for event in done
        if isinstance(event, DocumentDone) and event.status == "failed"
    }
    assert set(failed) == {"cats.md", "dogs.md", "owls.md"}
    assert ("original" in failed["cats.md"], "another way" in failed["owls.md"]) == (True, True)
    assert status(library, version) == (False, 2, 3)
    assert {document.status for document in library.documents(OWNER, "Docs")} == {"indexed"}
    assert best(library) == WANTED
    with pytest.raises(DocumentError, match="original"):
        library.versions.preview(OWNER, rows["cats.md"].id, embedder="wide", max_tokens=40)
    library.delete_documents(OWNER, [rows[name].id for name in ("cats.md", "dogs.md", "owls.md")])
    library.versions.promote(OWNER, version.id)
    assert status(library, version) == (True, 2, 0)


def test_impossible_versions_are_refused(filled: Shelf) -> None:
    library = filled.library
    impossible: list[tuple[dict[str, object], str]] = [
        ({"embedder": "nobody"}, "nobody"),
        ({"max_tokens": 7}, "7 tokens"),
        ({"max_tokens": 207}, "8 to 206"),
        ({"overlap": 21}, "21"),
        ({"overlap": -1}, "-1"),
    ]
    for changes, word in impossible:
        with pytest.raises(ConfigError, match=word):
            small(library, changes)
    version = small(library)
    with pytest.raises(ConfigError, match="already"):
        small(library)
    for refused in (
        library.versions.build,
        library.versions.promote,
        library.versions.discard,
        library.versions.one,
    ):
        with pytest.raises(NotFound):
            refused("bob", version.id)
    with pytest.raises(NotFound):
        library.versions.listed("bob", "Docs")
    with pytest.raises(NotFound):
        library.versions.add(OWNER, "None", embedder="wide", max_tokens=40)
    (active,) = [
        one.version for one in library.versions.listed(OWNER, "Docs") if one.version.active
    ]
    with pytest.raises(ConfigError, match="answers"):
        library.versions.discard(OWNER, active.id)


def test_a_preview_is_what_a_build_makes(filled: Shelf) -> None:
    library = filled.library
    (document,) = [one for one in library.documents(OWNER, "Docs") if one.name == "owls.md"]
    before = library.chunks(OWNER, document.id)
    pieces = library.versions.preview(
        OWNER, document.id, embedder="wide", max_tokens=40, overlap=10
    )
    assert library.chunks(OWNER, document.id) == before
    library.versions.promote(OWNER, small(library).id)
    chunks = library.chunks(OWNER, document.id, 0, 1_000)
    assert [(piece.text, piece.start, piece.heading) for piece in pieces] == [
        (one.text, one.start, one.heading) for one in chunks
    ]
    with pytest.raises(NotFound):
        library.versions.preview("bob", document.id, embedder="wide", max_tokens=40)


def test_a_model_that_changed_is_noticed(filled: Shelf) -> None:
    library = opened(filled, default=TurnedEmbedder())
    for ask in (
        lambda: library.retrieve(OWNER, "Docs", "cats"),
        lambda: library.ingest(OWNER, "Docs", [filled.source("elks.md", about("elks"))]),
        lambda: library.versions.embedders.of(library.versions.listed(OWNER, "Docs")[0].version),
    ):
        with pytest.raises(ConfigError, match=r"fake answers differently .*retrieval lab"):
            ask()
    assert library.retrieve(OWNER, "Docs", "cats", mode="lexical")
    library = opened(filled, default=FakeEmbedder(65))
    with pytest.raises(ConfigError, match="65 numbers now, but gave 64"):
        library.retrieve(OWNER, "Docs", "cats", mode="dense")
    library = opened(filled, default=FakeEmbedder(32, "wide"))
    with pytest.raises(ConfigError, match="no embedding model 'fake'"):
        library.retrieve(OWNER, "Docs", "cats")
    version = library.versions.add(OWNER, "Docs", embedder="wide", max_tokens=100)
    library.versions.promote(OWNER, version.id)  # the way out that the messages name
    assert best(library) == WANTED


def test_a_store_without_a_probe_gets_one_at_its_first_use(filled: Shelf) -> None:
    with filled.database.transaction():
        filled.database.execute("update index_versions set details = '{}'")
    library = opened(filled)
    (version,) = [one.version for one in library.versions.listed(OWNER, "Docs")]
    assert library.versions.embedders.of(version).name == "fake"
    library = opened(filled, default=TurnedEmbedder())
    with pytest.raises(ConfigError, match="differently"):
        library.versions.check_model(version)


def test_an_empty_collection_does_not_remember_a_model(shelf: Shelf) -> None:
    library = opened(shelf)
    version = library.store.version(library.create_collection(OWNER, "Docs").id)
    library.versions.check_model(version)
    library = opened(shelf, default=TurnedEmbedder())
    library.ingest(OWNER, "Docs", [shelf.source("cats.md", about("cats"))])
    assert library.retrieve(OWNER, "Docs", "cats")


def test_deleting_a_collection_leaves_nothing_of_any_version(filled: Shelf) -> None:
    library = filled.library
    version = small(library)
    library.versions.build(OWNER, version.id)
    library.delete_collection(OWNER, "Docs")
    for table in ("chunks", "texts", "documents", "index_versions", "tombstones", "collections"):
        assert filled.database.value(f"select count(*) from {table}") == 0
    assert list((filled.settings.data / "indexes").iterdir()) == []


def test_a_collection_like_another(filled: Shelf) -> None:
    library = filled.library
    library.versions.promote(OWNER, small(library).id)
    library.create_collection(OWNER, "Like", like="Docs")
    (made,) = [one.version for one in library.versions.listed(OWNER, "Like")]
    assert (made.embedder, made.dimension, made.max_tokens, made.overlap, made.active) == (
        "wide",
        96,
        40,
        10,
        True,
    )


def test_a_version_that_is_not_built_says_so_instead_of_finding_nothing(filled: Shelf) -> None:
    version = small(filled.library)
    with pytest.raises(ConfigError, match=f"{version.id} is not built yet"):
        best(filled.library, version)
    filled.library.versions.build(OWNER, version.id)
    assert best(filled.library, version) == [f"{animal}.md" for animal in ANIMALS]
