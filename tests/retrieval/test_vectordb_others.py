"""Making a vector database by name, what happens without the extras, servers that do not answer,
embedding functions, filters.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.agents.retrieve_chat.vectordb import (
    ChromaVectorDB,
    DuckDBVectorDB,
    PGVectorDB,
    VectorDB,
    VectorDBFactory,
    default_embedding_function,
    embedding_function_of,
)
from agentkit.agents.retrieve_chat.vectordb.embedding import embed_texts, to_vectors
from agentkit.core import stopping
from agentkit.errors import ConfigError, Stopped, StoreError, WrongArgument
from agentkit.retrieval import FakeEmbedder


def words(texts: list[str]) -> Any:
    return embedding_function_of(FakeEmbedder())(texts)


# By name


def test_the_kinds_by_name(tmp_path: Any) -> None:
    ours = VectorDBFactory.create_vector_db(
        "duckdb", path=tmp_path / "v.duckdb", embedding_function=words
    )
    assert isinstance(ours, DuckDBVectorDB)
    assert isinstance(ours, VectorDB)
    ours.close()
    theirs = VectorDBFactory.create_vector_db("Chroma", path=str(tmp_path / "c"))
    assert isinstance(theirs, ChromaVectorDB)
    theirs.close()


@pytest.mark.parametrize("kind", ["mysql", "", None])
def test_an_unknown_kind_is_refused_with_those_that_are_known(kind: Any) -> None:
    with pytest.raises(
        ValueError, match=r"Unsupported vector database type: .*duckdb.*chroma.*pgvector"
    ):
        VectorDBFactory.create_vector_db(kind)


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("chromadb", "psycopg"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match="pip install chromadb"):
        ChromaVectorDB()
    with pytest.raises(ConfigError, match=r'pip install "psycopg\[binary\]" pgvector'):
        PGVectorDB(host="127.0.0.1")


# Servers


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_server_that_is_not_there() -> None:
    port = closed_port()
    with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port}"):
        ChromaVectorDB(host="127.0.0.1", port=port)
    with pytest.raises(StoreError, match="PostgreSQL cannot be reached"):
        PGVectorDB(
            host="127.0.0.1",
            port=port,
            dbname="x",
            username="me",
            password="secret",
            connect_timeout=2,
        )


def test_a_client_of_the_users_own_stays_open(tmp_path: Any) -> None:
    import chromadb

    client: Any = chromadb.PersistentClient(str(tmp_path))
    with ChromaVectorDB(client=client, embedding_function=words) as db:
        db.create_collection("docs").add(
            ids=["1"], documents=["a"], embeddings=np.array([[1, 2]], dtype=np.float32)
        )
        assert db.get_docs_by_ids() == [{"id": "1", "content": "a", "metadata": None}]
    assert client.get_collection("docs", embedding_function=None).count() == 1
    with pytest.raises(ConfigError, match="client="):
        ChromaVectorDB(path=str(tmp_path))
    client.close()


def test_chroma_in_memory_is_one_for_the_process() -> None:
    with (
        ChromaVectorDB(path=None, embedding_function=words) as one,
        ChromaVectorDB(path=None, embedding_function=words) as other,
    ):
        one.create_collection("memory")
        one.insert_docs([{"id": "1", "content": "a"}])
        assert [doc["id"] for doc, _ in other.retrieve_docs(["a"], "memory")[0]] == ["1"]


def test_what_chroma_cannot_call_a_collection(tmp_path: Any) -> None:
    with (
        ChromaVectorDB(path=str(tmp_path), embedding_function=words) as db,
        pytest.raises(WrongArgument, match="3 to 512"),
    ):
        db.create_collection("my documents")


def test_postgres_uses_an_index_for_many_and_the_connection_is_made_anew(postgres_url: str) -> None:
    vectors = np.random.default_rng(3).normal(size=(5_100, 16))
    with PGVectorDB(
        connection_string=postgres_url,
        embedding_function=lambda texts: [vectors[5].tolist() for _ in texts],
    ) as db:
        collection = db.create_collection("many")
        db.insert_docs(
            [
                {"id": row, "content": "x", "embedding": one.tolist()}
                for row, one in enumerate(vectors)
            ]
        )
        plan = db.rows(
            f"explain select id from {collection.table} order by embedding <=> %s limit 5",
            [vectors[5]],
        )
        assert f"Index Scan using {collection.table}_near" in str(plan)
        db.conn.close()
        assert db.retrieve_docs(["q"], n_results=1)[0][0][0]["id"] == "5"
        assert collection.count() == 5_100


def test_a_postgres_connection_of_the_users_own_stays_open(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as conn:
        with PGVectorDB(conn=conn, embedding_function=words) as db:
            db.create_collection("own")
            db.insert_docs([{"id": "1", "content": "a"}])
        assert not conn.closed
    with PGVectorDB(connection_string=postgres_url, embedding_function=words) as db:
        assert len(db.get_docs_by_ids(collection_name="own")) == 1  # committed


# Embedding functions


def test_the_packaged_model_is_the_default() -> None:
    with DuckDBVectorDB() as db:
        assert db.embedding_function is default_embedding_function()
        db.create_collection("docs")
        db.insert_docs(
            [
                {"id": "1", "content": "The cat sleeps on the sofa."},
                {"id": "2", "content": "Shares fell sharply."},
            ]
        )
        [found] = db.retrieve_docs(["a kitten naps"])
        assert [doc["id"] for doc, _ in found] == ["1", "2"]
        assert 0 < found[0][1] < 0.7 < found[1][1]


def test_texts_are_embedded_in_batches_that_can_be_stopped() -> None:
    sizes: list[int] = []
    signal = stopping.StopSignal()

    def embed(texts: list[str]) -> list[list[float]]:
        sizes.append(len(texts))
        if len(sizes) == 4:
            signal.set()
        return [[float(len(text)), 1.0] for text in texts]

    vectors = embed_texts(embed, ["x" * row for row in range(600)], "cosine")
    assert sizes == [256, 256, 88]
    assert vectors[:, 0].tolist() == list(range(600))
    with stopping.stoppable(signal), pytest.raises(Stopped):
        embed_texts(embed, ["x"] * 600, "cosine")
    assert len(sizes) == 4


def test_batches_of_different_dimension_are_refused() -> None:
    with pytest.raises(WrongArgument, match="of 256 and of 44 numbers"):
        embed_texts(lambda texts: [[1.0] * len(texts) for _ in texts], ["x"] * 300, "ip")


@given(
    st.lists(
        st.lists(st.floats(width=32) | st.integers(-5, 5), min_size=2, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_vectors_are_finite_and_of_one_dimension_or_refused(
    given_vectors: list[list[float]],
) -> None:
    owners = [f"document {row}" for row in range(len(given_vectors))]
    whole = all(
        len(vector) == len(given_vectors[0]) and np.isfinite(vector).all()
        for vector in given_vectors
    )
    if not (
        whole and np.asarray(given_vectors).any(axis=1).all() and np.abs(given_vectors).max() < 1e18
    ):
        with pytest.raises(WrongArgument, match="document"):
            to_vectors(given_vectors, "cosine", owners)
    else:
        np.testing.assert_array_equal(
            to_vectors(given_vectors, "cosine", owners), np.asarray(given_vectors, dtype=np.float32)
        )


# Filters say the same in SQL as in Python

_scalars = (
    st.sampled_from(["a", "b", "1", ""])
    | st.integers(-2, 3)
    | st.sampled_from([0.5, 1.0])
    | st.booleans()
)
_metadata = st.dictionaries(st.sampled_from(["x", "y/~", "z"]), _scalars, max_size=3)
_numbers = st.integers(-2, 3) | st.sampled_from([0.5, 1.0])
_leaf = st.builds(
    lambda key, condition: {key: condition},
    st.sampled_from(["x", "y/~", "z"]),
    _scalars
    | st.builds(lambda operator, one: {operator: one}, st.sampled_from(["$eq", "$ne"]), _scalars)
    | st.builds(
        lambda operator, one: {operator: one},
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
        _numbers,
    )
    | st.builds(
        lambda operator, some: {operator: some},
        st.sampled_from(["$in", "$nin"]),
        st.just(["a", "1"]) | st.just([1, 2]),
    ),
)
_where = st.recursive(
    _leaf,
    lambda inner: st.builds(
        lambda join, some: {join: some},
        st.sampled_from(["$and", "$or"]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=4,
)


def holds(where: dict[str, Any], metadata: dict[str, Any]) -> bool:
    [(key, value)] = where.items()
    if key in ("$and", "$or"):
        return (all if key == "$and" else any)(holds(one, metadata) for one in value)
    [(operator, operand)] = value.items() if isinstance(value, dict) else [("$eq", value)]
    had = metadata.get(key)

    def same(one: Any) -> bool:
        kinds = [
            bool if isinstance(each, bool) else str if isinstance(each, str) else float
            for each in (had, one)
        ]
        return key in metadata and kinds[0] is kinds[1] and had == one

    if operator in ("$eq", "$ne"):
        return same(operand) is (operator == "$eq")
    if operator in ("$in", "$nin"):
        return any(map(same, operand)) is (operator == "$in")
    if not isinstance(had, int | float) or isinstance(had, bool):
        return False
    return bool(
        {
            "$gt": had > operand,
            "$gte": had >= operand,
            "$lt": had < operand,
            "$lte": had <= operand,
        }[operator]
    )


@pytest.fixture(scope="module")
def filtered(postgres_url: str) -> Iterator[list[DuckDBVectorDB | PGVectorDB]]:
    kinds: list[DuckDBVectorDB | PGVectorDB] = [
        DuckDBVectorDB(embedding_function=words),
        PGVectorDB(connection_string=postgres_url, embedding_function=words),
    ]
    for db in kinds:
        db.create_collection("filtered")
    yield kinds
    for db in kinds:
        db.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(_metadata, min_size=1, max_size=5), _where)
def test_filters_agree_with_plain_python(
    filtered: list[DuckDBVectorDB | PGVectorDB],
    metadatas: list[dict[str, Any]],
    where: dict[str, Any],
) -> None:
    expected = [str(row) for row, metadata in enumerate(metadatas) if holds(where, metadata)]
    for db in filtered:
        db.create_collection("filtered", overwrite=True)
        db.insert_docs(
            [
                {"id": row, "content": "c", "metadata": one, "embedding": [1.0]}
                for row, one in enumerate(metadatas)
            ]
        )
        db.embedding_function = lambda texts: [[1.0] for _ in texts]
        [found] = db.retrieve_docs(["q"], where=where)
        assert sorted(str(doc["id"]) for doc, _ in found) == expected, db.type
