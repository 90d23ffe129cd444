"""Collections, documents and chunks in the database: the only SQL of retrieval, the truth that indexes follow.

Methods that take an owner see nothing of others; the rest take ids that such a method gave.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentkit.database import Database, Row
from agentkit.documents import Piece
from agentkit.messages import new_id
from agentkit.retrieval.chunk_table import ChunkTable, marks
from agentkit.retrieval.schema import MIGRATIONS
from agentkit.retrieval.types import Collection, IndexVersion, StoredDocument, utc_now

if TYPE_CHECKING:
    import numpy as np

UNFINISHED = ("waiting", "parse", "split", "embed", "commit", "index")
KEPT = "Answers still come from the version that was taken in before."
INTERRUPTED = "The program ended while this document was taken in; press retry."


@dataclass(frozen=True, slots=True)
class Finished:
    """A document that is ready to be stored, with one vector (row of `vectors`) for each piece."""

    document: StoredDocument
    text: str
    pieces: Sequence[Piece]
    vectors: np.ndarray


Documents = dict[str, StoredDocument]


class Store:
    """The tables; share it between threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.chunk_table = ChunkTable(database)
        database.migrate("retrieval", MIGRATIONS)

    # Collections

    def collections(self, owner: str, hidden: bool) -> list[Collection]:
        """The owner's collections by name."""
        return [
            Collection(**row)
            for row in self.database.rows(f"{_COLLECTIONS} and hidden = ? order by lower(c.name)", [owner, hidden])
        ]

    def collection(self, owner: str, name: str) -> Collection | None:
        """The collection of that name."""
        row = self.database.row(f"{_COLLECTIONS} and c.name = ?", [owner, name])
        return Collection(**row) if row else None

    def add_collection(self, owner: str, name: str, hidden: bool, embedder: str, dimension: int, max_tokens: int) -> None:
        """A new, empty collection with its first index version; the caller holds a transaction and has checked the name."""
        now, collection_id = utc_now(), new_id()
        self.database.insert(
            "collections", {"id": collection_id, "owner": owner, "name": name, "hidden": hidden, "created_at": now}
        )
        self.database.insert("index_versions", {
            "id": new_id(), "collection_id": collection_id, "embedder": embedder, "dimension": dimension,
            "splitter": json.dumps({"max_tokens": max_tokens}), "details": "{}", "state": "active", "created_at": now,
        })  # fmt: skip

    def rename_collection(self, collection_id: str, name: str) -> None:
        """Change the name; the caller has checked it."""
        self.database.execute("update collections set name = ? where id = ?", [name, collection_id])

    def delete_collection(self, collection_id: str) -> list[str]:
        """Remove a collection with all in it; gives the sha256 of the originals that nobody needs any more."""
        inside = "(select id from documents where collection_id = ?)"
        with self.database.transaction():
            contents = self._contents(
                self.database.rows("select sha256, pending_sha256 from documents where collection_id = ?", [collection_id])
            )
            self.database.execute(f"delete from texts where document_id in {inside}", [collection_id])
            self.database.execute(f"delete from chunks where document_id in {inside}", [collection_id])
            self.database.execute(
                "delete from tombstones where version_id in (select id from index_versions where collection_id = ?)",
                [collection_id],
            )
            for table in ("documents", "index_versions"):
                self.database.execute(f"delete from {table} where collection_id = ?", [collection_id])
            self.database.execute("delete from collections where id = ?", [collection_id])
            return self._unused(contents)

    def version(self, collection_id: str) -> IndexVersion:
        """The version that answers."""
        row = self.database.row(f"{_VERSIONS} where collection_id = ? and state = 'active'", [collection_id])
        assert row is not None  # a collection is made together with its version
        return _version(row)

    def version_named(self, owner: str, name: str) -> IndexVersion | None:
        """The version that answers for the collection of that name."""
        row = self.database.row(
            f"{_VERSIONS} join collections c on c.id = v.collection_id where c.owner = ? and c.name = ? and v.state = 'active'",
            [owner, name],
        )
        return _version(row) if row else None

    def versions(self) -> list[IndexVersion]:
        """All versions of all owners, for maintenance."""
        return [_version(row) for row in self.database.rows(_VERSIONS)]

    # Documents

    def documents(self, collection_id: str, search: str = "") -> list[StoredDocument]:
        """The documents whose name, title or source contains `search`, newest first."""
        sql = f"{_DOCUMENTS} where d.collection_id = ? and (? = '' or {_FOUND}) order by d.created_at desc, d.id desc"
        rows = self.database.rows(sql, [collection_id, search, *[search.lower()] * 3])
        return [StoredDocument(**row) for row in rows]

    def document(self, owner: str, document_id: str) -> StoredDocument | None:
        """The document."""
        row = self.database.row(f"{_DOCUMENTS} {_OWNED} and d.id = ?", [owner, document_id])
        return StoredDocument(**row) if row else None

    def pending_content(self, document_id: str) -> str:
        """The sha256 of the content that was to be taken in last, whether that worked or not."""
        return str(self.database.value("select pending_sha256 from documents where id = ?", [document_id]) or "")

    def known(self, version: IndexVersion, sources: Sequence[str], contents: Sequence[str]) -> tuple[Documents, Documents]:
        """The collection's documents that came from one of the sources, by source; and those of this version that
        are indexed with one of the contents, by sha256."""
        if not sources:
            return {}, {}
        inside = f"{_DOCUMENTS} where d.collection_id = ?"
        came = self.database.rows(f"{inside} and d.source in ({marks(sources)})", [version.collection_id, *sources])
        same = self.database.rows(
            f"{inside} and d.version_id = ? and d.status = 'indexed' and d.sha256 in ({marks(contents)})",
            [version.collection_id, version.id, *contents],
        )
        return {row["source"]: StoredDocument(**row) for row in came}, {row["sha256"]: StoredDocument(**row) for row in same}

    def register(self, version: IndexVersion, new: Sequence[StoredDocument], again: Sequence[StoredDocument]) -> None:
        """Note that these documents, with the content of their `sha256`, are about to be taken in.

        Of those that are there already, what answers goes on doing so meanwhile.
        """
        import pyarrow

        if new:
            rows = [_document_row(version, document, "") for document in new]
            self.database.insert_arrow("documents", pyarrow.Table.from_pylist(rows))
        for document in again:
            self.database.execute(
                """update documents set pending_sha256 = ?, updated_at = ?, error = '', note = '',
                status = case when chunks > 0 and status = 'indexed' then status else ? end where id = ?""",
                [document.sha256, utc_now(), document.status, document.id],
            )

    def close_document(self, document_id: str, status: str, error: str, seconds: float) -> None:
        """Say that taking the document in `failed` or was `stopped`."""
        with self.database.transaction():
            self.database.execute(
                """update documents set status = case when chunks > 0 and ? = 'stopped' then 'indexed' else ? end, error = ?,
                seconds = ?, updated_at = ?, note = case when chunks > 0 then ? else '' end where id = ?""",
                [status, status, error, seconds, utc_now(), KEPT, document_id],
            )

    def replace(self, version: IndexVersion, group: Sequence[Finished]) -> set[str]:
        """Store documents with all that belongs to them, in place of what they had before, in one transaction.

        Gives the ids of those that were stored: one that was deleted meanwhile stays deleted.
        """
        with self.database.transaction():
            ids = [finished.document.id for finished in group]
            present = {row["id"] for row in self.database.rows(f"select id from documents where id in ({marks(ids)})", ids)}
            kept = [finished for finished in group if finished.document.id in present]
            if kept:
                self._remove(sorted(present))
                self._insert(version, kept)
        return present

    def delete_documents(self, owner: str, ids: Sequence[str]) -> tuple[int, list[str]]:
        """Remove documents; gives how many there were, and the sha256 of originals that nobody needs any more."""
        if not ids:
            return 0, []
        with self.database.transaction():
            rows = self.database.rows(
                f"select d.id, d.sha256, d.pending_sha256 from documents d {_OWNED} and d.id in ({marks(ids)})", [owner, *ids]
            )
            if rows:
                self._remove([row["id"] for row in rows])
            return len(rows), self._unused(self._contents(rows))

    def forget_document(self, document_id: str) -> None:
        """Remove a document within the caller's transaction."""
        self._remove([document_id])

    def kept_contents(self) -> list[tuple[str, str]]:
        """Name and sha256 of every document with an original, of all owners, for maintenance."""
        rows = self.database.rows("select name, sha256 from documents where sha256 <> '' and source not like 'memory:%'")
        return [(row["name"], row["sha256"]) for row in rows]

    def interrupt_orphans(self) -> int:
        """Mark documents that a dead process left unfinished; gives how many there were."""
        rows = self.database.rows(f"select id from documents where status in ({marks(UNFINISHED)})", UNFINISHED)
        with self.database.transaction():
            for row in rows:
                self.close_document(row["id"], "failed", INTERRUPTED, 0.0)
        return len(rows)

    def text(self, document_id: str) -> str | None:
        """The whole text that was read from the document."""
        found: str | None = self.database.value("select text from texts where document_id = ?", [document_id])
        return found

    def _remove(self, ids: Sequence[str]) -> None:
        self.chunk_table.remove(ids)
        for table, column in (("texts", "document_id"), ("documents", "id")):
            self.database.execute(f"delete from {table} where {column} in ({marks(ids)})", ids)

    def _insert(self, version: IndexVersion, group: Sequence[Finished]) -> None:
        import numpy as np
        import pyarrow

        rows = [_document_row(version, finished.document, finished.document.sha256) for finished in group]
        self.database.insert_arrow("documents", pyarrow.Table.from_pylist(rows))
        texts = {"document_id": [finished.document.id for finished in group], "text": [finished.text for finished in group]}
        self.database.insert_arrow("texts", pyarrow.table(texts))
        pieces = [(finished.document.id, number, piece) for finished in group for number, piece in enumerate(finished.pieces)]
        if pieces:
            self.chunk_table.insert(version, pieces, np.concatenate([finished.vectors for finished in group]))

    def _contents(self, rows: Sequence[Row]) -> set[str]:
        return {row[name] for row in rows for name in ("sha256", "pending_sha256")} - {""}

    def _unused(self, contents: set[str]) -> list[str]:
        """Those contents that no document refers to."""
        if not contents:
            return []
        given = sorted(contents)
        some = marks(given)
        used = f"select sha256, pending_sha256 from documents where sha256 in ({some}) or pending_sha256 in ({some})"
        return sorted(contents - self._contents(self.database.rows(used, [*given, *given])))


def _document_row(version: IndexVersion, document: StoredDocument, answers: str) -> Row:
    """The row of a document whose content `answers`; the content of its `sha256` is the one last given."""
    row = dataclasses.asdict(document)
    return {**row, "version_id": version.id, "pending_sha256": document.sha256, "sha256": answers}


def _version(row: Row) -> IndexVersion:
    return IndexVersion(
        row["id"], row["collection_id"], row["embedder"], row["dimension"], int(json.loads(row["splitter"])["max_tokens"])
    )


_COLLECTIONS = """select c.id, c.owner, c.name, c.created_at, c.hidden,
    (select count(*) from documents d where d.collection_id = c.id) as documents,
    (select coalesce(sum(d.chunks), 0)::bigint from documents d where d.collection_id = c.id) as chunks,
    (select v.embedder from index_versions v where v.collection_id = c.id and v.state = 'active') as embedder
    from collections c where c.owner = ?"""
_VERSIONS = "select v.id, v.collection_id, v.embedder, v.dimension, v.splitter from index_versions v"
_DOCUMENT = ", ".join(f"d.{field.name}" for field in dataclasses.fields(StoredDocument))
_DOCUMENTS = f"select {_DOCUMENT} from documents d"
_OWNED = "join collections c on c.id = d.collection_id where c.owner = ?"
_FOUND = "contains(lower(d.name), ?) or contains(lower(d.title), ?) or contains(lower(d.source), ?)"
