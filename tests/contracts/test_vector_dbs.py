"""What every vector database does, whichever it is; Chroma's server and PostgreSQL are real ones,
started here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromadb.errors import InternalError

from agentkit.agents.retrieve_chat.vectordb import (
    ChromaVectorDB,
    Document,
    DuckDBVectorDB,
    PGVectorDB,
    VectorDB,
    embedding_function_of,
)
from agentkit.agents.retrieve_chat.vectordb.checked import CheckedVectorDB
from agentkit.errors import StoreError, WrongArgument, WrongType
from agentkit.retrieval import FakeEmbedder
from tests.servers.chroma import chroma

DB = CheckedVectorDB[Any]
Opened = Callable[..., DB]
"""Opens the same database once more; takes `metadata` and `embedding_function`."""

KINDS = ["duckdb-file", "duckdb-memory", "chroma-file", "chroma-server", "pgvector"]
_numbers = itertools.count(1)
words = embedding_function_of(FakeEmbedder(256))
NOT_YET = "Error creating hnsw segment reader: Nothing found on disk"
FRUIT: list[Document] = [
    {
        "id": "1",
        "content": "apple pie with cinnamon",
        "metadata": {"page": 1, "lang": "en", "good": True},
    },
    {"id": "2", "content": "banana bread", "metadata": {"page": 2, "lang": "en", "score": 0.5}},
    {
        "id": "3",
        "content": "Birnen und Äpfel 100%",
        "metadata": {"page": 3, "lang": "de", "good": False},
    },
    {"id": "4", "content": "plain text"},
]


@pytest.fixture(scope="module")
def chroma_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with chroma(tmp_path_factory.mktemp("chroma") / "data") as port:
        yield port


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """For every kind of database, how to open it."""
    made: list[DB] = []

    def open_(**more: Any) -> DB:
        kwargs: dict[str, Any] = {"embedding_function": words, **more}
        match request.param:
            case "duckdb-file":
                made.append(DuckDBVectorDB(path=tmp_path / "vectors.duckdb", **kwargs))
            case "duckdb-memory":
                made.append(DuckDBVectorDB(**kwargs))
            case "chroma-file":
                made.append(ChromaVectorDB(path=str(tmp_path / "chroma"), **kwargs))
            case "chroma-server":
                port = request.getfixturevalue("chroma_port")
                made.append(ChromaVectorDB(host="127.0.0.1", port=port, **kwargs))
            case "pgvector":
                made.append(
                    PGVectorDB(connection_string=request.getfixturevalue("postgres_url"), **kwargs)
                )
        return made[-1]

    yield open_
    for database in made:
        database.close()


PERSISTENT = pytest.mark.parametrize(
    "opened", [kind for kind in KINDS if kind != "duckdb-memory"], indirect=True
)
"""All that keep what they have; two databases in memory have nothing in common."""


@pytest.fixture
def name() -> str:
    return f"docs-{next(_numbers)}"


@pytest.fixture
def db(opened: Opened, name: str) -> DB:
    """A database with an empty, active collection."""
    database = opened()
    database.create_collection(name)
    return database


@pytest.fixture
def fruit(db: DB) -> DB:
    db.insert_docs(FRUIT)
    return db


def ids(found: list[tuple[Document, float]]) -> list[str]:
    return [str(document["id"]) for document, _ in found]


def all_ids(db: DB) -> list[str]:
    return [str(document["id"]) for document in db.get_docs_by_ids()]


# Collections


def test_it_is_a_vector_db(opened: Opened) -> None:
    database = opened()
    assert isinstance(database, VectorDB)
    assert database.active_collection is None
    assert database.type in ("duckdb", "chroma", "pgvector")


def test_the_first_collection_and_any_that_is_named_becomes_the_active_one(
    opened: Opened, name: str
) -> None:
    database = opened()
    first, second = database.create_collection(name), database.create_collection(f"{name}-b")
    assert (first.name, second.name) == (name, f"{name}-b")
    assert database.get_collection().name == name
    assert database.get_collection(f"{name}-b").name == f"{name}-b"
    assert database.get_collection().name == f"{name}-b"
    database.insert_docs(FRUIT[:1], collection_name=name)
    active: Any = database.active_collection
    assert (active.name, active.count()) == (name, 1)


def test_a_collection_that_is_there_is_taken_refused_or_emptied(fruit: DB, name: str) -> None:
    fruit.create_collection(name)
    assert len(all_ids(fruit)) == 4
    with pytest.raises(ValueError, match="already exists"):
        fruit.create_collection(name, get_or_create=False)
    fruit.create_collection(name, overwrite=True, get_or_create=False)
    assert all_ids(fruit) == []
    fruit.insert_docs(
        [{"id": "1", "content": "x", "embedding": [1.0, 2.0]}]
    )  # another dimension than before
    assert all_ids(fruit) == ["1"]


def test_a_deleted_collection_is_gone(fruit: DB, name: str) -> None:
    fruit.delete_collection(name)
    assert fruit.active_collection is None
    with pytest.raises(ValueError, match="No collection is specified"):
        fruit.get_docs_by_ids()
    fruit.create_collection(name)
    assert all_ids(fruit) == []


def test_an_unknown_collection_is_named_in_the_error(db: DB) -> None:
    calls: list[Callable[[], object]] = [
        lambda: db.get_collection("nowhere"),
        lambda: db.delete_collection("nowhere"),
        lambda: db.insert_docs(FRUIT, "nowhere"),
        lambda: db.update_docs(FRUIT, "nowhere"),
        lambda: db.delete_docs(["1"], "nowhere"),
        lambda: db.retrieve_docs(["x"], "nowhere"),
        lambda: db.get_docs_by_ids(["1"], "nowhere"),
    ]
    for call in calls:
        with pytest.raises(WrongArgument, match="'nowhere' does not exist"):
            call()


def test_a_name_that_cannot_be_used_is_refused(opened: Opened) -> None:
    database, bad = opened(), ["", " ", "a\nb", "x" * 121, None]
    for name in bad:
        with pytest.raises(WrongArgument, match="cannot be the name"):
            database.create_collection(name)  # type: ignore[arg-type]


@PERSISTENT
def test_what_one_client_writes_another_sees(opened: Opened, name: str) -> None:
    one, other = opened(), opened()
    one.create_collection(name)
    one.insert_docs(FRUIT)
    other.get_collection(name)
    assert ids(other.retrieve_docs(["banana bread"], n_results=1)[0]) == ["2"]
    other.create_collection(name, overwrite=True)
    assert all_ids(one) == []
    one.insert_docs(FRUIT[:1])
    assert all_ids(other) == ["1"]


@PERSISTENT
def test_it_is_all_there_after_a_restart(opened: Opened, name: str) -> None:
    with opened() as database:
        database.create_collection(name)
        database.insert_docs(FRUIT)
        before = database.get_docs_by_ids(include=["embeddings"])
        found = database.retrieve_docs(["pie"])
    again = opened()
    again.get_collection(name)
    assert again.get_docs_by_ids(include=["embeddings"]) == before
    assert again.retrieve_docs(["pie"]) == found


# Writing and reading


def test_documents_come_back_as_they_were(fruit: DB) -> None:
    assert fruit.get_docs_by_ids(["3", "none", "1", "3"]) == [
        {
            "id": "3",
            "content": "Birnen und Äpfel 100%",
            "metadata": {"page": 3, "lang": "de", "good": False},
        },
        {
            "id": "1",
            "content": "apple pie with cinnamon",
            "metadata": {"page": 1, "lang": "en", "good": True},
        },
    ]
    assert fruit.get_docs_by_ids(["4"]) == [{"id": "4", "content": "plain text", "metadata": None}]
    assert all_ids(fruit) == ["1", "2", "3", "4"]
    assert fruit.get_docs_by_ids([]) == []
    [document] = fruit.get_docs_by_ids(["2"], include=["documents", "embeddings"])
    vector = document["embedding"]
    assert vector is not None
    assert list(vector) == pytest.approx(words(["banana bread"])[0], abs=1e-6)


def test_a_number_is_an_id_too(db: DB) -> None:
    db.insert_docs([{"id": 7, "content": "seven"}])
    assert db.get_docs_by_ids([7]) == [{"id": "7", "content": "seven", "metadata": None}]
    db.delete_docs([7])
    assert all_ids(db) == []


def test_inserting_the_same_again_changes_nothing(fruit: DB) -> None:
    fruit.insert_docs([*FRUIT, {"id": "5", "content": "new"}])
    assert all_ids(fruit) == ["1", "2", "3", "4", "5"]


def test_inserting_other_content_under_an_id_is_refused_and_nothing_written(fruit: DB) -> None:
    for changed in ({"id": "1", "content": "CHANGED"}, {**FRUIT[0], "metadata": {"page": 9}}):
        with pytest.raises(ValueError, match=r"other documents with the ids 1; use upsert=True"):
            fruit.insert_docs([{"id": "5", "content": "new"}, changed])  # type: ignore[list-item]
    assert all_ids(fruit) == ["1", "2", "3", "4"]
    assert fruit.get_docs_by_ids(["1"])[0]["content"] == FRUIT[0]["content"]


@pytest.mark.parametrize("method", ["insert_docs", "update_docs"])
def test_replacing_documents(fruit: DB, method: str) -> None:
    more: dict[str, Any] = {"upsert": True} if method == "insert_docs" else {}
    new: list[Document] = [
        {"id": "1", "content": "quince jelly"},
        {"id": "2", "content": "banana split", "metadata": {"lang": "en", "hot": False}},
        {"id": "3", "content": "Birnen", "metadata": {}},
        {"id": "6", "content": "added", "metadata": {"page": 6}},
    ]
    getattr(fruit, method)(new, **more)
    assert fruit.get_docs_by_ids(["1", "2", "3", "6"]) == [
        {
            "id": "1",
            "content": "quince jelly",
            "metadata": FRUIT[0].get("metadata"),
        },  # kept: none was given
        {
            "id": "2",
            "content": "banana split",
            "metadata": {"lang": "en", "hot": False},
        },  # replaced as a whole
        {"id": "3", "content": "Birnen", "metadata": None},
        {"id": "6", "content": "added", "metadata": {"page": 6}},
    ]
    assert all_ids(fruit) == ["1", "2", "3", "4", "6"]
    assert ids(fruit.retrieve_docs(["quince jelly"], n_results=1)[0]) == ["1"]
    assert "1" not in ids(
        fruit.retrieve_docs(["apple pie with cinnamon"], distance_threshold=0.9)[0]
    )


def test_deleted_documents_are_not_found_any_more(fruit: DB) -> None:
    fruit.delete_docs(["2", "none"])
    fruit.delete_docs([])
    assert all_ids(fruit) == ["1", "3", "4"]
    assert "2" not in ids(fruit.retrieve_docs(["banana bread"])[0])
    fruit.insert_docs(FRUIT[1:2])
    assert ids(fruit.retrieve_docs(["banana bread"], n_results=1)[0]) == ["2"]


def test_signs_that_no_database_likes(db: DB) -> None:
    content = 'it\'s "quoted" % \\ {x} $1 ? :a 漢字 🙂 \ud83d \0 end'
    db.insert_docs(
        [{"id": "'; drop table x; --", "content": content, "metadata": {"a'b/~\".c": "\ud83d'%s"}}]
    )
    [found] = db.get_docs_by_ids()
    assert found["content"] == content.replace("\ud83d", "?").replace("\0", "\ufffd")
    assert found["metadata"] == {"a'b/~\".c": "?'%s"}
    assert found["id"] == "'; drop table x; --"
    assert (
        len(
            db.retrieve_docs(
                ["x"], where={"a'b/~\".c": "?'%s"}, where_document={"$contains": "% \\ {x}"}
            )[0]
        )
        == 1
    )
    db.delete_docs(["'; drop table x; --"])
    assert all_ids(db) == []


def test_vectors_given_are_kept_and_the_others_computed(db: DB) -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[0.0, 2.0] for _ in texts]

    db.embedding_function = embed
    db.insert_docs([{"id": "1", "content": "a", "embedding": [1, 0]}, {"id": "2", "content": "b"}])
    assert asked == [["b"]]
    assert [document["embedding"] for document in db.get_docs_by_ids(include=["embeddings"])] == [
        [1.0, 0.0],
        [0.0, 2.0],
    ]
    assert ids(db.retrieve_docs(["q"])[0]) == ["2", "1"]


# Finding


def test_the_nearest_come_first_for_each_query(fruit: DB) -> None:
    pie, bread = fruit.retrieve_docs(["apple pie", "banana bread"], n_results=2)
    assert (ids(pie)[0], ids(bread)[0], len(pie), len(bread)) == ("1", "2", 2, 2)
    document, distance = bread[0]
    assert document == {
        "id": "2",
        "content": "banana bread",
        "metadata": {"page": 2, "lang": "en", "score": 0.5},
    }
    assert distance == pytest.approx(0, abs=1e-5)
    assert type(distance) is float
    assert len(fruit.retrieve_docs(["x"], n_results=50)[0]) == 4
    assert fruit.retrieve_docs([]) == []
    assert (
        fruit.retrieve_docs(["banana"], n_results=1, include=["embeddings"])[0][0][0]["embedding"]
        is not None
    )


def test_an_empty_collection_gives_nothing(db: DB) -> None:
    assert db.retrieve_docs(["a", "b"]) == [[], []]
    db.insert_docs(FRUIT)
    db.delete_docs(["1", "2", "3", "4"])
    assert db.retrieve_docs(["a"]) == [[]]
    assert db.get_docs_by_ids() == []


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_distances_mean_the_same_in_all(opened: Opened, name: str, metric: str) -> None:
    query, vectors = (
        [1.0, 2.0, -1.0],
        {"a": [2.0, 4.0, -2.0], "b": [1.0, 2.0, 0.0], "c": [-1.0, -2.0, 1.0], "d": [0.5, 3.0, 4.0]},
    )
    database = opened(
        metadata={"hnsw:space": metric}, embedding_function=lambda texts: [query for _ in texts]
    )
    database.create_collection(name)
    database.insert_docs(
        [{"id": one, "content": one, "embedding": vector} for one, vector in vectors.items()]
    )
    expected = {
        one: _distance(metric, np.array(query), np.array(vector)) for one, vector in vectors.items()
    }
    [found] = database.retrieve_docs(["q"])
    assert {str(document["id"]): distance for document, distance in found} == pytest.approx(
        expected, abs=1e-4
    )
    assert ids(found) == sorted(expected, key=lambda one: expected[one])
    limit = sorted(expected.values())[1] + 1e-3
    if limit >= 0:
        assert ids(database.retrieve_docs(["q"], distance_threshold=limit)[0]) == ids(found)[:2]
    if metric != "ip":
        assert database.retrieve_docs(["q"], distance_threshold=0) == [[]]


def _distance(metric: str, one: Any, other: Any) -> float:
    dot = float(one @ other)
    if metric == "cosine":
        return 1 - dot / float(np.linalg.norm(one) * np.linalg.norm(other))
    return 1 - dot if metric == "ip" else float(((one - other) ** 2).sum())


@PERSISTENT
def test_a_collection_keeps_its_distance(opened: Opened, name: str) -> None:
    opened(metadata={"hnsw:space": "l2"}).create_collection(name)
    database = opened(embedding_function=lambda texts: [[1.0, 0.0] for _ in texts])
    database.create_collection(name)
    database.insert_docs([{"id": "1", "content": "a", "embedding": [4.0, 0.0]}])
    assert database.retrieve_docs(["q"])[0][0][1] == pytest.approx(9)


WHERE: list[tuple[dict[str, Any], list[str]]] = [
    ({"lang": "de"}, ["3"]),
    ({"page": 2}, ["2"]),
    ({"good": True}, ["1"]),
    ({"good": {"$eq": False}}, ["3"]),
    ({"page": {"$gte": 2}}, ["2", "3"]),
    ({"page": {"$lt": 2}}, ["1"]),
    ({"score": {"$gt": 0.25}}, ["2"]),
    ({"lang": {"$ne": "en"}}, ["3", "4"]),
    ({"page": {"$in": [1, 3]}}, ["1", "3"]),
    ({"lang": {"$nin": ["de", "fr"]}}, ["1", "2", "4"]),
    ({"lang": "1"}, []),
    ({"page": "1"}, []),
    ({"$and": [{"lang": "en"}, {"page": {"$gt": 1}}]}, ["2"]),
    ({"$or": [{"lang": "de"}, {"$and": [{"page": 1}, {"good": True}]}]}, ["1", "3"]),
]
WHERE_DOCUMENT: list[tuple[dict[str, Any], list[str]]] = [
    ({"$contains": "pie"}, ["1"]),
    ({"$contains": "Pie"}, []),
    ({"$contains": "Äpfel 100%"}, ["3"]),
    ({"$contains": "_"}, []),
    ({"$not_contains": "a"}, ["3"]),
    ({"$and": [{"$contains": "b"}, {"$contains": "bread"}]}, ["2"]),
    ({"$or": [{"$contains": "plain"}, {"$contains": "cinnamon"}]}, ["1", "4"]),
]


def test_filters(fruit: DB) -> None:
    for where, expected in WHERE:
        assert sorted(ids(fruit.retrieve_docs(["x"], where=where)[0])) == expected, where
    for where, expected in WHERE_DOCUMENT:
        assert sorted(ids(fruit.retrieve_docs(["x"], where_document=where)[0])) == expected, where


def test_both_filters_together_and_none(fruit: DB) -> None:
    both = fruit.retrieve_docs(["x"], where={"lang": "en"}, where_document={"$contains": "bread"})
    assert ids(both[0]) == ["2"]
    assert len(fruit.retrieve_docs(["x"], where=None, where_document=None)[0]) == 4


NONSENSE: list[dict[str, Any]] = [
    {"where": {"a": 1, "b": 2}},
    {"where": {"$and": [{"a": 1}]}},
    {"where": {"a": {"$like": "x"}}},
    {"where": {"a": {"$gt": "x"}}},
    {"where": {"a": {"$in": []}}},
    {"where": {"a": {"$in": [1, "2"]}}},
    {"where": {"a": None}},
    {"where": "a"},
    {"where": {"$eq": 1}},
    {"where_document": {"$contains": ""}},
    {"where_document": {"content": "x"}},
    {"where_document": {"$contains": 1}},
    {"n_results": 0},
    {"n_results": -1},
    {"queries": "text"},
]


def test_a_question_that_makes_no_sense_is_refused(fruit: DB) -> None:
    for bad in NONSENSE:
        with pytest.raises(WrongArgument):
            fruit.retrieve_docs(**{"queries": ["x"], **bad})


def test_an_unknown_argument_is_refused(fruit: DB) -> None:
    with pytest.raises(WrongType, match="search"):
        fruit.retrieve_docs(["x"], search="y")
    with pytest.raises(WrongType, match="no argument 'x'"):
        fruit.insert_docs(FRUIT, x=1)


# Wrong documents


WRONG: list[tuple[Any, str]] = [
    ({"id": "9"}, "content is required"),
    ({"id": "9", "content": None}, "content is required"),
    ({"id": "9", "content": 5}, "must be a text"),
    ({"content": "x"}, "id is required"),
    ({"id": "", "content": "x"}, "must be a text or an integer"),
    ({"id": 1.5, "content": "x"}, "must be a text or an integer"),
    ({"id": "8", "content": "twice"}, "duplicates of: 8"),
    ({"id": 8, "content": "twice"}, "duplicates of: 8"),
    ({"id": "9", "content": "x", "metadata": {"a": [1]}}, "'a'"),
    ({"id": "9", "content": "x", "metadata": {"a": math.nan}}, "'a'"),
    ({"id": "9", "content": "x", "metadata": {"a": 2**70}}, "'a'"),
    ({"id": "9", "content": "x", "metadata": {"a": None}}, "'a'"),
    ({"id": "9", "content": "x", "metadata": ["a"]}, "must be a dict"),
    ({"id": "9", "content": "x", "embedding": [1.0, 2.0]}, "document '9' has 2 numbers"),
    ({"id": "9", "content": "x", "embedding": []}, "document '9' has 0 numbers"),
    ({"id": "9", "content": "x", "embedding": [math.nan] * 256}, "document '9' holds NaN"),
    ({"id": "9", "content": "x", "embedding": [math.inf] * 256}, "document '9' holds NaN"),
    ({"id": "9", "content": "x", "embedding": [0.0] * 256}, "document '9' has length 0"),
    ({"id": "9", "content": "x", "embedding": ["a"] * 256}, "not plain numbers"),
]


def test_one_wrong_document_and_nothing_is_written(fruit: DB) -> None:
    for bad, message in WRONG:
        for method in (fruit.insert_docs, fruit.update_docs):
            with pytest.raises(ValueError, match=message):
                method([{"id": "8", "content": "right"}, bad])
    assert all_ids(fruit) == ["1", "2", "3", "4"]


def test_an_embedding_function_that_fails_its_duty(fruit: DB) -> None:
    wrong: dict[str, Callable[[list[str]], Any]] = {
        "has 2 numbers, collection": lambda texts: [[1.0, 2.0] for _ in texts],
        "holds NaN": lambda texts: [[math.nan] * 256 for _ in texts],
        "gave 0 vectors for 1 texts": lambda texts: [],
    }
    for message, function in wrong.items():
        fruit.embedding_function = function
        with pytest.raises(WrongArgument, match=message):
            fruit.insert_docs([{"id": "9", "content": "x"}])
        with pytest.raises(WrongArgument, match=message):
            fruit.retrieve_docs(["x"])
    assert all_ids(fruit) == ["1", "2", "3", "4"]


def test_an_unknown_distance_is_refused(opened: Opened) -> None:
    with pytest.raises(WrongArgument, match="hnsw:space"):
        opened(metadata={"hnsw:space": "manhattan"})


# Many


def test_thousands_of_documents(db: DB) -> None:
    chance = np.random.default_rng(5)
    vectors = chance.normal(size=(6_000, 24)).astype(np.float32)
    db.insert_docs(
        [
            {
                "id": str(row),
                "content": f"text {row % 1000}",
                "embedding": vector.tolist(),
                "metadata": {"part": row % 4},
            }
            for row, vector in enumerate(vectors)
        ]
    )
    db.delete_docs([str(row) for row in range(100)])
    db.embedding_function = lambda texts: [vectors[int(text)] + vectors[3000] / 4 for text in texts]
    asked = [str(row) for row in range(200, 220)]
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    hits = 0
    for query, found in zip(asked, db.retrieve_docs(asked), strict=True):
        cosines = unit @ (vectors[int(query)] + vectors[3000] / 4)
        cosines[:100] = -np.inf
        hits += len(set(ids(found)) & {str(row) for row in np.argsort(-cosines)[:10]})
    assert hits >= 0.95 * 200
    [filtered] = db.retrieve_docs(
        ["500"], n_results=3, where={"part": 1}, where_document={"$contains": "text 77"}
    )
    best = unit @ (vectors[500] + vectors[3000] / 4)
    fits = [
        row
        for row in range(100, 6_000)
        if row % 4 == 1 and f"text {row % 1000}".startswith("text 77")
    ]
    assert ids(filtered) == [str(row) for row in sorted(fits, key=lambda row: -best[row])[:3]]
    assert len(db.retrieve_docs(["500"], n_results=700)[0]) == 700
    assert len(db.get_docs_by_ids()) == 5_900


def test_several_threads_at_once(db: DB) -> None:
    def work(part: int) -> None:
        for row in range(5):
            db.insert_docs([{"id": f"{part}-{row}", "content": f"text {part} {row}"}])
            assert ids(db.retrieve_docs([f"text {part} {row}"], n_results=1)[0])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(all_ids(db)) == 20


@pytest.mark.parametrize(("times", "what", "is_read"), [(2, NOT_YET, True), (1, "It broke", False)])
def test_what_a_server_of_chroma_does_not_find_yet_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, what: str, is_read: bool
) -> None:
    with ChromaVectorDB(path=str(tmp_path), embedding_function=words) as database:
        database.create_collection("fruit")
        database.insert_docs(FRUIT)
        server = database.client._server
        query, failures = server._query, iter([InternalError(what)] * times)

        def stumble(*args: Any, **kwargs: Any) -> Any:
            for failure in failures:
                raise failure
            return query(*args, **kwargs)

        monkeypatch.setattr(server, "_query", stumble)
        if is_read:
            assert ids(database.retrieve_docs(["banana bread"], n_results=1)[0]) == ["2"]
        else:
            with pytest.raises(StoreError, match=what):
                database.retrieve_docs(["banana bread"])
        assert next(failures, None) is None
