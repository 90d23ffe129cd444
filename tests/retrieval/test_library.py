"""Collections and documents as the app and the command line use them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from agentkit.core import bus, stopping
from agentkit.documents import Piece
from agentkit.errors import ConfigError, NotFound, Stopped
from agentkit.events import DocumentDone, DocumentProgress, Event, ModelReplied, Retrieved
from agentkit.retrieval import FakeEmbedder, Library, Source
from agentkit.retrieval.ingest.ingest import share_seconds
from agentkit.retrieval.ingest.intake import Ready
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.types import Scope, StoredDocument
from tests.retrieval.conftest import OWNER, Shelf
from tests.soak import TIMES
from tests.timing import processor_time

CATS = "# Cats\n\nCats sleep sixteen hours a day.\n\n# Dogs\n\nDogs bark at strangers.\n"
LIONS = "# Lions\n\nLions live in prides in Africa.\n"


def statuses(done: list[DocumentDone]) -> dict[str, str]:
    return {one.document: one.status for one in done}


class SlowStarter(FakeEmbedder):
    """Is ready after it was used once."""

    used = False

    @property
    def is_ready(self) -> bool:
        return self.used

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.used = True
        return super().embed(texts)


def test_a_model_that_has_to_be_prepared_first_is_told(shelf: Shelf) -> None:
    library = Library(shelf.database, shelf.settings, SlowStarter())
    heard: list[Event] = []
    with bus.listening(heard.append):
        for name in ("cats.md", "more.md"):
            library.ingest(OWNER, "Docs", [shelf.source(name, f"{CATS}{name}")])
    stages = [event.stage for event in heard if isinstance(event, DocumentProgress)]
    assert stages.count("prepare") == 1
    assert stages.index("prepare") < stages.index("embed")
    library.close()


def test_from_file_to_hit(shelf: Shelf) -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
        hits = shelf.library.retrieve(OWNER, "Docs", "how long do cats sleep")
    assert (done.status, done.chunks, done.error) == ("indexed", 2, "")
    (document,) = shelf.library.documents(OWNER, "Docs")
    assert (document.id, document.status, document.chunks, document.tokens) == (
        done.document_id,
        "indexed",
        2,
        done.tokens,
    )
    text = shelf.library.text(OWNER, document.id)
    assert "sixteen" in hits[0].text
    for hit in hits:
        assert text[hit.start : hit.end] == hit.text
        assert shelf.library.chunk(OWNER, hit.chunk_id).text == hit.text
    assert (hits[0].rank, hits[0].heading, hits[0].document) == (1, "Cats", "cats.md")
    assert set(hits[0].scores) == {"dense", "dense_rank", "lexical", "lexical_rank", "fused"}
    assert shelf.library.original(OWNER, document.id).read_text() == CATS
    stages = [event.stage for event in heard if isinstance(event, DocumentProgress)]
    assert stages == ["parse", "split", "waiting", "embed", "embed", "commit", "index"]
    replies = [event for event in heard if isinstance(event, ModelReplied)]
    assert [(reply.purpose, reply.provider, reply.cost) for reply in replies] == [
        ("embedding", "local", 0.0)
    ] * 2
    assert all(reply.usage.input > 0 for reply in replies)
    assert isinstance(heard[-1], Retrieved)
    assert heard[-1].hits[0]["chunk_id"] == hits[0].chunk_id


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_every_mode_finds_it(shelf: Shelf, mode: str) -> None:
    shelf.library.ingest(
        OWNER, "Docs", [shelf.source("cats.md", CATS), shelf.source("lions.md", LIONS)]
    )
    # From the parameters.
    hits = shelf.library.retrieve(OWNER, "Docs", "lions in Africa", mode=mode, top_k=1)  # type: ignore[arg-type]
    assert [hit.document for hit in hits] == ["lions.md"]


def test_the_same_again_is_unchanged_and_a_change_replaces(shelf: Shelf) -> None:
    first = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    again = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    assert (again[0].status, again[0].document_id, again[0].chunks) == (
        "unchanged",
        first[0].document_id,
        2,
    )
    changed = shelf.library.ingest(
        OWNER, "Docs", [shelf.source("cats.md", "# Cats\n\nCats eat fish.\n")]
    )
    assert (changed[0].status, changed[0].document_id) == ("indexed", first[0].document_id)
    assert shelf.texts("cats dogs sleep bark") == ["# Cats\n\nCats eat fish."]
    assert shelf.library.check() == []


def test_a_twin_that_is_replaced_in_the_same_ingest_does_not_take_the_content_with_it(
    shelf: Shelf,
) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("a.md", CATS)])
    copy = shelf.source("copy.md", CATS)
    done = shelf.library.ingest(OWNER, "Docs", [copy, shelf.source("a.md", LIONS)])
    assert statuses(done) == {"a.md": "indexed", "copy.md": "indexed"}
    assert any("sixteen" in text for text in shelf.texts("cats sleep"))


def test_one_bad_file_never_stops_the_others(shelf: Shelf) -> None:
    bad = shelf.files / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    empty, large = shelf.source("empty.txt", ""), shelf.source("large.txt", "word " * 300_000)
    missing = Source("gone.txt", shelf.files / "gone.txt", "upload:gone.txt")
    sources = [
        Source("bad.pdf", bad, "upload:bad.pdf"),
        empty,
        shelf.source("cats.md", CATS),
        large,
        missing,
    ]
    done = shelf.library.ingest(OWNER, "Docs", sources)
    assert statuses(done) == {
        "bad.pdf": "failed",
        "empty.txt": "failed",
        "cats.md": "indexed",
        "large.txt": "failed",
        "gone.txt": "failed",
    }
    assert all(one.error.endswith((".", "retry.")) for one in done if one.status == "failed")
    rows = {document.name: document for document in shelf.library.documents(OWNER, "Docs")}
    assert "retry" in rows["gone.txt"].error
    assert "AGENTKIT_MAX_FILE_MB" in rows["large.txt"].error


def test_retry_takes_the_file_from_where_it_was_or_from_the_copy(shelf: Shelf) -> None:
    path = shelf.files / "late.md"
    source = Source("late.md", path, str(path))
    (failed,) = shelf.library.ingest(OWNER, "Docs", [source])
    assert failed.status == "failed"
    path.write_text(CATS)
    (done,) = shelf.library.retry(OWNER, [failed.document_id, "nothing"])
    assert (done.status, done.document_id) == ("indexed", failed.document_id)
    bad = shelf.files / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    (failed,) = shelf.library.ingest(OWNER, "Docs", [Source("bad.pdf", bad, "upload:bad.pdf")])
    bad.unlink()
    (again,) = shelf.library.retry(OWNER, [failed.document_id])
    assert (again.status, again.error) == ("failed", failed.error)


def test_a_damaged_new_version_leaves_the_old_one_answering(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", "")])
    assert done.status == "failed"
    (document,) = shelf.library.documents(OWNER, "Docs")
    assert (document.status, document.chunks) == ("failed", 2)
    assert "before" in document.note
    assert shelf.texts("cats sleep")
    (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    assert done.status == "indexed"


def test_deleted_documents_are_gone_from_every_answer(shelf: Shelf) -> None:
    done = shelf.library.ingest(
        OWNER, "Docs", [shelf.source("cats.md", CATS), shelf.source("lions.md", LIONS)]
    )
    original = shelf.library.original(OWNER, done[0].document_id)
    assert shelf.library.delete_documents(OWNER, [done[0].document_id, "nothing"]) == 1
    assert {hit.document for hit in shelf.library.retrieve(OWNER, "Docs", "cats sleep")} == {
        "lions.md"
    }
    assert not original.exists()
    with pytest.raises(NotFound, match="deleted"):
        shelf.library.text(OWNER, done[0].document_id)
    assert shelf.reopen().check() == []
    assert {hit.document for hit in shelf.library.retrieve(OWNER, "Docs", "cats sleep")} == {
        "lions.md"
    }


def test_an_original_that_another_collection_needs_stays(shelf: Shelf) -> None:
    (one,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    (two,) = shelf.library.ingest("bob", "His", [shelf.source("cats.md", CATS)])
    shelf.library.delete_documents(OWNER, [one.document_id])
    assert shelf.library.original("bob", two.document_id).exists()
    shelf.library.delete_collection("bob", "His")
    assert not list((shelf.settings.data / "files").rglob("*.tmp"))
    assert [path for path in (shelf.settings.data / "files").rglob("*") if path.is_file()] == []


def test_owners_do_not_see_each_other(shelf: Shelf) -> None:
    (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    chunk = shelf.library.chunks(OWNER, done.document_id)[0]
    shelf.library.ingest("bob", "Docs", [shelf.source("lions.md", LIONS)])
    assert {hit.document for hit in shelf.library.retrieve("bob", "Docs", "cats")} == {"lions.md"}
    assert shelf.library.delete_documents("bob", [done.document_id]) == 0
    assert shelf.library.retry("bob", [done.document_id]) == []
    with pytest.raises(NotFound):
        shelf.library.document("bob", done.document_id)
    with pytest.raises(NotFound):
        shelf.library.chunk("bob", chunk.id)
    with pytest.raises(NotFound):
        shelf.library.retrieve("carol", "Docs", "cats")


def test_names_of_collections(shelf: Shelf) -> None:
    name = "Robert'); drop table chunks; --"
    made = shelf.library.create_collection(OWNER, f"  {name} ")
    assert (made.name, made.documents, made.embedder) == (name, 0, "fake")
    for bad in ("", "  ", "x" * 121, "a\nb", name):
        with pytest.raises(ConfigError):
            shelf.library.create_collection(OWNER, bad)
    shelf.library.create_collection(OWNER, "chat:1", hidden=True)
    assert [found.name for found in shelf.library.collections(OWNER)] == [name]
    assert [found.name for found in shelf.library.collections(OWNER, hidden=True)] == ["chat:1"]
    assert shelf.library.rename_collection(OWNER, name, "Plain").id == made.id
    shelf.library.delete_collection(OWNER, "Plain")
    with pytest.raises(NotFound, match="there are none yet"):
        shelf.library.collection(OWNER, "Plain")


def test_several_collections_and_some_documents(shelf: Shelf) -> None:
    (cats,) = shelf.library.ingest(OWNER, "A", [shelf.source("cats.md", CATS)])
    shelf.library.ingest(OWNER, "B", [shelf.source("lions.md", LIONS)])
    both = shelf.library.retrieve(OWNER, ["A", "B"], "cats and lions live and sleep")
    assert {hit.document for hit in both} == {"cats.md", "lions.md"}
    for mode in ("hybrid", "dense", "lexical"):
        some = shelf.library.retrieve(
            OWNER, ["A", "B"], "cats lions", scope=Scope(document_ids=[cats.document_id]), mode=mode
        )
        assert {hit.document for hit in some} == {"cats.md"}
    assert shelf.library.retrieve(OWNER, "A", "cats", scope=Scope(document_ids=[])) == []
    assert shelf.library.retrieve(OWNER, "A", "   ") == []


def test_senseless_searches_are_refused(shelf: Shelf) -> None:
    shelf.library.create_collection(OWNER, "Docs")
    assert shelf.library.retrieve(OWNER, "Docs", "anything") == []
    with pytest.raises(ConfigError, match="fuzzy"):
        # The point of the test.
        shelf.library.retrieve(OWNER, "Docs", "x", mode="fuzzy")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="top_k"):
        shelf.library.retrieve(OWNER, "Docs", "x", top_k=0)


def test_another_embedder_is_noticed(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    other = Library(shelf.database, shelf.settings, FakeEmbedder(32, "other"))
    with pytest.raises(ConfigError, match="other"):
        other.retrieve(OWNER, "Docs", "cats")
    with pytest.raises(ConfigError, match="fake"):
        other.ingest(OWNER, "Docs", [shelf.source("lions.md", LIONS)])
    assert other.retrieve(OWNER, "Docs", "cats", mode="lexical")


def test_a_stop_keeps_what_was_reported(shelf: Shelf) -> None:
    signal = stopping.StopSignal()
    done: list[DocumentDone] = []

    def listen(event: Event) -> None:
        if isinstance(event, DocumentDone):
            done.append(event)
            signal.set()

    sources = [
        shelf.source(f"{number}.md", f"# Number {number}\n\nabout {number}")
        for number in range(300)
    ]
    with stopping.stoppable(signal), bus.listening(listen), pytest.raises(Stopped):
        shelf.library.ingest(OWNER, "Docs", sources)
    rows = {document.id: document for document in shelf.library.documents(OWNER, "Docs")}
    assert {"indexed"} <= {one.status for one in done} <= {"indexed", "stopped"}
    assert {rows[one.document_id].status for one in done if one.status == "indexed"} == {"indexed"}
    assert {row.status for row in rows.values()} <= {"indexed", "stopped"}
    assert shelf.library.check() == []
    again = shelf.library.ingest(OWNER, "Docs", sources)
    assert {one.status for one in again} == {"indexed", "unchanged"}
    assert shelf.library.collection(OWNER, "Docs").documents == 300


def test_what_a_dead_process_left_is_marked(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    with shelf.database.transaction():
        shelf.database.execute("update documents set status = 'waiting', chunks = 0")
    assert shelf.reopen().interrupt_orphans() == 1
    (document,) = shelf.library.documents(OWNER, "Docs")
    assert (document.status, "retry" in document.error) == ("failed", True)


def test_two_ingests_and_searches_at_a_time(shelf: Shelf) -> None:
    errors: list[BaseException] = []
    shelf.library.create_collection(OWNER, "Docs")

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - reported below, in the thread of the test
            errors.append(error)

    def ingest(group: list[Source]) -> Callable[[], object]:
        return lambda: shelf.library.ingest(OWNER, "Docs", group)

    groups = [
        [
            shelf.source(f"{name}{number}.md", f"# {name}\n\n{name} {number} words")
            for number in range(60)
        ]
        for name in "abc"
    ]
    works = [ingest(group) for group in groups]
    works.append(lambda: [shelf.library.retrieve(OWNER, "Docs", "a words") for _ in range(40)])
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert shelf.library.collection(OWNER, "Docs").documents == 180
    assert shelf.library.check() == []


def test_progress_counts_chunks_of_every_document_of_a_group(shelf: Shelf) -> None:
    heard: list[Event] = []
    many = "\n\n".join(f"# Part {number}\n\nWords of part {number}." for number in range(150))
    with bus.listening(heard.append):
        shelf.library.ingest(
            OWNER, "Docs", [shelf.source("a.md", CATS), shelf.source("b.md", many)]
        )
    told: dict[str, list[tuple[int, int]]] = {}
    for event in heard:
        if isinstance(event, DocumentProgress) and event.stage == "embed":
            told.setdefault(event.document, []).append((event.done, event.total))
    assert told["a.md"][0] == (0, 2)
    assert told["a.md"][-1] == (2, 2)
    parts = [done for done, _ in told["b.md"]]
    assert (parts[0], parts[-1]) == (0, told["b.md"][-1][1])
    assert parts == sorted(parts)
    assert len(parts) >= 3


def test_the_time_of_a_document_is_its_own() -> None:
    def ready(name: str, pieces: int) -> Ready:
        document = StoredDocument(name, "c", name, name, name, 1)
        piece = Piece("a", 0, 1, "", None, "", 1)
        return Ready(document, "a", [piece] * pieces, 0.5)

    group = [ready("small", 1), ready("large", 49), ready("twin", 30)]
    assert share_seconds(group, 10.0, {"twin"}) == {"small": 0.2, "large": 9.8, "twin": 0.0}
    assert share_seconds([ready("empty", 0)], 10.0, ()) == {"empty": 0.0}


def test_deleting_while_it_is_taken_in(shelf: Shelf) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, DocumentProgress) and event.stage == "embed":
            shelf.library.delete_documents(OWNER, [event.document_id])

    with bus.listening(listen):
        (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    assert (done.status, "deleted" in done.note) == ("stopped", True)
    assert shelf.library.documents(OWNER, "Docs") == []
    assert shelf.texts("cats") == []


def test_similarity(shelf: Shelf) -> None:
    scores = shelf.library.similarity("cats sleep", ["cats sleep", "stars shine", "cats run"])
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert scores[0] > scores[2] > scores[1]
    assert shelf.library.similarity("cats", []) == []


def test_lost_originals_and_odd_indexes_are_reported(shelf: Shelf) -> None:
    (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    Path(shelf.library.original(OWNER, done.document_id)).unlink()
    assert [problem.what for problem in shelf.library.check()] == [
        f"The original of cats.md is missing in {shelf.settings.data / 'files'}."
    ]
    with shelf.database.transaction():
        shelf.database.execute("delete from chunks where ordinal = 0")
    assert sum("index of version" in problem.what for problem in shelf.library.check()) == 3


def test_tags(shelf: Shelf) -> None:
    cats, lions = shelf.library.ingest(
        OWNER, "Docs", [shelf.source("cats.md", CATS), shelf.source("lions.md", LIONS)]
    )
    ids = [cats.document_id, lions.document_id]
    assert shelf.library.tag_documents(OWNER, [*ids, "nothing"], [" pets ", "Köln"]) == 2
    assert shelf.library.tag_documents(OWNER, ids[1:], ["wild"], ["pets", "never there"]) == 1
    assert shelf.library.document(OWNER, ids[0]).tags == ("Köln", "pets")
    assert shelf.library.document(OWNER, ids[1]).tags == ("Köln", "wild")
    assert shelf.library.tags(OWNER, "Docs") == ["Köln", "pets", "wild"]
    assert shelf.library.tag_documents("bob", ids, ["his"]) == 0
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", "# Cats\n\nCats eat fish.\n")])
    shelf.library.ingest(OWNER, "Docs", [shelf.source("lions.md", "")])
    assert {
        document.name: document.tags for document in shelf.library.documents(OWNER, "Docs")
    } == {
        "cats.md": ("Köln", "pets"),
        "lions.md": ("Köln", "wild"),
    }
    found = shelf.library.retrieve(OWNER, "Docs", "cats lions", scope=Scope(tags=["wild"]))
    assert {hit.document for hit in found} == {"lions.md"}


def test_tags_that_are_given_while_it_is_taken_in_stay(shelf: Shelf) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, DocumentProgress) and event.stage == "commit":
            shelf.library.tag_documents(OWNER, [event.document_id], ["late"])

    with bus.listening(listen):
        (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    assert shelf.library.document(OWNER, done.document_id).tags == ("late",)


@pytest.mark.soak
def test_tags_and_deletions_of_very_many_documents(shelf: Shelf) -> None:
    collection = shelf.library.create_collection(OWNER, "Docs")
    version = shelf.library.store.version(collection.id)
    many = [
        StoredDocument(f"id-{n}", collection.id, f"{n}.txt", f"upload:{n}", f"{n:064x}", 1)
        for n in range(20_000 * TIMES)
    ]
    shelf.library.store.register(version, many, [])
    ids = [one.id for one in many]
    with processor_time(30 * TIMES):  # some milliseconds for each document would be minutes
        assert shelf.library.tag_documents(OWNER, ids, ["b", "a", "c"], ["b"]) == len(ids)
        assert shelf.library.document(OWNER, "id-7").tags == ("a", "c")
        assert shelf.library.delete_documents(OWNER, ids[: len(ids) // 2]) == len(ids) // 2
        shelf.library.delete_collection(OWNER, "Docs")
    assert shelf.database.value("select count(*) from documents") == 0


def test_odd_tags_are_refused_and_change_nothing(shelf: Shelf) -> None:
    (done,) = shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    for bad in ("", "  ", "x" * 61, "a\nb"):
        with pytest.raises(ConfigError, match="cannot be a tag"):
            shelf.library.tag_documents(OWNER, [done.document_id], ["fine", bad])
    shelf.library.tag_documents(
        OWNER, [done.document_id], [f"tag {number}" for number in range(50)]
    )
    with pytest.raises(ConfigError, match=r"cats.md would have 51 tags"):
        shelf.library.tag_documents(OWNER, [done.document_id], ["one more"])
    assert len(shelf.library.document(OWNER, done.document_id).tags) == 50


def test_options_of_a_collection(shelf: Shelf) -> None:
    sources = [
        shelf.source(f"{number}.md", f"# Cat {number}\n\nCat number {number} sleeps.\n")
        for number in range(4)
    ]
    shelf.library.ingest(OWNER, "Docs", sources)
    assert shelf.library.options(OWNER, "Docs") == SearchOptions()
    chosen = SearchOptions(mode="lexical", top_k=2, collapse=1.0)
    shelf.library.set_options(OWNER, "Docs", chosen)
    assert shelf.reopen().options(OWNER, "Docs") == chosen
    assert [
        len(shelf.texts("cat sleeps")),
        len(shelf.library.retrieve(OWNER, "Docs", "cat sleeps", top_k=3)),
    ] == [2, 3]
    assert set(shelf.library.retrieve(OWNER, "Docs", "cat")[0].scores) == {
        "lexical",
        "lexical_rank",
    }
    assert (
        shelf.library.options(
            OWNER, shelf.library.create_collection(OWNER, "Like", like="Docs").name
        )
        == chosen
    )
    with pytest.raises(NotFound):
        shelf.library.set_options("bob", "Docs", chosen)
    with pytest.raises(NotFound):
        shelf.library.create_collection(OWNER, "Other", like="Nothing")
    assert [found.name for found in shelf.library.collections(OWNER)] == ["Docs", "Like"]


def test_media_types(shelf: Shelf) -> None:
    bad = shelf.files / "bad.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    sources = [
        shelf.source("cats.md", CATS),
        shelf.source("a.csv", "name,age\nTom,3\n"),
        Source("bad.pdf", bad, "upload:bad.pdf"),
    ]
    shelf.library.ingest(OWNER, "Docs", sources)
    assert shelf.library.media_types(OWNER, "Docs") == ["text/csv", "text/markdown"]


def test_a_change_of_tags_is_seen_by_the_next_search(shelf: Shelf) -> None:
    cats, lions = shelf.library.ingest(
        OWNER, "Docs", [shelf.source("cats.md", CATS), shelf.source("lions.md", LIONS)]
    )
    scope = Scope(tags=["wild"])

    def found() -> set[str]:
        return {
            hit.document
            for hit in shelf.library.retrieve(OWNER, "Docs", "animals sleep", scope=scope)
        }

    assert found() == set()
    shelf.library.tag_documents(OWNER, [lions.document_id], add=["wild"])
    assert found() == found() == {"lions.md"}
    shelf.library.tag_documents(OWNER, [cats.document_id], add=["wild"])
    shelf.library.tag_documents(OWNER, [lions.document_id], remove=["wild"])
    assert found() == {"cats.md"}


def test_files_of_index_versions_that_are_no_more_are_swept(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", CATS)])
    shelf.library.retrieve(OWNER, "Docs", "cats")
    folder = shelf.settings.data / "indexes"
    (folder / "gone").mkdir()
    (folder / "gone" / "vectors.json").write_text("{}")
    shelf.reopen().interrupt_orphans()
    assert [path.name for path in folder.iterdir()] == [
        version.id for version in shelf.library.store.versions()
    ]
    assert shelf.library.retrieve(OWNER, "Docs", "cats")
