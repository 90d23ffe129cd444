"""PostgreSQL with pgvector as vector database; an extra: `pip install "psycopg[binary]" pgvector`,
on the server `vector` >= 0.7.

Each collection is a table of its own, `agentkit_vectors_N`, listed in
`agentkit_vector_collections`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.vectordb.base import Document, EmbeddingFunction
from agentkit.agents.retrieve_chat.vectordb.checked import CheckedVectorDB, Rows, to_document
from agentkit.agents.retrieve_chat.vectordb.filters import Condition, Dialect, Filters
from agentkit.core.given import coalesce, pick_given
from agentkit.errors import ConfigError, StoreError
from agentkit.retrieval.index.graph import Metric
from agentkit.retrieval.index.vector_index import EXACT_BELOW

if TYPE_CHECKING:
    import numpy as np
    import psycopg

_TURN = 7_316_190_243
"""The advisory lock that those who make tables take, so that two never make the same."""
_MOST_INDEXED = 2_000
"""pgvector's limit of dimensions in an index; beyond it the search is exact."""
_EFFORT, _MOST_EFFORT = 128, 1_000
"""pgvector's hnsw.ef_search: candidates looked at, and its limit."""
_OPERATORS: dict[Metric, tuple[str, str]] = {
    "cosine": ("<=>", "vector_cosine_ops"),
    "l2": ("<->", "vector_l2_ops"),
    "ip": ("<#>", "vector_ip_ops"),
}


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection; several made one after the other with the same name have different numbers."""

    number: int
    name: str
    metric: Metric
    dimension: int | None
    """Numbers in its vectors when it was looked up; None while it never had any."""
    database: PGVectorDB

    @property
    def table(self) -> str:
        """The table with its documents."""
        return f"agentkit_vectors_{self.number}"

    def count(self) -> int:
        """How many documents there are."""
        return int(self.database.rows(f"select count(*) as n from {self.table}")[0]["n"])


class PGVectorDB(CheckedVectorDB[Collection]):
    """A PostgreSQL database: `conn` (a psycopg connection), `connection_string`, or host, port,
    dbname, username and password.

    `connect_timeout` is in seconds. Collections of up to 5,000 documents and searches with filters
    are exact; larger ones get an HNSW index. Raises ConfigError when a package or the extension
    `vector` is missing, StoreError when the server cannot be used.
    """

    type = "pgvector"

    def __init__(
        self,
        *,
        conn: psycopg.Connection[Any] | None = None,
        connection_string: str | None = None,
        host: str | None = None,
        port: int | str | None = None,
        dbname: str | None = None,
        username: str | None = None,
        password: str | None = None,
        connect_timeout: int | None = 10,
        embedding_function: EmbeddingFunction | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(embedding_function, metadata)
        self._lock = threading.RLock()
        self._owned = conn is None
        parts = {
            "host": host,
            "port": port,
            "dbname": dbname,
            "user": username,
            "password": password,
        }
        given = pick_given(parts)
        self._where: dict[str, Any] = {**given, "connect_timeout": connect_timeout or 0}
        self._address = coalesce(connection_string, "")
        self.conn = conn if conn is not None else self._connect()
        self._set_up()

    def close(self) -> None:
        """Close the connection, unless it was given."""
        if self._owned:
            self.conn.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The result rows of one statement, as dicts."""
        from psycopg.rows import dict_row

        with self._transaction(), self.conn.cursor(row_factory=dict_row) as cursor:
            # Not prepared: a plan that is kept would not see whether an index may be used this
            # time.
            return cursor.execute(sql, values, prepare=False).fetchall()

    def _find(self, name: str) -> Collection | None:
        found = self.rows("select * from agentkit_vector_collections where name = %s", [name])
        if found:
            return Collection(**found[0], database=self)
        return None

    def _make(self, name: str) -> Collection:
        with self._transaction():
            self._execute("select pg_advisory_xact_lock(%s)", [_TURN])
            found = self._find(name)
            if found is None:
                self._execute(
                    "insert into agentkit_vector_collections (name, metric) values (%s, %s)",
                    [name, self.metadata["hnsw:space"]],
                )
                found = self._find(name)
                assert found is not None  # it was written a moment ago
                self._execute(_DOCUMENTS.format(found.table))
        return found

    def _drop(self, collection: Collection) -> None:
        with self._transaction():
            self._execute(f"drop table if exists {collection.table}")
            self._execute(
                "delete from agentkit_vector_collections where number = %s", [collection.number]
            )

    def _metric(self, collection: Collection) -> Metric:
        return collection.metric

    def _dimension(self, collection: Collection) -> int | None:
        return collection.dimension

    def _put(self, collection: Collection, rows: Rows) -> None:
        from psycopg.types.json import Jsonb

        metadatas = [Jsonb(one) if one else None for one in rows.metadatas]
        with self._transaction():
            self._fix_dimension(collection, rows.vectors.shape[1])
            with self.conn.cursor() as cursor:
                cursor.executemany(
                    f"""insert into {collection.table} (id, content, metadata, embedding)
                    values (%s, %s, %s, %s) on conflict (id)
                    do update set content = excluded.content, metadata = excluded.metadata,
                    embedding = excluded.embedding""",
                    list(zip(rows.ids, rows.contents, metadatas, rows.vectors, strict=True)),
                )
            self._index(collection, rows.vectors.shape[1])

    def _take(self, collection: Collection, ids: list[str] | None, vectors: bool) -> list[Document]:
        condition: Condition = ("true", []) if ids is None else ("id = any(%s)", [ids])
        found = self.rows(
            f"select {_columns(vectors)} from {collection.table} where {condition[0]}", condition[1]
        )
        return [_document(row) for row in found]

    def _delete(self, collection: Collection, ids: list[str]) -> None:
        with self._transaction():
            self._execute(f"delete from {collection.table} where id = any(%s)", [ids])

    def _query_nearest(
        self, collection: Collection, vector: np.ndarray, n: int, filters: Filters, vectors: bool
    ) -> list[tuple[Document, float]]:
        operator = _OPERATORS[collection.metric][0]
        condition, values = POSTGRES.condition(filters)
        with self._transaction():
            # An index looks at so many candidates only; what a filter leaves, or many results, is
            # found by comparing with all.
            exact = condition != "true" or 2 * n > _MOST_EFFORT
            self._execute(
                "select set_config('enable_indexscan', %s, true), set_config('hnsw.ef_search', %s,"
                " true)",
                ["off" if exact else "on", str(min(_MOST_EFFORT, max(_EFFORT, 2 * n)))],
            )
            found = self.rows(
                f"""select {_columns(vectors)}, embedding {operator} %s as distance
                from {collection.table}
                where {condition} order by embedding {operator} %s limit %s""",
                [vector, *values, vector, n],
            )
        return [(_document(row), _distance(row["distance"], collection.metric)) for row in found]

    # Parts

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            import psycopg
        except ImportError as error:
            raise ConfigError(f"PostgreSQL's client is not installed; {_INSTALL}") from error
        try:
            return psycopg.connect(self._address, autocommit=True, **self._where)
        except psycopg.Error as error:
            raise StoreError(
                f"PostgreSQL cannot be reached ({str(error).strip()}); check address, user and"
                " password."
            ) from error

    def _set_up(self) -> None:
        import psycopg

        with self._transaction():
            self._execute("select pg_advisory_xact_lock(%s)", [_TURN])
            try:
                if not self.rows("select 1 from pg_extension where extname = 'vector'"):
                    self._execute("create extension vector")
            except psycopg.Error as error:
                raise ConfigError(
                    "PostgreSQL's extension vector is missing and cannot be made"
                    f" ({str(error).strip()}); install pgvector on the server and run `create"
                    " extension vector` as its administrator."
                ) from error
            self._execute(_COLLECTIONS)
            self._register()

    def _register(self) -> None:
        try:
            from pgvector.psycopg import register_vector
        except ImportError as error:
            raise ConfigError(f"pgvector's client is not installed; {_INSTALL}") from error
        register_vector(self.conn)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All of the block or nothing; nested blocks join the outer one. A lost connection is made
        anew.
        """
        import psycopg

        with self._lock:
            if self._owned and self.conn.closed:
                self.conn = self._connect()
                self._register()
            try:
                with self.conn.transaction():
                    yield
            except psycopg.Error as error:
                raise StoreError(f"PostgreSQL failed: {str(error).strip()}.") from error

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        self.conn.execute(sql, values)

    def _fix_dimension(self, collection: Collection, dimension: int) -> None:
        """At the first documents, note the dimension and let the table hold only such vectors."""
        sql = (
            "update agentkit_vector_collections set dimension = %s where number = %s and dimension"
            " is null returning number"
        )
        if self.rows(sql, [dimension, collection.number]):
            self._execute(
                f"alter table {collection.table} alter column embedding type vector({dimension})"
            )

    def _index(self, collection: Collection, dimension: int) -> None:
        """Make the index once there are many documents."""
        many = (
            f"select count(*) as n from (select 1 from {collection.table} limit {EXACT_BELOW + 1})"
            " as first"
        )
        if dimension <= _MOST_INDEXED and self.rows(many)[0]["n"] > EXACT_BELOW:
            operators = _OPERATORS[collection.metric][1]
            name = f"{collection.table}_near"
            if not self.rows("select to_regclass(%s) as found", [name])[0]["found"]:
                self._execute(
                    f"create index {name} on {collection.table} using hnsw (embedding {operators})"
                )


def _columns(vectors: bool) -> str:
    if vectors:
        return "id, content, metadata, embedding"
    return "id, content, metadata"


def _document(row: Mapping[str, Any]) -> Document:
    vector = row.get("embedding")
    return to_document(
        row["id"], row["content"], row["metadata"], None if vector is None else vector.to_numpy()
    )


def _distance(given: float, metric: Metric) -> float:
    """pgvector's `<->` is not squared, its `<#>` is the negative dot product."""
    if metric == "ip":
        return 1 + given
    return given**2 if metric == "l2" else max(0.0, given)


def _cast_value(name: str, cast: str) -> str:
    return f"case when jsonb_typeof(metadata -> %s) = '{name}' then (metadata ->> %s)::{cast} end"


POSTGRES = Dialect(
    mark="%s",
    contains="strpos(content, %s) > 0",
    text=_cast_value("string", "text"),
    number=_cast_value("number", "float8"),
    boolean=_cast_value("boolean", "boolean"),
)
_INSTALL = 'run `pip install "psycopg[binary]" pgvector`, or use the vector database duckdb.'
_COLLECTIONS = """create table if not exists agentkit_vector_collections (
    number bigint generated always as identity primary key, name text not null unique,
    metric text not null, dimension integer)"""
_DOCUMENTS = (
    "create table {} (id text primary key, content text not null, metadata jsonb, embedding vector"
    " not null)"
)
