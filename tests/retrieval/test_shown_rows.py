"""What hits show, in its Arrow file: kept, and made anew when it is missing, damaged or foreign."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.database import Database
from agentkit.retrieval.index import shown_rows
from agentkit.retrieval.index.index_files import checksum
from agentkit.retrieval.index.shown_rows import ShownRows
from agentkit.retrieval.store.chunk_table import ChunkTable
from agentkit.retrieval.types import IndexVersion
from tests.retrieval.conftest import OWNER, Shelf
from tests.retrieval.full_disk import at_most
from tests.retrieval.test_indexes import Desk


@pytest.fixture
def desk(shelf: Shelf) -> Desk:
    return Desk(shelf)


@pytest.fixture
def kept(desk: Desk) -> ShownRows:
    """Of 300 chunks, written to the file."""
    desk.put("a", 300)
    made = opened(desk)
    made.save()
    return made


def opened(desk: Desk) -> ShownRows:
    chunks = desk.shelf.library.store.chunk_table
    made = ShownRows(chunks, desk.version, desk.folder)
    made.refresh(chunks.last_change(desk.version))
    return made


def unread(desk: Desk) -> ShownRows:
    """As the file alone has it."""
    return ShownRows(desk.shelf.library.store.chunk_table, desk.version, desk.folder)


def the_file(desk: Desk) -> Path:
    (file,) = desk.folder.glob("passages*")
    return file


def agrees(desk: Desk, found: ShownRows) -> None:
    """It has what the database has, and gives it as the database does."""
    chunks = desk.shelf.library.store.chunk_table
    stored = chunks.chunk_ids(desk.version)
    assert found.ids() == set(stored)
    rows = found.get([*stored, 10**9, 0])
    assert list(rows) == stored
    assert rows == chunks.passages(desk.version, stored)


def test_what_was_saved_is_there_again_and_catches_up(desk: Desk, kept: ShownRows) -> None:
    agrees(desk, kept)
    again = unread(desk)
    assert again.change == again.saved == kept.change > 0
    agrees(desk, again)
    desk.put("b", 20)
    desk.delete("a")
    desk.put("c", 3)
    again = opened(desk)
    assert again.saved == kept.saved < again.change
    agrees(desk, again)
    again.save()
    agrees(desk, unread(desk))
    assert again.get([]) == {}


def test_what_comes_piece_by_piece_is_given_in_the_same_way(desk: Desk) -> None:
    found, chunks = opened(desk), desk.shelf.library.store.chunk_table
    for number in range(shown_rows._MOST_PARTS + 10):
        desk.put(f"n{number}", 2)
        found.refresh(chunks.last_change(desk.version))
    agrees(desk, found)
    assert not list(desk.folder.glob("passages*")), "it is small"


def test_much_in_memory_is_written_on_the_way(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_rows, "FAR", 50)
    monkeypatch.setattr(shown_rows, "_SLICE", 20)
    desk.put("a", 200)
    found = opened(desk)
    assert len(found._held.ids) - found._written <= 50
    agrees(desk, found)
    assert unread(desk).saved == found.saved > 0
    agrees(desk, opened(desk))


class HaltingChunks(ChunkTable):
    """Stops while rows are read, until it may go on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.read, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def read_added_passages(
        self, version: IndexVersion, after: int, until: int, limit: int
    ) -> pyarrow.Table:
        self.read.set()
        self.go_on.wait()
        return super().read_added_passages(version, after, until, limit)


def test_rows_are_given_while_others_are_taken_in(desk: Desk) -> None:
    desk.put("a", 20)
    chunks = HaltingChunks(desk.shelf.database)
    found = ShownRows(chunks, desk.version, desk.folder)
    found.refresh(chunks.last_change(desk.version))
    first = chunks.chunk_ids(desk.version)
    desk.put("b", 5)
    chunks.read.clear()
    chunks.go_on.clear()
    with ThreadPoolExecutor(2) as pool:
        taking_in = pool.submit(found.refresh, chunks.last_change(desk.version))
        chunks.read.wait()
        giving = pool.submit(found.get, first)
        try:
            assert list(giving.result(60)) == first
        finally:
            chunks.go_on.set()
        taking_in.result()
    agrees(desk, found)


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def scratch(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


HARMS = [cut, scratch, lambda _: b"", lambda _: b"hello world " * 1_000]


@pytest.mark.parametrize("harm", HARMS, ids=["cut", "one bit", "empty", "no Arrow"])
def test_a_damaged_file_is_noticed_and_made_anew(
    desk: Desk, kept: ShownRows, harm: Callable[[bytes], bytes]
) -> None:
    file = the_file(desk)
    file.write_bytes(harm(file.read_bytes()))
    assert (unread(desk).change, unread(desk).ids()) == (0, set())
    again = opened(desk)
    agrees(desk, again)
    again.save()
    agrees(desk, unread(desk))


def test_a_check_notices_what_happened_to_the_file_meanwhile(desk: Desk, kept: ShownRows) -> None:
    desk.index.close()
    desk.open()
    file = the_file(desk)
    whole = file.read_bytes()
    for content in (scratch(whole), None):
        file.unlink()  # what is mapped stays as it was
        if content:
            file.write_bytes(content)
        assert desk.index.check() == []
        agrees(desk, desk.index._passages)
        assert desk.index._passages.saved == 0
        desk.index.close()
        desk.open()
        file = the_file(desk)


def test_a_file_with_other_columns_is_not_used(desk: Desk, kept: ShownRows) -> None:
    file = the_file(desk)
    with pyarrow.memory_map(str(file)) as opened_file:
        table = pyarrow.ipc.open_file(opened_file).read_all()
    other = file.with_name("other")
    with pyarrow.ipc.new_file(other, table.drop_columns(["title"]).schema) as writer:
        writer.write_table(table.drop_columns(["title"]))
    other.replace(file.with_name(f"passages-{kept.change}-{checksum(other):08x}.arrow"))
    file.unlink()
    assert unread(desk).change == 0
    agrees(desk, opened(desk))


def test_a_file_of_another_history_is_not_used(desk: Desk, shelf: Shelf) -> None:
    desk.put("start", 5)
    shelf.close()
    database = shelf.settings.data / "agentkit.duckdb"
    before = database.read_bytes()
    shelf.open()
    desk.put("a", 100)
    opened(desk).save()
    shelf.close()
    database.write_bytes(before)
    shelf.open()
    assert unread(desk).change == 0, "it is ahead"
    desk.put("b", 200)  # the same numbers, and more
    assert unread(desk).change == 0
    agrees(desk, opened(desk))


def test_a_full_disk_keeps_what_was_saved_and_is_said(
    desk: Desk, kept: ShownRows, caplog: pytest.LogCaptureFixture
) -> None:
    before = {file.name: file.read_bytes() for file in desk.folder.glob("passages*")}
    desk.put("b", 100)
    again = opened(desk)
    with at_most(1_000), caplog.at_level(logging.WARNING):
        again.save()
    assert "could not be saved" in again.problem
    assert again.problem in caplog.text
    assert {file.name: file.read_bytes() for file in desk.folder.glob("passages*")} == before
    agrees(desk, again)
    agrees(desk, opened(desk))
    again.save()
    assert (again.problem, again.saved) == ("", again.change)
    agrees(desk, unread(desk))


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.sampled_from("pdrso"), st.sampled_from("xyz")), max_size=12))
def test_any_sequence_of_changes(desk: Desk, steps: list[tuple[str, str]]) -> None:
    chunks = desk.shelf.library.store.chunk_table
    found = opened(desk)
    for number, (step, name) in enumerate(steps):
        if step == "p":
            desk.put(name, 1 + number % 5, f"{number}")
        elif step == "d":
            desk.delete(name)
        elif step == "r":
            found.refresh(chunks.last_change(desk.version))
        elif step == "s":
            found.save()
        else:
            found = unread(desk)
    found.refresh(chunks.last_change(desk.version))
    agrees(desk, found)


def test_hits_are_right_whatever_the_file_says(shelf: Shelf) -> None:
    sources = [shelf.source(f"{n}.md", f"number{n} is a cat") for n in range(40)]
    shelf.library.ingest(OWNER, "Docs", sources)
    shelf.close()
    (older,) = shelf.settings.data.glob("indexes/*/passages-*.arrow")
    content = older.read_bytes()
    shelf.open().ingest(OWNER, "Docs", [shelf.source("40.md", "number40 is a dog")])
    shelf.close()
    database = shelf.settings.data / "agentkit.duckdb"
    with_all = database.read_bytes()
    (newer,) = shelf.settings.data.glob("indexes/*/passages-*.arrow")
    assert newer.name != older.name
    for name, what in ((older, content), (newer, scratch(newer.read_bytes())), (newer, b"")):
        for file in newer.parent.glob("passages*"):
            file.unlink()
        name.write_bytes(what)
        library = shelf.open()
        assert shelf.texts("number40 dog")[0] == "number40 is a dog"
        assert library.check() == []
        shelf.close()
    shelf.open()
    documents = shelf.library.documents(OWNER, "Docs")
    (last,) = [document.id for document in documents if document.name == "40.md"]
    shelf.library.delete_documents(OWNER, [last])
    shelf.close()
    database.write_bytes(with_all)  # put back: the file is newer than the database now
    library = shelf.open()
    assert shelf.texts("number40 dog")[0] == "number40 is a dog"
    assert [problem.what for problem in library.check()] == [
        f"The original of 40.md is missing in {shelf.settings.data / 'files'}."
    ]
