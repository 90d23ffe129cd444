"""The table of index versions, and which documents of its collection a version has."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentkit.database import Database, Row
from agentkit.messages import new_id
from agentkit.retrieval.store.chunk_table import CHANGES
from agentkit.retrieval.types import IndexVersion, utc_now


class VersionTable:
    """Reading and writing of versions; the owner is checked where a method takes one, else by
    whoever gave the ids.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, version: IndexVersion) -> str:
        """A new version of the collection that is named in it; gives its id. The caller holds a
        transaction.
        """
        version_id = new_id()
        self.database.touch(CHANGES)
        self.database.insert(
            "index_versions",
            {
                "id": version_id,
                "collection_id": version.collection_id,
                "embedder": version.embedder,
                "dimension": version.dimension,
                "details": "{}",
                "state": "active" if version.active else "beside",
                "splitter": json.dumps(
                    {"max_tokens": version.max_tokens, "overlap": version.overlap}
                ),
                "created_at": utc_now(),
            },
        )
        return version_id

    def of(self, collection_id: str) -> list[IndexVersion]:
        """The collection's versions: the one that answers first, then the newest."""
        rows = self.database.rows(
            f"{VERSIONS} from index_versions v where v.collection_id = ? order by v.state,"
            " v.created_at desc, v.id desc",
            [collection_id],
        )
        return [as_version(row) for row in rows]

    def one(self, owner: str, version_id: str) -> IndexVersion | None:
        """The version."""
        sql = (
            f"{VERSIONS} from index_versions v join collections c on c.id = v.collection_id where"
            " c.owner = ? and v.id = ?"
        )
        row = self.database.row(sql, [owner, version_id])
        return as_version(row) if row else None

    def has_version(self, version: IndexVersion) -> bool:
        """Whether the version is still there."""
        return bool(
            self.database.value("select count(*) from index_versions where id = ?", [version.id])
        )

    def counts(self, version: IndexVersion) -> tuple[int, int, int]:
        """Documents that are in the version, documents of the collection that answer and are not,
        and its chunks.
        """
        row = self.database.row(
            f"""select count(distinct document_id) as documents, count(*) as chunks,
            (select count(*) from documents d where d.collection_id = ? and {LACKED}) as missing
            from chunks where version_id = ?""",
            [version.collection_id, version.id, version.id],
        )
        assert row is not None  # an aggregate always has one
        return row["documents"], row["missing"], row["chunks"]

    def promote(self, version: IndexVersion) -> None:
        """Let the version answer instead of the one that does, in one transaction; the caller made
        sure that it is whole.
        """
        with self.database.transaction():
            self.database.touch(CHANGES)
            self.database.execute(
                "update index_versions set state = case when id = ? then 'active' else 'beside' end"
                " where collection_id = ?",
                [version.id, version.collection_id],
            )
            self.database.execute(
                """update documents set version_id = ?, chunks = coalesce(k.chunks, 0),
                tokens = coalesce(k.tokens, 0)
                from (select d.id, count(c.id) as chunks, sum(c.tokens)::bigint as tokens
                from documents d
                    left join chunks c on c.document_id = d.id and c.version_id = ?
                    where d.collection_id = ? group by d.id) k where k.id = documents.id""",
                [version.id, version.id, version.collection_id],
            )

    def remove(self, version: IndexVersion) -> None:
        """Remove the version with its chunks, in the caller's transaction."""
        self.database.touch(CHANGES)
        for table, column in (
            ("chunks", "version_id"),
            ("tombstones", "version_id"),
            ("index_versions", "id"),
        ):
            self.database.execute(f"delete from {table} where {column} = ?", [version.id])

    def probe(self, version: IndexVersion) -> Sequence[float]:
        """What the version's embedder made of the probe text when the version was made; empty when
        that is not known.
        """
        details = self.database.value(
            "select details from index_versions where id = ?", [version.id]
        )
        found: list[float] = json.loads(details or "{}").get("probe", [])
        return found

    def keep_probe(
        self, version: IndexVersion, vector: Sequence[float], precision: str = ""
    ) -> None:
        """Note what the version's embedder makes of the probe text, and what it computes in."""
        with self.database.transaction():
            details = self.database.value(
                "select details from index_versions where id = ?", [version.id]
            )
            noted = {"probe": list(vector), "precision": precision}
            changed = json.dumps({**json.loads(details or "{}"), **noted})
            self.database.execute(
                "update index_versions set details = ? where id = ?", [changed, version.id]
            )


def as_version(row: Row) -> IndexVersion:
    """The version of a row of VERSIONS."""
    splitter = json.loads(row["splitter"])
    return IndexVersion(
        row["id"],
        row["collection_id"],
        row["embedder"],
        row["dimension"],
        int(splitter["max_tokens"]),
        int(splitter.get("overlap", 0)),
        row["state"] == "active",
        row["created_at"],
        str(json.loads(row["details"]).get("precision", "")),
    )


VERSIONS = (
    "select v.id, v.collection_id, v.embedder, v.dimension, v.splitter, v.state, v.created_at,"
    " v.details"
)
LACKED = (
    "d.chunks > 0 and not exists (from chunks k where k.version_id = ? and k.document_id = d.id)"
)
