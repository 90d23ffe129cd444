"""What only our own vector database promises: durability, indexes that are caches, one file for all
in the process.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.agents.retrieve_chat.vectordb import Document, DuckDBVectorDB
from agentkit.agents.retrieve_chat.vectordb.checked import Rows
from agentkit.agents.retrieve_chat.vectordb.neighbours import Neighbours
from agentkit.agents.retrieve_chat.vectordb.tables import EVERYTHING, Collection, Tables, with_ids
from agentkit.database import Database
from agentkit.errors import DatabaseDamaged, DatabaseInUse, StoreError
from tests.retrieval.full_disk import at_most

ROUNDS = 6
_ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import sys
from agentkit.agents.retrieve_chat.vectordb import DuckDBVectorDB

start, edition = int(sys.argv[2]), int(sys.argv[3])
lengths = lambda texts: [[1.0, len(text)] for text in texts]
db = DuckDBVectorDB(path=sys.argv[1], embedding_function=lengths)
db.create_collection("docs")
for number in range(start, start + 200):
    db.insert_docs([
        {"id": str(number), "content": f"text {number}"},
        {"id": f"{number}b", "content": f"twin {number}"},
    ])
    db.update_docs([{"id": "changing", "content": f"edition {edition} {number}"}])
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


def plain(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    chance = random.Random(4)
    path = tmp_path / "vectors.duckdb"
    promised: set[str] = set()
    for edition in range(ROUNDS):
        command = [sys.executable, "-c", CHILD, str(path), str(edition * 200), str(edition)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
        assert child.stdout is not None
        timer = threading.Timer(chance.uniform(0, 0.05), child.send_signal, (signal.SIGKILL,))
        said = []
        for line in child.stdout:
            said.append(line.strip())
            if len(said) == 1:
                timer.start()
        child.wait()
        timer.cancel()
        child.stdout.close()
        promised |= set(said)
        with DuckDBVectorDB(path=path, embedding_function=plain) as db:
            db.get_collection("docs")
            there = {str(doc["id"]) for doc in db.get_docs_by_ids()}
            assert promised <= there
            assert {one for one in there if one.isdigit()} == {
                one[:-1] for one in there if one.endswith("b")
            }
            [changing] = db.get_docs_by_ids(["changing"])
            assert int(changing["content"].split()[2]) >= int(said[-1])
            found = {str(doc["id"]) for doc, _ in db.retrieve_docs(["q"], n_results=10_000)[0]}
            assert found == there
    assert len(promised) < ROUNDS * 200  # it was killed in the middle


def test_all_in_a_process_share_the_file_and_it_is_free_after_the_last(tmp_path: Path) -> None:
    path = tmp_path / "vectors.duckdb"
    one = DuckDBVectorDB(path=path, embedding_function=plain)
    with DuckDBVectorDB(path=str(path), embedding_function=plain) as other:
        other.create_collection("docs")
        other.insert_docs([{"id": "1", "content": "a"}])
        assert [str(doc["id"]) for doc, _ in one.retrieve_docs(["a"], "docs")[0]] == ["1"]
    with pytest.raises(StoreError, match="closed"):
        other.get_docs_by_ids()
    other.close()  # once more does no harm
    one.update_docs([{"id": "1", "content": "b"}])
    open_it = (
        "from agentkit.database import Database; from pathlib import Path;"
        f" Database(Path({str(path)!r})).close()"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", open_it], cwd=_ROOT, capture_output=True, check=False
        ).returncode
        == 1
    )
    one.close()
    assert (
        subprocess.run(
            [sys.executable, "-c", open_it], cwd=_ROOT, capture_output=True, check=False
        ).returncode
        == 0
    )


def test_a_file_of_another_process_and_a_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "vectors.duckdb"
    open_it = (
        "from agentkit.database import Database; from pathlib import Path; d ="
        f" Database(Path({str(path)!r}))"
    )
    hold = f"{open_it}; print(1, flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", hold],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "1\n"
    with pytest.raises(DatabaseInUse, match=str(child.pid)):
        DuckDBVectorDB(path=path)
    child.communicate("\n")
    DuckDBVectorDB(path=path).close()
    (tmp_path / "no.duckdb").write_bytes(b"something else" * 1000)
    with pytest.raises(DatabaseDamaged):
        DuckDBVectorDB(path=tmp_path / "no.duckdb")


# The index


DIMENSION = 8


class Shelf:
    """A collection in a file, with an index that turns into a graph above 50 documents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "index"
        self.database = Database(folder / "vectors.duckdb")
        self.tables = Tables(self.database)
        self.collection: Collection = self.tables.add_collection("docs", "cosine")
        self.index = self.open()

    def open(self) -> Neighbours:
        self.index = Neighbours(self.collection, DIMENSION, self.folder, exact_below=50)
        return self.index

    def put(self, first: int, last: int, seed: int = 1) -> None:
        ids = [str(number) for number in range(first, last)]
        vectors = (
            np.random.default_rng([seed, first])
            .normal(size=(len(ids), DIMENSION))
            .astype(np.float32)
        )
        self.tables.put(self.collection, Rows(ids, ids, [None] * len(ids), vectors))

    def check(self) -> None:
        """The index finds exactly what the table has."""
        numbers, vectors = self.tables.vectors(self.collection, ("true", []))
        assert set(self.index.nearest(np.ones(DIMENSION, dtype=np.float32), 10_000)) == set(
            numbers.tolist()
        )
        for row in range(0, len(numbers), 17):
            near = self.index.nearest(vectors[row], 1)
            assert near == {int(numbers[row]): pytest.approx(0, abs=1e-5)}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_the_graph_takes_over_and_is_brought_up_to_date_after_a_restart(shelf: Shelf) -> None:
    shelf.put(0, 40)
    shelf.check()
    assert shelf.index.figures().kind == "exact"
    shelf.put(30, 120, seed=2)
    shelf.check()
    assert shelf.index.figures().kind == "hnsw"
    shelf.index.save()
    saved = shelf.index._index.change
    shelf.put(120, 130)
    shelf.put(50, 60, seed=3)
    shelf.tables.remove(shelf.collection, ["1", "2", "121"])
    again = shelf.open()
    assert (again._index.change, again.figures().kind) == (saved, "hnsw")
    shelf.check()
    again.save()
    assert shelf.database.value("select count(*) from vector_removals") == 0
    shelf.open()
    shelf.check()


@pytest.mark.parametrize("harm", ["missing", "damaged", "nonsense", "ahead"])
def test_a_lost_or_wrong_index_file_is_made_anew(shelf: Shelf, harm: str) -> None:
    shelf.put(0, 120)
    shelf.check()
    shelf.index.save()
    [file], meta = list(shelf.folder.glob("*.hnsw")), shelf.folder / "vectors.json"
    if harm == "missing":
        file.unlink()
    elif harm == "damaged":
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 255
        file.write_bytes(data)
    elif harm == "nonsense":
        meta.write_text("{")
    else:  # the database is an older copy
        meta.write_text(
            meta.read_text().replace(f'"change": {shelf.index._index.change}', '"change": 100000')
        )
    again = shelf.open()
    assert again._index.change == 0
    shelf.check()


def test_many_removals_compact_the_graph(shelf: Shelf) -> None:
    shelf.put(0, 200)
    shelf.check()
    shelf.tables.remove(shelf.collection, [str(number) for number in range(90)])
    shelf.check()
    assert (shelf.index.figures().kind, shelf.index.figures().removed) == ("hnsw", 0)


def test_a_filter_finds_the_nearest_of_those_that_pass(shelf: Shelf) -> None:
    shelf.put(0, 400)
    numbers, vectors = shelf.tables.vectors(shelf.collection, EVERYTHING)
    query = np.ones(DIMENSION, dtype=np.float32)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    for ids in (["3", "8", "none"], [str(number) for number in range(0, 400, 2)]):
        passing = set(shelf.tables.numbers(shelf.collection, with_ids(ids)).tolist())
        found = shelf.index.nearest(query, 5, with_ids(ids))
        best = [
            number
            for _, number in sorted(zip(-cosines, numbers.tolist(), strict=True))
            if number in passing
        ][:5]
        assert sorted(found, key=lambda number: found[number]) == best
    assert shelf.index.nearest(query, 5, with_ids([])) == {}


def test_a_full_disk_while_saving_loses_nothing(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    shelf.put(0, 120)
    shelf.check()
    shelf.tables.remove(shelf.collection, ["1"])
    shelf.check()
    with at_most(10):
        shelf.index.save()
    assert "could not be saved" in caplog.text
    shelf.database.close()
    shelf.database = Database(shelf.folder.parent / "vectors.duckdb")
    shelf.tables = Tables(shelf.database)
    found = shelf.tables.collection("docs")
    assert found is not None
    shelf.collection = found
    shelf.open()
    shelf.check()


def test_dropping_a_collection_removes_its_index(tmp_path: Path) -> None:
    with DuckDBVectorDB(path=tmp_path / "v.duckdb", embedding_function=plain) as db:
        db.create_collection("docs")
        vectors = np.random.default_rng(1).normal(size=(5_100, 4))
        docs: list[Document] = [
            {"id": row, "content": "x", "embedding": vector.tolist()}
            for row, vector in enumerate(vectors)
        ]
        db.insert_docs(docs)
        db.embedding_function = lambda texts: [vectors[7].tolist() for _ in texts]
        assert db.retrieve_docs(["q"], n_results=1)[0][0][0]["id"] == "7"
        assert list((tmp_path / "v.duckdb.indexes").glob("*/*.hnsw"))
        db.delete_collection("docs")
        assert not list((tmp_path / "v.duckdb.indexes").iterdir())


# Any sequence of changes

_steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "remove", "save", "open"]), st.integers(0, 12), st.integers(1, 8)
    ),
    max_size=25,
)


@settings(max_examples=10, deadline=None)
@given(_steps)
def test_the_index_follows_any_sequence_of_changes(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("steps"))
    shelf.put(100, 160)
    for seed, (step, first, count) in enumerate(steps):
        if step == "put":
            shelf.put(first, first + count, seed)
        elif step == "remove":
            shelf.tables.remove(
                shelf.collection, [str(number) for number in range(first, first + count)]
            )
        elif step == "save":
            shelf.index.save()
        else:
            shelf.open()
    shelf.check()
    shelf.database.close()
