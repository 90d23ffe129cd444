"""What hits show, in its SQLite file: kept, and begun anew when the file is missing, damaged, foreign, or of another history."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentkit.retrieval.index.shown import ShownChunks
from agentkit.retrieval.store.chunk_table import IndexRow
from tests.retrieval.conftest import OWNER, Shelf
from tests.retrieval.full_disk import at_most

CHUNKS = 300


def row(number: int, text: str = "") -> IndexRow:
    return {
        "id": number, "title": "Title", "document_id": "d", "document": "d.md", "ordinal": number,
        "text": text or f"text {number} " * 20, "heading": "", "page": None, "place": "line 1", "start": 0, "end": 9,
    }  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "index" / "shown.sqlite"


@pytest.fixture
def filled(file: Path) -> Iterator[ShownChunks]:
    made = ShownChunks(file)
    made.add([row(number) for number in range(1, CHUNKS + 1)])
    made.commit(CHUNKS)
    yield made
    made.close()


def test_what_was_committed_is_there_again(filled: ShownChunks, file: Path) -> None:
    filled.remove([1, 2, 999])
    filled.commit(CHUNKS + 2)
    filled.add([row(1_000)])
    filled.roll_back()
    filled.close()
    again = ShownChunks(file)
    assert again.change == CHUNKS + 2
    assert again.ids() == set(range(3, CHUNKS + 1))
    assert again.get([1, 3, 7, 1_000]) == {3: row(3), 7: row(7)}
    assert again.mend() is False
    again.close()


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def scratch(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + b"\xff" * 20_000 + content[middle + 20_000 :]


def head(content: bytes) -> bytes:
    return b"\0" * 100 + content[100:]


def foreign(_: bytes) -> bytes:
    other = sqlite3.connect(":memory:")
    other.execute("create table chunks (name text)")
    other.execute("create table state (mood text)")
    return other.serialize()


HARMS = [cut, scratch, head, foreign, lambda _: b"", lambda _: b"hello world " * 1_000]


@pytest.mark.parametrize("harm", HARMS, ids=["cut", "scratched", "no head", "foreign", "empty", "no database"])
def test_a_damaged_file_is_noticed_and_begun_anew(filled: ShownChunks, file: Path, harm: Callable[[bytes], bytes]) -> None:
    filled.close()
    file.write_bytes(harm(file.read_bytes()))
    again = ShownChunks(file)
    assert again.mend() or again.change == 0
    assert (again.change, again.ids(), again.get([1])) == (0, set(), {})
    again.add([row(1)])
    again.commit(1)
    again.close()
    once_more = ShownChunks(file)
    assert (once_more.change, once_more.get([1, 2])) == (1, {1: row(1)})
    once_more.close()


@pytest.mark.parametrize("use", ["get", "add"])
def test_damage_is_noticed_at_the_first_use_of_the_place(filled: ShownChunks, file: Path, use: str) -> None:
    filled.close()
    file.write_bytes(scratch(file.read_bytes()))
    again = ShownChunks(file)
    if use == "get":
        assert again.get(list(range(1, CHUNKS + 1))) == {}
    else:
        with pytest.raises(OSError, match="SQLite"):
            again.add([row(number) for number in range(1, CHUNKS + 1)])
        again.roll_back()
    assert (again.change, again.ids()) == (0, set())
    again.add([row(5)])
    again.commit(5)
    assert again.get([5]) == {5: row(5)}
    again.close()


def test_a_full_disk_keeps_what_was_committed(filled: ShownChunks, file: Path) -> None:
    with at_most(1_000):
        with pytest.raises(OSError, match="SQLite"):  # noqa: PT012  # which of them notices depends on SQLite's cache
            filled.add([row(number) for number in range(1_000, 2_000)])
            filled.commit(2_000)
        filled.roll_back()
        assert filled.get([7]) == {7: row(7)}
    assert filled.ids() == set(range(1, CHUNKS + 1))
    filled.add([row(1_000)])
    filled.commit(1_000)
    assert len(filled.ids()) == CHUNKS + 1


def test_a_file_that_cannot_be_opened_on_a_full_disk_is_kept(filled: ShownChunks, file: Path) -> None:
    filled.close()
    with at_most(10), pytest.raises(OSError, match="SQLite"):
        ShownChunks(file)
    again = ShownChunks(file)
    assert again.change == CHUNKS
    again.close()


def test_hits_are_right_whatever_the_file_says(shelf: Shelf) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source(f"{n}.md", f"number{n} is a cat") for n in range(40)])
    shelf.close()
    (file,) = shelf.settings.data.glob("indexes/*/shown.sqlite")
    older = file.read_bytes()
    shelf.open().ingest(OWNER, "Docs", [shelf.source("40.md", "number40 is a dog")])
    shelf.close()
    newer = file.read_bytes()
    database = shelf.settings.data / "agentkit.duckdb"
    with_all = database.read_bytes()
    for content in (older, newer, scratch(newer), b""):
        file.write_bytes(content)
        library = shelf.open()
        assert shelf.texts("number40 dog")[0] == "number40 is a dog"
        assert library.check() == []
        shelf.close()
    file.unlink()
    shelf.open()
    with_one_less = {document.name: document.id for document in shelf.library.documents(OWNER, "Docs")}["40.md"]
    shelf.library.delete_documents(OWNER, [with_one_less])
    shelf.close()
    database.write_bytes(with_all)  # put back: the file is newer than the database now
    library = shelf.open()
    assert shelf.texts("number40 dog")[0] == "number40 is a dog"
    assert [problem.what for problem in library.check()] == [
        f"The original of 40.md is missing in {shelf.settings.data / 'files'}."
    ]
