"""The tables of the embedded vector database; the only SQL of it.

A document's number is also the number of the change that wrote it, from one sequence with the
removals: what has seen all changes up to a number catches up with those that are greater. Writes
take turns, so the numbers become visible in their order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentkit.agents.retrieve_chat.vectordb.base import Document
from agentkit.agents.retrieve_chat.vectordb.checked import Rows, to_document
from agentkit.agents.retrieve_chat.vectordb.filters import Condition, Dialect
from agentkit.database import Database, to_array
from agentkit.messages import new_id
from agentkit.retrieval.index.graph import Metric

if TYPE_CHECKING:
    import numpy as np

EVERYTHING: Condition = ("true", [])


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection; several made one after the other with the same name have different ids."""

    id: str
    name: str
    metric: Metric
    dimension: int | None
    """Numbers in its vectors when it was looked up; None while it never had any."""
    tables: Tables

    def count(self) -> int:
        """How many documents there are."""
        return self.tables.count(self)


class Tables:
    """Collections and documents; share it between threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.migrate("vectordb", (create_tables,))

    def collection(self, name: str) -> Collection | None:
        """The collection of that name."""
        row = self.database.row(
            "select id, name, metric, dimension from vector_collections where name = ?", [name]
        )
        if row:
            return Collection(**row, tables=self)
        return None

    def add_collection(self, name: str, metric: Metric) -> Collection:
        """A new collection; the one that is there, if somebody was faster."""
        with self.database.transaction():
            found = self.collection(name)
            if found is None:
                found = Collection(new_id(), name, metric, None, self)
                self.database.insert(
                    "vector_collections", {"id": found.id, "name": name, "metric": metric}
                )
        return found

    def drop_collection(self, collection: Collection) -> None:
        """Remove it with all in it."""
        with self.database.transaction():
            for table in ("vector_documents", "vector_removals"):
                self.database.execute(
                    f"delete from {table} where collection_id = ?", [collection.id]
                )
            self.database.execute("delete from vector_collections where id = ?", [collection.id])

    def count(self, collection: Collection) -> int:
        """How many documents there are."""
        return int(
            self.database.value(
                "select count(*) from vector_documents where collection_id = ?", [collection.id]
            )
        )

    def put(self, collection: Collection, rows: Rows) -> None:
        """Write documents in place of those of the same ids, in one transaction."""
        import numpy as np
        import pyarrow

        count, dimension = rows.vectors.shape
        with self.database.transaction():
            self._remove(collection, rows.ids)
            numbers = self.database.rows(
                "select nextval('vector_changes') as number from range(?)", [count]
            )
            starts = np.arange(count + 1, dtype=np.int32) * dimension
            columns: dict[str, Any] = {
                "number": sorted(row["number"] for row in numbers),
                "collection_id": [collection.id] * count,
                "id": rows.ids,
                "content": rows.contents,
                "metadata": pyarrow.array(
                    [json.dumps(one) if one else None for one in rows.metadatas], pyarrow.string()
                ),
                "embedding": pyarrow.ListArray.from_arrays(starts, rows.vectors.ravel()),
            }
            self.database.insert_arrow("vector_documents", pyarrow.table(columns))
            sql = (
                "update vector_collections set dimension = ?, change = currval('vector_changes')"
                " where id = ?"
            )
            self.database.execute(sql, [dimension, collection.id])

    def remove(self, collection: Collection, ids: Sequence[str]) -> None:
        """Remove documents and note it for the index, in one transaction."""
        sql = "update vector_collections set change = nextval('vector_changes') where id = ?"
        with self.database.transaction():
            self._remove(collection, ids)
            self.database.execute(sql, [collection.id])

    def documents(
        self, collection: Collection, condition: Condition, vectors: bool
    ) -> dict[int, Document]:
        """The documents that fulfil the condition, by number; with their vectors if wanted."""
        rows = self.database.rows(
            f"""select number, id, content, metadata {", embedding" if vectors else ""}
            from vector_documents
            where collection_id = ? and {condition[0]}""",
            [collection.id, *condition[1]],
        )
        return {
            row["number"]: to_document(
                row["id"],
                row["content"],
                json.loads(row["metadata"] or "null"),
                row.get("embedding"),
            )
            for row in rows
        }

    def vectors(
        self, collection: Collection, condition: Condition, limit: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (n), rising, and vectors (n, dimension) of the documents that fulfil the
        condition.
        """
        found = self.database.arrow(
            f"""select number, embedding from vector_documents where collection_id = ?
            and {condition[0]}
            order by number {"" if limit is None else f"limit {limit}"}""",
            [collection.id, *condition[1]],
        )
        numbers = to_array(found.column("number"))
        flat = to_array(found.column("embedding").combine_chunks().flatten())
        return numbers, flat.reshape(len(numbers), -1 if len(numbers) else 0)

    def numbers(self, collection: Collection, condition: Condition) -> np.ndarray:
        """Numbers, rising, of the documents that fulfil the condition."""
        sql = (
            f"select number from vector_documents where collection_id = ? and {condition[0]} order"
            " by number"
        )
        return self.database.column(sql, [collection.id, *condition[1]])

    def last_change(self, collection: Collection) -> int:
        """The number of the last change to its documents."""
        return int(
            self.database.value(
                "select change from vector_collections where id = ?", [collection.id]
            )
            or 0
        )

    def read_removed(self, collection: Collection, after: int, until: int) -> list[int]:
        """Numbers of the documents removed after one change and until another."""
        sql = (
            "select number from vector_removals where collection_id = ? and change > ? and change"
            " <= ?"
        )
        return [row["number"] for row in self.database.rows(sql, [collection.id, after, until])]

    def forget_removed(self, collection: Collection, until: int) -> None:
        """Drop the notes of removals that whoever follows has seen."""
        sql = "delete from vector_removals where collection_id = ? and change <= ?"
        with self.database.transaction():
            self.database.execute(sql, [collection.id, until])

    def _remove(self, collection: Collection, ids: Sequence[str]) -> None:
        condition, values = with_ids(ids)
        chosen = f"from vector_documents where collection_id = ? and {condition}"
        self.database.execute(
            "insert into vector_removals select nextval('vector_changes'), collection_id, number"
            f" {chosen}",
            [collection.id, *values],
        )
        self.database.execute(f"delete {chosen}", [collection.id, *values])


def with_ids(ids: Sequence[str]) -> Condition:
    """The documents of these ids."""
    return "id in (select unnest(?::varchar[]))", [
        list(ids)
    ]  # one value: a plan with thousands of marks is slow to prepare


def with_numbers(numbers: Sequence[int]) -> Condition:
    """The documents of these numbers."""
    listed = ", ".join(map(str, map(int, numbers))) or "null"
    return f"number in ({listed})", []


def create_tables(database: Database) -> None:
    """Version 1. No unique constraints: the one writer checks, and DuckDB would keep each such
    index in memory.
    """
    for statement in _TABLES:
        database.execute(statement)


def _pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _cast_value(names: str, cast: str) -> str:
    return (
        f"case when json_type(metadata, ?) in ({names}) then json_extract_string(metadata,"
        f" ?)::{cast} end"
    )


DUCKDB = Dialect(
    mark="?",
    contains="contains(content, ?)",
    text=_cast_value("'VARCHAR'", "varchar"),
    number=_cast_value("'UBIGINT', 'BIGINT', 'DOUBLE', 'HUGEINT'", "double"),
    boolean=_cast_value("'BOOLEAN'", "boolean"),
    key=_pointer,
)
_TABLES = (
    "create sequence vector_changes start 1",
    """create table vector_collections (id varchar not null, name varchar not null,
    metric varchar not null, dimension integer,
        change bigint not null default 0)""",
    """create table vector_documents (number bigint not null, collection_id varchar not null,
    id varchar not null,
        content varchar not null, metadata json, embedding float[] not null)""",
    (
        "create table vector_removals (change bigint not null, collection_id varchar not null,"
        " number bigint not null)"
    ),
)
