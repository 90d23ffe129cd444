"""Documents with the same content: each stands for itself, and none takes another's text with
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from agentkit.core import bus
from agentkit.events import DocumentDone, DocumentProgress, Event, Retrieved
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.types import Scope, StoredDocument
from tests.retrieval.conftest import OWNER, Shelf

CATS = "# Cats\n\nCats sleep sixteen hours a day.\n\n# Dogs\n\nDogs bark at strangers.\n"
LIONS = "# Lions\n\nLions live in prides in Africa.\n"
PLAIN = "Cats sleep sixteen hours a day.\n"  # without a title of its own
QUERY = "how long do cats sleep"


class CountingEmbedder(FakeEmbedder):
    """Notes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.given += texts
        return super().embed(texts)


def documents(shelf: Shelf) -> dict[str, StoredDocument]:
    return {one.name: one for one in shelf.library.documents(OWNER, "Docs")}


def ingest(shelf: Shelf, *sources: Source) -> list[DocumentDone]:
    return shelf.library.ingest(OWNER, "Docs", sources)


def where(shelf: Shelf, scope: Scope | None = None) -> set[str]:
    return {
        hit.document for hit in shelf.library.retrieve(OWNER, "Docs", QUERY, top_k=1, scope=scope)
    }


def kept_files(shelf: Shelf) -> list[Path]:
    return [file for file in (shelf.settings.data / "files").rglob("*") if file.is_file()]


@pytest.mark.parametrize("together", [True, False])
def test_to_replace_a_document_leaves_its_copies(shelf: Shelf, together: bool) -> None:
    sources = [shelf.source("a.md", CATS), shelf.source("b.md", CATS)]
    done = (
        ingest(shelf, *sources)
        if together
        else [*ingest(shelf, sources[0]), *ingest(shelf, sources[1])]
    )
    assert [(one.status, one.same_as) for one in done] == [("indexed", ""), ("indexed", "a.md")]
    ingest(shelf, shelf.source("a.md", LIONS))
    assert {one.document for one in shelf.library.retrieve(OWNER, "Docs", QUERY)} == {
        "a.md",
        "b.md",
    }
    assert where(shelf) == {"b.md"}
    assert shelf.library.text(OWNER, documents(shelf)["b.md"].id) == CATS.strip()
    assert shelf.library.original(OWNER, documents(shelf)["b.md"].id).read_text() == CATS
    assert shelf.reopen().check() == shelf.library.check_originals() == []
    assert where(shelf) == {"b.md"}


@pytest.mark.parametrize(("gone", "left"), [("a.md", "b.md"), ("b.md", "a.md")])
def test_to_delete_one_of_them_leaves_the_other(shelf: Shelf, gone: str, left: str) -> None:
    ingest(shelf, shelf.source("a.md", CATS), shelf.source("b.md", CATS))
    assert shelf.library.delete_documents(OWNER, [documents(shelf)[gone].id]) == 1
    assert where(shelf) == {left}
    assert shelf.library.original(OWNER, documents(shelf)[left].id).read_text() == CATS
    shelf.library.delete_documents(OWNER, [documents(shelf)[left].id])
    assert kept_files(shelf) == []


def test_a_copy_is_neither_read_nor_embedded_once_more(shelf: Shelf) -> None:
    embedder = CountingEmbedder()
    shelf.library.embedders.default = embedder
    ingest(shelf, shelf.source("a.md", CATS))
    embedder.given.clear()
    heard: list[Event] = []
    with bus.listening(heard.append):
        (done,) = ingest(shelf, shelf.source("b.md", CATS))
    assert [one.stage for one in heard if isinstance(one, DocumentProgress)] == [
        "split",
        "waiting",
        "commit",
        "index",
    ]
    assert embedder.given == []
    assert (done.status, done.chunks, done.same_as) == ("indexed", 2, "a.md")
    first, second = documents(shelf)["a.md"], documents(shelf)["b.md"]
    assert (second.title, second.media_type, second.tokens) == (
        first.title,
        first.media_type,
        first.tokens,
    )
    assert chunks_of(shelf, second) == chunks_of(shelf, first)
    assert shelf.library.collection(OWNER, "Docs").chunks == 4


def chunks_of(shelf: Shelf, document: StoredDocument) -> list[tuple[object, ...]]:
    found = shelf.library.chunks(OWNER, document.id)
    return [
        (one.ordinal, one.text, one.heading, one.place, one.start, one.end, one.tokens)
        for one in found
    ]


def test_a_copy_is_found_by_its_own_name(shelf: Shelf) -> None:
    """As if it had been taken in alone: the title comes from its name, and stands in its
    vectors.
    """
    ingest(shelf, shelf.source("holidays.txt", PLAIN), shelf.source("night_shift.txt", PLAIN))
    shelf.library.ingest(OWNER, "Alone", [shelf.source("night_shift.txt", PLAIN)])
    assert documents(shelf)["night_shift.txt"].title == "night_shift"
    for mode in ("dense", "lexical"):
        best = shelf.library.retrieve(OWNER, "Docs", "night_shift", mode=mode)[0]
        alone = shelf.library.retrieve(OWNER, "Alone", "night_shift", mode=mode)[0]
        assert (best.document, best.text) == ("night_shift.txt", alone.text)
        if mode == "dense":
            assert best.score == pytest.approx(alone.score)


def test_the_same_bytes_under_another_ending_are_read_as_the_ending_says(shelf: Shelf) -> None:
    first, second = ingest(shelf, shelf.source("a.md", CATS), shelf.source("b.csv", CATS))
    assert (first.same_as, second.same_as) == ("", "a.md")
    assert shelf.library.media_types(OWNER, "Docs") == ["text/csv", "text/markdown"]


def test_a_search_gives_their_passage_once_and_names_both(shelf: Shelf) -> None:
    ingest(
        shelf,
        shelf.source("a.md", CATS),
        shelf.source("b.md", CATS),
        shelf.source("lions.md", LIONS),
    )
    heard: list[Event] = []
    for mode in ("hybrid", "dense", "lexical"):
        with bus.listening(heard.append):
            hits = shelf.library.retrieve(OWNER, "Docs", QUERY, mode=mode)
        assert [one.also_in for one in hits if "sixteen" in one.text] == [("b.md",)]
    assert all(one.left_out["duplicate"] for one in heard if isinstance(one, Retrieved))
    (hit,) = shelf.library.find_passages(OWNER, ["Docs"], "sixteen hours")
    assert (hit.document, hit.also_in) == ("a.md", ("b.md",))
    assert [one.document for one in shelf.library.find(OWNER, "Docs", "sixteen")] == [
        "a.md",
        "b.md",
    ], "every place"


def test_a_filter_finds_the_copy(shelf: Shelf) -> None:
    ingest(shelf, shelf.source("a.md", CATS), shelf.source("b.md", CATS))
    copy = documents(shelf)["b.md"]
    shelf.library.tag_documents(OWNER, [copy.id], add=["night"])
    assert documents(shelf)["a.md"].tags == ()
    for scope in (Scope(tags=["night"]), Scope(document_ids=[copy.id])):
        assert where(shelf, scope) == {"b.md"}
        assert [
            one.document
            for one in shelf.library.find_passages(OWNER, ["Docs"], "sixteen", scope=scope)
        ] == ["b.md"]
    ingest(shelf, shelf.source("a.md", LIONS))
    assert documents(shelf)["b.md"].tags == ("night",)


def test_a_document_that_becomes_the_same_as_another_and_is_given_once_more(shelf: Shelf) -> None:
    ingest(shelf, shelf.source("a.md", CATS), shelf.source("b.md", LIONS))
    assert shelf.library.copies(OWNER, "Docs") == {}
    before = documents(shelf)["b.md"]
    (changed,) = ingest(shelf, shelf.source("b.md", CATS))
    assert (changed.status, changed.document_id, changed.same_as) == ("indexed", before.id, "a.md")
    assert shelf.library.copies(OWNER, "Docs") == {before.id: "a.md"}
    again = ingest(shelf, shelf.source("b.md", CATS), shelf.source("a.md", CATS))
    assert [(one.document, one.status) for one in again] == [
        ("b.md", "unchanged"),
        ("a.md", "unchanged"),
    ]
    assert [one.document_id for one in again] == [before.id, documents(shelf)["a.md"].id]
    assert shelf.texts("lions prides Africa")[0].startswith("# Cats")
    shelf.library.delete_documents(OWNER, [documents(shelf)["a.md"].id])
    assert shelf.library.copies(OWNER, "Docs") == {}


def test_very_many_copies_at_once(shelf: Shelf) -> None:
    embedder = CountingEmbedder()
    shelf.library.embedders.default = embedder
    names = [f"{number}.md" for number in range(150)]
    done = ingest(shelf, *(shelf.source(name, CATS) for name in names))
    assert {one.status for one in done} == {"indexed"}
    assert sorted(one.document for one in done) == sorted(documents(shelf)) == sorted(names)
    assert sum("sixteen" in text for text in embedder.given) == 1
    hits = shelf.library.retrieve(OWNER, "Docs", QUERY, options=SearchOptions(top_k=5))
    assert [len(hit.also_in) for hit in hits if "sixteen" in hit.text] == [149]
    assert shelf.reopen().check() == []


def test_copies_of_what_cannot_be_read_all_fail(shelf: Shelf) -> None:
    sources = []
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        (shelf.files / name).write_bytes(b"%PDF-1.7 nothing")
        sources.append(Source(name, shelf.files / name, f"upload:{name}"))
    assert [(one.document, one.status, one.same_as) for one in ingest(shelf, *sources)] == [
        ("a.pdf", "failed", ""),
        ("b.pdf", "failed", ""),
        ("c.pdf", "failed", ""),
    ]


def test_a_copy_of_a_document_of_an_older_version_is_read_anew(shelf: Shelf) -> None:
    """Its sections were not kept then."""
    ingest(shelf, shelf.source("a.md", CATS))
    with shelf.database.transaction():
        shelf.database.execute("update texts set sections = null")
    (done,) = ingest(shelf, shelf.source("b.md", CATS))
    assert (done.status, done.chunks, done.same_as) == ("indexed", 2, "a.md")
    assert chunks_of(shelf, documents(shelf)["b.md"]) == chunks_of(shelf, documents(shelf)["a.md"])


def test_copies_travel_and_are_built_anew(shelf: Shelf, tmp_path: Path) -> None:
    ingest(shelf, shelf.source("a.md", CATS), shelf.source("b.md", CATS))
    file = shelf.library.transfer.export(OWNER, "Docs", tmp_path / "docs.agentkit.zip")
    shelf.library.delete_collection(OWNER, "Docs")
    assert kept_files(shelf) == []
    made = shelf.library.transfer.load(OWNER, file)
    assert (made.documents, made.chunks) == (2, 4)
    assert list(shelf.library.copies(OWNER, "Docs").values()) == ["a.md"]
    other = shelf.library.versions.add(OWNER, "Docs", embedder="fake", max_tokens=40)
    shelf.library.versions.promote(OWNER, other.id)
    ingest(shelf, shelf.source("a.md", LIONS))
    assert where(shelf) == {"b.md"}
    assert shelf.library.check() == shelf.library.check_originals() == []
