"""Collections, documents and chunks in the database: the truth that indexes follow. Parts of it
with tables of their own stand beside it.

Methods that take an owner see nothing of others; the rest take ids that such a method gave.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from agentkit.database import Database, Row, columns
from agentkit.documents import Piece
from agentkit.errors import NotFound
from agentkit.messages import new_id
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.chunk_table import CHANGES, LISTED, ChunkTable, marks
from agentkit.retrieval.store.schema import FIELDS, MIGRATIONS, document_table
from agentkit.retrieval.store.scoping import document_condition
from agentkit.retrieval.store.tag_table import TagTable
from agentkit.retrieval.store.version_table import LACKED, VERSIONS, VersionTable, as_version
from agentkit.retrieval.types import Collection, IndexVersion, Scope, StoredDocument, utc_now

if TYPE_CHECKING:
    import numpy as np

UNFINISHED = ("waiting", "parse", "split", "prepare", "embed", "commit", "index")
KEPT = "Answers still come from the version that was taken in before."
_DELETED = "The collection was deleted meanwhile."
INTERRUPTED = "The program ended while this document was taken in; press retry."


@dataclass(frozen=True, slots=True)
class Finished:
    """A document that is ready to be stored, with one vector (row of `vectors`) for each piece."""

    document: StoredDocument
    text: str
    pieces: Sequence[Piece]
    vectors: np.ndarray
    sections: str = ""
    """The sections of the text as `sections.pack` writes them; empty when they are not known."""


Documents = dict[str, StoredDocument]
Twins = dict[str, list[StoredDocument]]


class Store:
    """The tables; share it between threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.chunk_table = ChunkTable(database)
        self.version_table = VersionTable(database)
        self.tag_table = TagTable(database)
        database.migrate("retrieval", MIGRATIONS)
        self._searched: tuple[
            int, dict[tuple[str, str], tuple[IndexVersion, SearchOptions] | None]
        ] = (-1, {})

    # Collections

    def collections(self, owner: str, hidden: bool) -> list[Collection]:
        """The owner's collections by name."""
        sql = f"{_COLLECTIONS} and hidden = ? order by lower(c.name)"
        return [Collection(**row) for row in self._remember(sql, [owner, hidden])]

    def collection(self, owner: str, name: str) -> Collection | None:
        """The collection of that name."""
        found = self._remember(f"{_COLLECTIONS} and c.name = ?", [owner, name])
        return Collection(**found[0]) if found else None

    def _remember(self, sql: str, values: Sequence[object]) -> list[Row]:
        """What is told of collections, looked up once until something of it changes."""
        return self.database.remembered.rows(_TOLD_OF, sql, values)

    def add_collection(self, owner: str, name: str, hidden: bool, version: IndexVersion) -> None:
        """A new, empty collection with a first index version like the given one, whose ids do not
        count.

        The caller holds a transaction and has checked the name.
        """
        collection_id = new_id()
        self.database.insert(
            "collections",
            {
                "id": collection_id,
                "owner": owner,
                "name": name,
                "hidden": hidden,
                "created_at": utc_now(),
            },
        )
        self.version_table.add(
            dataclasses.replace(version, collection_id=collection_id, active=True)
        )

    def rename_collection(self, collection_id: str, name: str) -> None:
        """Change the name, in the caller's transaction, who has checked it."""
        self.database.touch(CHANGES)
        self.database.execute("update collections set name = ? where id = ?", [name, collection_id])

    def delete_collection(self, collection_id: str) -> set[str]:
        """Remove a collection with all in it; gives the sha256 of the originals that it had."""
        inside = "(select id from documents where collection_id = ?)"
        with self.database.transaction():
            self.database.touch(CHANGES)
            contents = self._collect_contents(
                self.database.rows(
                    "select sha256, pending_sha256 from documents where collection_id = ?",
                    [collection_id],
                )
            )
            self.database.execute(
                f"delete from texts where document_id in {inside}", [collection_id]
            )
            self.database.execute(
                f"delete from chunks where document_id in {inside}", [collection_id]
            )
            self.database.execute(
                "delete from tombstones where version_id in (select id from index_versions where"
                " collection_id = ?)",
                [collection_id],
            )
            for table in ("documents", "index_versions"):
                self.database.execute(
                    f"delete from {table} where collection_id = ?", [collection_id]
                )
            self.database.execute("delete from collections where id = ?", [collection_id])
            return contents

    def find_searched(self, owner: str, name: str) -> tuple[IndexVersion, SearchOptions] | None:
        """The version that answers for the collection of that name, and how it is searched; kept
        until something changes.
        """
        if self.database.in_transaction:
            return self._look_up_searched(owner, name)  # which may yet be taken back
        revision = self.database.revision(CHANGES)
        if self._searched[0] != revision:
            self._searched = revision, {}
        known = self._searched[1]
        if (owner, name) not in known:
            known[owner, name] = self._look_up_searched(owner, name)
        return known[owner, name]

    def _look_up_searched(self, owner: str, name: str) -> tuple[IndexVersion, SearchOptions] | None:
        row = self.database.row(
            f"""{VERSIONS}, c.settings from index_versions v join collections c
            on c.id = v.collection_id
            where c.owner = ? and c.name = ? and v.state = 'active'""",
            [owner, name],
        )
        if row:
            return (as_version(row), SearchOptions.from_json(row["settings"] or "{}"))
        return None

    def set_options(self, collection_id: str, options: SearchOptions) -> None:
        """Keep how the collection is searched."""
        with self.database.transaction():
            self.database.touch(CHANGES)
            self.database.execute(
                "update collections set settings = ? where id = ?",
                [options.to_json(), collection_id],
            )

    def version(self, collection_id: str) -> IndexVersion:
        """The version that answers; raises NotFound when the collection was deleted meanwhile."""
        row = self.database.row(
            f"{VERSIONS} from index_versions v where collection_id = ? and state = 'active'",
            [collection_id],
        )
        if row is None:
            raise NotFound(_DELETED)
        return as_version(row)

    def versions(self) -> list[IndexVersion]:
        """All versions of all owners, for maintenance."""
        return [as_version(row) for row in self.database.rows(f"{VERSIONS} from index_versions v")]

    # Documents

    def find_missing(self, version: IndexVersion) -> list[StoredDocument]:
        """The documents of the collection that answer and have no chunks in the version, oldest
        first.
        """
        sql = f"{_DOCUMENTS} where d.collection_id = ? and {LACKED} order by d.created_at, d.id"
        return [
            _to_document(row)
            for row in self.database.rows(sql, [version.collection_id, version.id])
        ]

    def documents(self, collection_id: str, search: str = "") -> list[StoredDocument]:
        """The documents whose name, title or source contains `search`, newest first."""
        sql = (
            f"{_DOCUMENTS} where d.collection_id = ? and (? = '' or {_FOUND}) order by d.created_at"
            " desc, d.id desc"
        )
        rows = self.database.rows(sql, [collection_id, *[search] * 4])
        return [_to_document(row) for row in rows]

    def documents_within(self, version: IndexVersion, scope: Scope) -> list[StoredDocument]:
        """The collection's documents that have a text and lie in the scope, oldest first."""
        inside, values = document_condition(version, scope)
        has_text = "exists (from texts t where t.document_id = d.id)"
        sql = f"{_DOCUMENTS} where {has_text} and {inside} order by d.created_at, d.id"
        return [_to_document(row) for row in self.database.rows(sql, values)]

    def document(self, owner: str, document_id: str) -> StoredDocument | None:
        """The document."""
        row = self.database.row(f"{_DOCUMENTS} {_OWNED} and d.id = ?", [owner, document_id])
        return _to_document(row) if row else None

    def read_pending(self, document_id: str) -> str:
        """The sha256 of the content that was to be taken in last, whether that worked or not."""
        return str(
            self.database.value("select pending_sha256 from documents where id = ?", [document_id])
            or ""
        )

    def copies(self, collection_id: str) -> dict[str, str]:
        """The name of the oldest document with the same content, by the id of each of the others
        that have it.
        """
        rows = self.database.rows(
            """select id, first_value(name) over same as first from documents
            where collection_id = ? and sha256 <> '' window same as (partition by sha256
            order by created_at, id)
            qualify row_number() over same > 1""",
            [collection_id],
        )
        return {row["id"]: row["first"] for row in rows}

    def find_known(
        self, version: IndexVersion, sources: Sequence[str], contents: Sequence[str]
    ) -> tuple[Documents, Twins]:
        """The collection's documents that came from one of the sources, by source; and those of
        this version that are indexed with one of the contents, by sha256, oldest first.
        """
        if not sources:
            return {}, {}
        inside = f"{_DOCUMENTS} where d.collection_id = ?"
        came = self.database.rows(
            f"{inside} and d.source in ({marks(sources)})", [version.collection_id, *sources]
        )
        same = self.database.rows(
            f"""{inside} and d.version_id = ? and d.status = 'indexed'
            and d.sha256 in ({marks(contents)})
            order by d.created_at, d.id""",
            [version.collection_id, version.id, *contents],
        )
        twins: Twins = {}
        for row in same:
            twins.setdefault(row["sha256"], []).append(_to_document(row))
        return {row["source"]: _to_document(row) for row in came}, twins

    def register(
        self, version: IndexVersion, new: Sequence[StoredDocument], again: Sequence[StoredDocument]
    ) -> set[str]:
        """Note that these documents, with the content of their `sha256`, are about to be taken in.

        Of those that are there already, what answers goes on doing so meanwhile; gives the sha256
        of what was given before and failed. Raises NotFound when the collection was deleted.
        """
        if not self.version_table.has_version(version):
            raise NotFound(_DELETED)
        ended = "select sha256, pending_sha256 from documents where status in ('failed', 'stopped')"
        ids = [one.id for one in again if one.sha256]
        rows = self.database.rows(f"{ended} and id in {LISTED}", [ids]) if ids else []
        if new:
            self.database.insert_arrow(
                "documents", document_table(version, new, answers=[""] * len(new))
            )
        for document in again:
            self.database.execute(
                """update documents set pending_sha256 = ?, updated_at = ?, error = '', note = '',
                status = case when chunks > 0 and status = 'indexed' then status else ? end
                where id = ?""",
                [document.sha256, utc_now(), document.status, document.id],
            )
        return self._collect_contents(rows)

    def close_document(self, document_id: str, status: str, error: str, seconds: float) -> None:
        """Say that taking the document in `failed` or was `stopped`."""
        with self.database.transaction():
            self.database.execute(
                """update documents set status = case when chunks > 0 and ? = 'stopped'
                then 'indexed' else ? end, error = ?,
                seconds = ?, updated_at = ?, note = case when chunks > 0 then ? else '' end
                where id = ?""",
                [status, status, error, seconds, utc_now(), KEPT, document_id],
            )

    def replace(
        self, version: IndexVersion, group: Sequence[Finished]
    ) -> tuple[set[str], set[str]]:
        """Store documents with all that belongs to them, in place of what they had before, in one
        transaction: one that was deleted meanwhile stays deleted.

        Gives the ids of those that were stored, and the sha256 of what they had before.
        """
        with self.database.transaction():
            rows = self.database.rows(
                f"select id, tags, sha256 from documents where id in {LISTED}",
                [[finished.document.id for finished in group]],
            )
            tags = {row["id"]: tuple(row["tags"]) for row in rows}
            kept = [
                _with_tags(finished, tags[finished.document.id])
                for finished in group
                if finished.document.id in tags
            ]
            if kept:
                self._remove(sorted(tags))
                self._insert(version, kept)
        return set(tags), {row["sha256"] for row in rows} - {""}

    def extend(self, version: IndexVersion, group: Sequence[Finished]) -> set[str]:
        """Store the chunks of documents in a version that does not answer, in one transaction;
        nothing else changes.

        Gives the ids of those that were stored: not those that were deleted or replaced meanwhile
        or are in the version already. Raises NotFound when the version was discarded meanwhile.
        """
        with self.database.transaction():
            if not self.version_table.has_version(version):
                raise NotFound("The index version was discarded while it was built.")
            ids = [finished.document.id for finished in group]
            rows = self.database.rows(
                f"""select d.id, d.sha256 from documents d where d.id in ({marks(ids)})
                and not exists (from chunks k where k.version_id = ? and k.document_id = d.id)""",
                [*ids, version.id],
            )
            contents = {row["id"]: row["sha256"] for row in rows}
            kept = [
                finished
                for finished in group
                if contents.get(finished.document.id) == finished.document.sha256
            ]
            self._insert_chunks(version, kept)
        return {finished.document.id for finished in kept}

    def delete_documents(self, owner: str, ids: Sequence[str]) -> tuple[int, set[str]]:
        """Remove documents; gives how many there were, and the sha256 of their originals."""
        if not ids:
            return 0, set()
        with self.database.transaction():
            rows = self.database.rows(
                f"select d.id, d.sha256, d.pending_sha256 from documents d {_OWNED} and d.id in"
                f" {LISTED}",
                [owner, list(ids)],
            )
            if rows:
                self._remove([row["id"] for row in rows])
            return len(rows), self._collect_contents(rows)

    def forget_document(self, document_id: str) -> None:
        """Remove a document within the caller's transaction."""
        self._remove([document_id])

    def originals(self) -> list[tuple[str, str, str]]:
        """Sha256 of each original, collection and name of a document that needs it, of all
        owners.
        """
        rows = self.database.rows(_ORIGINALS)
        return [(row["sha256"], row["collection"], row["name"]) for row in rows]

    def interrupt_orphans(self) -> int:
        """Mark documents that a dead process left unfinished; gives how many there were."""
        rows = self.database.rows(
            f"select id from documents where status in ({marks(UNFINISHED)})", UNFINISHED
        )
        with self.database.transaction():
            for row in rows:
                self.close_document(row["id"], "failed", INTERRUPTED, 0.0)
        return len(rows)

    def count_new(self, collection_ids: Sequence[str], since: datetime) -> tuple[int, int]:
        """How many documents of these collections are being taken in, and how many have come in
        since then (UTC without zone).
        """
        row = self.database.row(
            f"""select count(*) filter (status in ({marks(UNFINISHED)})) as under_way,
            count(*) filter (status = 'indexed' and updated_at > ?) as come
            from documents where list_contains(?, collection_id)""",
            [*UNFINISHED, since, list(collection_ids)],
        )
        return (row["under_way"], row["come"]) if row else (0, 0)

    def text(self, document_id: str) -> str | None:
        """The whole text that was read from the document."""
        found: str | None = self.database.value(
            "select text from texts where document_id = ?", [document_id]
        )
        return found

    def read_text(self, document_id: str, sha256: str = "") -> tuple[str, str] | None:
        """That text, and its sections as `sections.pack` writes them (empty when they are not
        known).

        With `sha256` only if it is of the document's content still.
        """
        row = self.database.row(
            """select text, sections from texts t where document_id = ?
            and (? = '' or exists (from documents d where d.id = t.document_id
            and d.sha256 = ?))""",
            [document_id, sha256, sha256],
        )
        if row:
            return (row["text"], row["sections"] or "")
        return None

    def keep_sections(self, document_id: str, sha256: str, sections: str) -> None:
        """Note the sections of a document that was taken in before they were kept, unless it has
        changed since.
        """
        with self.database.transaction():
            self.database.execute(
                """update texts set sections = ? where document_id in
                (select id from documents where id = ? and sha256 = ?)""",
                [sections, document_id, sha256],
            )

    def _remove(self, ids: Sequence[str]) -> None:
        self.chunk_table.remove(ids)
        for table, column in (("texts", "document_id"), ("documents", "id")):
            self.database.execute(f"delete from {table} where {column} in {LISTED}", [list(ids)])

    def _insert(self, version: IndexVersion, group: Sequence[Finished]) -> None:
        import pyarrow

        documents = [finished.document for finished in group]
        answers = [document.sha256 for document in documents]
        self.database.insert_arrow("documents", document_table(version, documents, answers))
        texts = {
            "document_id": columns.texts([document.id for document in documents]),
            "text": columns.texts([finished.text for finished in group]),
            "sections": columns.texts([finished.sections or None for finished in group]),
        }
        self.database.insert_arrow("texts", pyarrow.table(texts))
        self._insert_chunks(version, group)

    def _insert_chunks(self, version: IndexVersion, group: Sequence[Finished]) -> None:
        import numpy as np

        pieces = [
            (finished.document.id, number, piece)
            for finished in group
            for number, piece in enumerate(finished.pieces)
        ]
        if pieces:
            self.chunk_table.insert(
                version, pieces, np.concatenate([finished.vectors for finished in group])
            )

    def _collect_contents(self, rows: Sequence[Row]) -> set[str]:
        return {row[name] for row in rows for name in ("sha256", "pending_sha256")} - {""}

    def find_unused(self, contents: set[str]) -> list[str]:
        """Those of the originals, by their sha256, that no document needs."""
        if not contents:
            return []
        given = sorted(contents)
        used = (
            f"select sha256, pending_sha256 from documents where sha256 in {LISTED} or"
            f" pending_sha256 in {LISTED}"
        )
        return sorted(contents - self._collect_contents(self.database.rows(used, [given, given])))


def _with_tags(finished: Finished, tags: tuple[str, ...]) -> Finished:
    document = dataclasses.replace(finished.document, tags=tags)
    return dataclasses.replace(finished, document=document)


def _to_document(row: Row) -> StoredDocument:
    return StoredDocument(**{**row, "tags": tuple(row["tags"])})


_COLLECTIONS = """select c.id, c.owner, c.name, c.created_at, c.hidden,
    (select count(*) from documents d where d.collection_id = c.id) as documents,
    (select coalesce(sum(d.chunks), 0)::bigint from documents d where d.collection_id = c.id)
    as chunks,
    (select v.embedder from index_versions v where v.collection_id = c.id and v.state = 'active')
    as embedder
    from collections c where c.owner = ?"""
_TOLD_OF = ("collections", "documents", "index_versions")
"""The tables that this is read of."""
_DOCUMENT = ", ".join(f"d.{name}" for name in FIELDS)
_DOCUMENTS = f"select {_DOCUMENT} from documents d"
_OWNED = "join collections c on c.id = d.collection_id where c.owner = ?"
_FOUND = " or ".join(f"contains(lower(d.{one}), lower(?))" for one in ("name", "title", "source"))
"""DuckDB and Python do not agree on the small letters of `İ` and `Σ`: one of them writes both."""
_ORIGINALS = """select distinct o.sha256, c.name as collection, o.name from (
        select collection_id, name, unnest([sha256, pending_sha256]) as sha256 from documents
        where source not like 'memory:%') o
    join collections c on c.id = o.collection_id where o.sha256 <> '' order by c.name, o.name"""
