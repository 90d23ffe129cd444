"""The table of chunks with their vectors, and the changes to it that indexes follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, cast

from agentkit.database import Database, columns, to_array
from agentkit.documents.split import Piece
from agentkit.retrieval.types import Chunk, IndexVersion

if TYPE_CHECKING:
    import numpy as np
    import pyarrow


CHANGES = "retrieval"
"""The database's series of changes to collections, versions and chunks."""


class IndexRow(TypedDict):
    """A chunk as the lexical index takes it in: what is matched, and what a hit shows of it."""

    id: int
    title: str
    """Of its document."""
    document_id: str
    document: str
    """The document's name."""
    ordinal: int
    text: str
    heading: str
    page: int | None
    place: str
    start: int
    end: int


class ChunkTable:
    """Reading and writing of chunks; the owner is checked where a method takes one, else by whoever
    gave the ids.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_chunks(
        self, version: IndexVersion, document_id: str, offset: int, limit: int
    ) -> list[Chunk]:
        """The document's chunks in this version, in order."""
        sql = (
            f"select {_CHUNK} from chunks k where version_id = ? and document_id = ? order by"
            " ordinal limit ? offset ?"
        )
        return [
            Chunk(**row)
            for row in self.database.rows(sql, [version.id, document_id, limit, offset])
        ]

    def read_vectors(
        self, version: IndexVersion, document_id: str
    ) -> tuple[list[tuple[str, str]], np.ndarray]:
        """(heading, text) of the document's chunks in this version, in order, and their vectors (n,
        dimension).
        """
        found = self.database.arrow(
            "select heading, text, embedding from chunks where version_id = ? and document_id = ?"
            " order by ordinal",
            [version.id, document_id],
        )
        headings, texts = (found.column(name).to_pylist() for name in ("heading", "text"))
        return list(zip(headings, texts, strict=True)), _matrix(found, version.dimension)

    def one(self, owner: str, chunk_id: int) -> Chunk | None:
        """The chunk."""
        sql = f"""select {_CHUNK} from chunks k join documents d on d.id = k.document_id
            join collections c on c.id = d.collection_id where k.id = ? and c.owner = ?"""
        row = self.database.row(sql, [chunk_id, owner])
        return Chunk(**row) if row else None

    def vectors(self, version: IndexVersion, ids: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n) and vectors (n, dimension) of those of the chunks that are there."""
        if not ids:
            return self._vectors(version, "false", [])
        return self._vectors(version, f"id in ({_numbers(ids)})", [])

    def last_change(self, version: IndexVersion) -> int:
        """The number of the last change to this version's chunks."""
        added = self.database.value("select max(id) from chunks where version_id = ?", [version.id])
        removed = self.database.value(
            "select max(change) from tombstones where version_id = ?", [version.id]
        )
        return max(int(added or 0), int(removed or 0))

    def chunk_ids(self, version: IndexVersion) -> list[int]:
        """The ids of all chunks of the version."""
        return [
            row["id"]
            for row in self.database.rows(
                "select id from chunks where version_id = ?", [version.id]
            )
        ]

    def read_added_vectors(
        self, version: IndexVersion, after: int, until: int, limit: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n) and vectors (n, dimension) of the first `limit` chunks added after one change and
        until another.
        """
        return self._vectors(
            version, "id > ? and id <= ? order by id limit ?", [after, until, limit]
        )

    def passages(self, version: IndexVersion, ids: Sequence[int]) -> dict[int, IndexRow]:
        """What a hit shows of each of the chunks that is there."""
        sql = f"{_ROWS} where k.version_id = ? and k.id in (select unnest(?::bigint[]))"
        rows = self.database.rows(sql, [version.id, list(ids)])
        return {row["id"]: cast(IndexRow, row) for row in rows}

    def read_added_passages(
        self, version: IndexVersion, after: int, until: int, limit: int
    ) -> pyarrow.Table:
        """What hits show of the first `limit` chunks added after one change and until another.

        The columns are those of an `IndexRow`, the ids rise.
        """
        sql = f"{_ROWS} where k.version_id = ? and k.id > ? and k.id <= ? order by k.id limit ?"
        return self.database.arrow(sql, [version.id, after, until, limit])

    def read_added_rows(
        self, version: IndexVersion, after: int, until: int, limit: int
    ) -> list[IndexRow]:
        """The first `limit` chunks added after one change and until another."""
        sql = f"{_ROWS} where k.version_id = ? and k.id > ? and k.id <= ? order by k.id limit ?"
        return [
            cast(IndexRow, row)
            for row in self.database.rows(sql, [version.id, after, until, limit])
        ]

    def read_removed(self, version: IndexVersion, after: int, until: int) -> list[int]:
        """Ids of the chunks removed after one change and until another."""
        sql = "select chunk_id from tombstones where version_id = ? and change > ? and change <= ?"
        return [row["chunk_id"] for row in self.database.rows(sql, [version.id, after, until])]

    def forget_removed(self, version: IndexVersion, until: int) -> None:
        """Drop the notes of removals that every saved index has seen."""
        with self.database.transaction():
            self.database.execute(
                "delete from tombstones where version_id = ? and change < ?", [version.id, until]
            )

    def insert(
        self, version: IndexVersion, pieces: Sequence[tuple[str, int, Piece]], vectors: np.ndarray
    ) -> None:
        """Add (document id, number in it, piece) with their vectors (n, dimension), in the caller's
        transaction.
        """
        import pyarrow

        self.database.touch(CHANGES)
        ids = [
            row["id"]
            for row in self.database.rows(
                "select nextval('changes') as id from range(?)", [len(pieces)]
            )
        ]
        given: dict[str, pyarrow.Array] = {
            "id": columns.whole_numbers(sorted(ids)),
            "version_id": columns.texts([version.id] * len(pieces)),
            "document_id": columns.texts([document for document, _, _ in pieces]),
            "ordinal": columns.whole_numbers([number for _, number, _ in pieces]),
            "embedding": columns.vectors(vectors),
        }
        for column, (name, make) in _COLUMNS.items():
            given[column] = make([getattr(piece, name) for _, _, piece in pieces])
        self.database.insert_arrow("chunks", pyarrow.table(given))

    def remove(self, document_ids: Sequence[str]) -> None:
        """Remove all chunks of these documents and note it for the indexes, in the caller's
        transaction.
        """
        self.database.touch(CHANGES)
        chosen, given = f"from chunks where document_id in {LISTED}", [list(document_ids)]
        self.database.execute(
            f"insert into tombstones select nextval('changes'), version_id, id {chosen}", given
        )
        self.database.execute(f"delete {chosen}", given)

    def _vectors(
        self, version: IndexVersion, condition: str, values: Sequence[object]
    ) -> tuple[np.ndarray, np.ndarray]:
        found = self.database.arrow(
            f"select id, embedding from chunks where version_id = ? and {condition}",
            [version.id, *values],
        )
        return to_array(found.column("id")), _matrix(found, version.dimension)


LISTED = "(select unnest(?::varchar[]))"
"""For an `in` with one value that is a list of texts, however long."""


def marks(values: Sequence[object]) -> str:
    """Question marks for an `in (...)`."""
    return ", ".join("?" for _ in values)


def _matrix(found: pyarrow.Table, dimension: int) -> np.ndarray:
    """The vectors (n, dimension) of these rows, as the database gave them; Arrow's `combine_chunks`
    and `flatten` would load its compute functions, which takes longer than a search.
    """
    import numpy as np

    parts = [to_array(part.values) for part in found.column("embedding").chunks]
    vectors = np.concatenate([np.empty(0, dtype=np.float32), *parts])
    return vectors.reshape(found.num_rows, dimension)


def _numbers(ids: Sequence[int]) -> str:
    """Numbers for an `in (...)`; as literals, because a plan with thousands of parameters is slow
    to prepare.
    """
    return ", ".join(str(int(number)) for number in ids)


_COLUMNS: dict[str, tuple[str, Callable[[list[Any]], pyarrow.Array]]] = {
    "text": ("text", columns.texts),
    "heading": ("heading", columns.texts),
    "page": ("page", columns.whole_numbers),
    "place": ("place", columns.texts),
    "start_at": ("start", columns.whole_numbers),
    "end_at": ("end", columns.whole_numbers),
    "tokens": ("tokens", columns.whole_numbers),
}
"""By their names in the table, what of a piece they hold."""
_CHUNK = (
    "k.id, k.document_id, k.ordinal, k.text, k.heading, k.page, k.place, k.start_at as start,"
    ' k.end_at as "end", k.tokens'
)
_ROWS = """select k.id, k.document_id, d.name as document, d.title, k.ordinal, k.text, k.heading,
k.page, k.place,
    k.start_at as start, k.end_at as "end" from chunks k join documents d on d.id = k.document_id"""
