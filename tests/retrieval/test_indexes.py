"""Indexes follow the database, from files that are behind, missing, damaged, or of another
history.
"""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.documents import Piece
from agentkit.retrieval.index import index_files
from agentkit.retrieval.index import indexes as indexes_module
from agentkit.retrieval.index.indexes import CollectionIndex
from agentkit.retrieval.store.chunk_table import ChunkTable
from agentkit.retrieval.store.store import Finished
from agentkit.retrieval.types import IndexVersion, StoredDocument
from tests.retrieval.conftest import OWNER, Shelf, cut
from tests.retrieval.full_disk import at_most

EXACT_BELOW = 40


class Desk:
    """One collection whose documents are put in and taken out directly, with an index that changes
    over to the graph early.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        shelf.library.create_collection(OWNER, "Docs")
        self.version: IndexVersion = shelf.library.store.version(
            shelf.library.collection(OWNER, "Docs").id
        )
        self.folder = shelf.settings.data / "desk"
        self.open()

    def open(self) -> None:
        self.index = CollectionIndex(
            self.shelf.library.store.chunk_table, self.version, self.folder, EXACT_BELOW
        )
        self.index.refresh()

    def put(self, name: str, count: int, word: str = "word") -> None:
        store, embedder = self.shelf.library.store, self.shelf.library.embedder
        texts = [f"{word} {name} {number}" for number in range(count)]
        document = StoredDocument(
            f"id-{name}",
            self.version.collection_id,
            name,
            name,
            "",
            1,
            status="indexed",
            chunks=count,
        )
        with store.database.transaction():
            if store.document(OWNER, document.id) is None:
                store.register(self.version, [document], [])
        pieces = [Piece(text, 0, len(text), "", None, "", 3) for text in texts]
        vectors = (
            embedder.embed(texts) if texts else np.empty((0, embedder.dimension), dtype=np.float32)
        )
        store.replace(self.version, [Finished(document, "\n".join(texts), pieces, vectors)])

    def delete(self, name: str) -> None:
        self.shelf.library.store.delete_documents(OWNER, [f"id-{name}"])

    def agrees(self) -> None:
        self.index.refresh()
        assert self.index.check() == []
        stored = set(self.shelf.library.store.chunk_table.chunk_ids(self.version))
        query = self.shelf.library.embedder.embed(["word 1"])[0]
        found = self.index.nearest(query, 1_000)[0]
        assert set(found) == stored if len(stored) <= EXACT_BELOW else set(found) <= stored
        assert set(self.index.find_matching("word", 1_000)[0]) == stored


@pytest.fixture
def desk(shelf: Shelf) -> Desk:
    return Desk(shelf)


@pytest.mark.parametrize(
    "harm", ["none", "no files", "no vectors", "cut vectors", "no lexical", "cut lexical"]
)
def test_whatever_happens_to_the_files(desk: Desk, harm: str) -> None:
    desk.put("a", 60)
    desk.put("b", 10)
    desk.index.close()
    desk.delete("a")
    desk.put("c", 50)
    desk.put("b", 5)
    if harm == "no files":
        shutil.rmtree(desk.folder)
    elif harm == "no vectors":
        for file in desk.folder.glob("vectors*"):
            file.unlink()
    elif harm == "cut vectors":
        for file in desk.folder.glob("vectors-*"):
            cut(file, 1_000)
    elif harm == "no lexical":
        shutil.rmtree(desk.folder / "lexical")
    elif harm == "cut lexical":
        for file in (desk.folder / "lexical").glob("*.term"):
            cut(file, 0)
    desk.open()
    desk.agrees()


def test_files_of_another_history_are_not_trusted(desk: Desk, shelf: Shelf, tmp_path: Path) -> None:
    desk.put("a", 10)
    shelf.close()
    copy = tmp_path / "copy.duckdb"
    shutil.copy(shelf.settings.data / "agentkit.duckdb", copy)
    shelf.open()
    desk.open()
    desk.put("b", 60)
    desk.index.close()
    shelf.close()
    shutil.copy(copy, shelf.settings.data / "agentkit.duckdb")
    shelf.open()
    desk.open()
    desk.agrees()
    assert len(desk.index.find_matching("word", 100)[0]) == 10


def test_files_are_not_trusted_when_the_database_was_put_back_and_went_on(
    desk: Desk, shelf: Shelf, tmp_path: Path
) -> None:
    desk.put("a", 60)
    shelf.close()
    copy = tmp_path / "copy.duckdb"
    shutil.copy(shelf.settings.data / "agentkit.duckdb", copy)
    shelf.open()
    desk.open()
    desk.put("b", 60)
    desk.index.close()
    shelf.close()
    shutil.copy(copy, shelf.settings.data / "agentkit.duckdb")
    shelf.open()
    desk.shelf.library.store.delete_documents(OWNER, ["id-b"])
    desk.put("c", 90)
    desk.open()
    desk.agrees()


def test_a_vector_that_is_another_one_is_found_by_the_check(desk: Desk) -> None:
    desk.put("a", 60)
    desk.agrees()
    desk.shelf.database.execute(
        "update chunks set embedding = list_reverse(embedding) where id = 7"
    )
    (problem,) = desk.index.check()
    assert "has other vectors than the database for 1 of its 60 chunks" in problem.what
    assert f"remove the folder {desk.folder}" in problem.advice


def test_a_full_disk_ends_in_a_warning_and_the_next_time_tries_again(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.put("a", 60)
    desk.index.refresh()
    before = set(desk.index.find_matching("word", 1_000)[0])
    desk.delete("a")
    desk.put("b", 70)
    with at_most(10), caplog.at_level(logging.WARNING):
        desk.index.refresh()
        desk.index._vectors.save()
        desk.index._passages.save()
        assert set(desk.index.find_matching("word", 1_000)[0]) == before
        told = " ".join(problem.what for problem in desk.index.check())
    assert "The vector index in" in told
    assert "What hits show could not be saved" in told
    assert "The index of words in" in told
    assert "The index of words in" in caplog.text
    assert {
        desk.index.nearest(vector, 1)[0][0] for vector in desk.index.vectors(list(range(200)))[1]
    }
    desk.index.refresh()
    desk.agrees()
    desk.index.close()
    desk.open()
    desk.agrees()


def test_figures_say_how_it_is_searched(desk: Desk) -> None:
    desk.put("a", 30)
    desk.index.refresh()
    assert (desk.index.figures().kind, desk.index.figures().vectors) == ("exact", 30)
    desk.put("b", 600)
    desk.index.refresh()
    desk.index.close()
    figures = desk.index.figures()
    assert (figures.kind, figures.vectors, figures.sample) == ("hnsw", 630, 200)
    assert 0.9 < figures.recall <= 1
    assert figures.bytes > 630 * desk.version.dimension * 4
    desk.open()
    assert desk.index.figures() == figures


def test_only_allowed_chunks_are_found(desk: Desk) -> None:
    desk.put("a", 100)
    desk.put("b", 20)
    desk.index.refresh()
    chunks = desk.shelf.library.store.chunk_table
    rows = chunks.database.rows("select id from chunks where document_id = 'id-b' order by id")
    allowed = np.array([row["id"] for row in rows])
    query = desk.shelf.library.embedder.embed(["word a 7"])[0]
    ids, cosines = desk.index.nearest(query, 50, allowed)
    assert sorted(ids) == allowed.tolist()
    assert cosines == sorted(cosines, reverse=True)
    assert cosines == pytest.approx((desk.index.vectors(ids)[1] @ query).tolist(), abs=1e-6)


def test_a_graph_of_mostly_removed_ones_is_built_again(desk: Desk) -> None:
    desk.put("a", 200)
    desk.put("b", 100)
    desk.agrees()
    desk.delete("a")
    desk.agrees()
    assert (desk.index.figures().kind, desk.index.figures().removed) == ("hnsw", 0)


def test_removed_chunks_do_not_count_in_the_scores_of_words(desk: Desk) -> None:
    for name, count, word in (("few", 4, "plum"), ("other", 6, "kiwi"), ("many", 300, "plum")):
        desk.put(name, count, word)
    desk.index.refresh()
    desk.delete("many")
    desk.index.refresh()
    scores, ceiling = desk.index.find_matching("plum", 4)[1], desk.index.ceiling("plum")
    desk.index.put_away()
    shutil.rmtree(desk.folder)
    desk.open()  # the same chunks in files that never had others
    assert scores == pytest.approx(
        desk.index.find_matching("plum", 4)[1], rel=0.1
    )  # notes of changes are counted, too
    assert ceiling == pytest.approx(desk.index.ceiling("plum"), rel=0.1)


def test_notes_of_removals_do_not_pile_up(desk: Desk, shelf: Shelf) -> None:
    for _ in range(5):
        desk.put("a", 60)
    desk.index.refresh()
    desk.index.close()
    assert shelf.database.value("select count(*) from tombstones") < 61
    desk.delete("a")
    desk.open()
    desk.agrees()


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), st.integers(0, 30)),
        st.tuples(st.just("delete"), st.sampled_from("abcd"), st.just(0)),
        st.tuples(st.sampled_from(["refresh", "close", "lose"]), st.just(""), st.just(0)),
    ),
    max_size=12,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(actions=ACTIONS)
def test_any_sequence_of_changes(desk: Desk, actions: list[tuple[str, str, int]]) -> None:
    model = {name: 0 for name in "abcd"}
    for name in model:
        desk.delete(name)
    for action, name, count in actions:
        if action == "put":
            desk.put(name, count)
            model[name] = count
        elif action == "delete":
            desk.delete(name)
            model[name] = 0
        elif action == "refresh":
            desk.index.refresh()
        elif action == "close":
            desk.index.close()
            desk.open()
        else:
            shutil.rmtree(desk.folder)
            desk.open()
    desk.agrees()
    assert len(desk.shelf.library.store.chunk_table.chunk_ids(desk.version)) == sum(model.values())


def test_a_library_with_many_chunks_uses_the_graph_and_saves_it(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes_module, "EXACT_BELOW", EXACT_BELOW)
    text = "\n\n".join(
        f"# Part {number}\n\nPart {number} speaks of thing{number}." for number in range(60)
    )
    shelf.library.ingest(OWNER, "Docs", [shelf.source("parts.md", text)])
    assert "thing41." in shelf.texts("thing41")[0]
    shelf.reopen()
    assert len(list((shelf.settings.data / "indexes").rglob("vectors-*.hnsw"))) == 1
    assert "thing41." in shelf.texts("thing41")[0]
    assert shelf.library.check() == []


def test_files_of_older_versions_are_read_or_replaced_and_removed(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes_module, "EXACT_BELOW", EXACT_BELOW)
    text = "\n\n".join(f"# Part {number}\n\nIt has thing{number}." for number in range(60))
    shelf.library.ingest(OWNER, "Docs", [shelf.source("parts.md", text)])
    shelf.close()
    (graph,) = (shelf.settings.data / "indexes").rglob("vectors-*.hnsw")
    folder = graph.parent
    # Vectors beside the graph, to compare one by one, and a database of what hits show.
    old = [graph.with_suffix(".npy"), *(folder / f"shown.sqlite{end}" for end in ("", "-wal"))]
    for file in old:
        file.write_bytes(b"of old")
    description = json.loads((folder / "vectors.json").read_text())
    description["files"]["rows"] = [old[0].name, index_files.checksum(old[0])]
    (folder / "vectors.json").write_text(json.dumps(description))
    for file in folder.glob("passages-*"):
        file.unlink()
    shelf.open().interrupt_orphans()
    assert "thing41." in shelf.texts("thing41")[0]
    index = shelf.library.indexes.of(shelf.library.store.versions()[0])
    assert index._vectors.saved > 0, "the graph was not built again"
    assert shelf.library.check() == []
    assert not [file for file in old if file.exists()]
    shelf.close()
    assert len(list(folder.glob("passages-*.arrow"))) == 1
    shelf.open()


class CountingChunks(ChunkTable):
    """Counts how often somebody asks what was removed."""

    asked = 0

    def read_removed(self, version: IndexVersion, after: int, until: int) -> list[int]:
        self.asked += 1
        return super().read_removed(version, after, until)


def test_while_others_take_in_the_database_is_asked_once_for_what_was_removed(
    shelf: Shelf,
) -> None:
    desk = Desk(shelf)
    chunks = CountingChunks(shelf.database)
    index = CollectionIndex(chunks, desk.version, desk.folder, EXACT_BELOW)
    index.refresh()
    desk.put("a", 3)
    with index._following:
        before = chunks.asked
        for _ in range(3):
            index.refresh(wait=False)
        assert chunks.asked == before + 1
    index.refresh()
    desk.delete("a")
    index.refresh(wait=False)
    assert index.passages(chunks.chunk_ids(desk.version)) == {}
    assert len(index._vectors) == 0
