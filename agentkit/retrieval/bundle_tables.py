"""The two tables of an exported collection, documents and chunks, as Parquet: their columns, and what must be true of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from agentkit.core import stopping
from agentkit.errors import ConfigError
from agentkit.retrieval.bundle import CHUNKS, DOCUMENTS, Bundle, Sink
from agentkit.retrieval.names import MOST_TAGS, checked_tag

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_LARGEST_GROUP = 512 * 2**20
"""Bytes that a group of rows may take in memory."""
_ROWS = 4_000
_PLAIN = frozenset({"PLAIN", "RLE", "BIT_PACKED"})
"""How values may stand in the file. Others, such as dictionaries, let a small file become a very large table."""
_SHA256 = re.compile(r"(?:[0-9a-f]{64})?")
_STATUS = frozenset({"indexed", "failed", "stopped"})


def schema(name: str) -> pyarrow.Schema:
    """The columns of the table of that name."""
    import pyarrow

    of = {"id": pyarrow.string(), "number": pyarrow.int32(), "size": pyarrow.int64(), "time": pyarrow.timestamp("us")}
    text, number, size, time = of["id"], of["number"], of["size"], of["time"]
    columns: Mapping[str, Any] = {
        DOCUMENTS: {
            "id": text, "name": text, "source": text, "sha256": text, "pending_sha256": text, "bytes": size,
            "media_type": text, "title": text, "pages": number, "status": text, "error": text, "note": text, "chunks": size,
            "tokens": size, "seconds": pyarrow.float64(), "created_at": time, "updated_at": time, "tags": _list_of(text),
            "text": text, "sections": text,
        },
        CHUNKS: {
            "document_id": text, "ordinal": number, "text": text, "heading": text, "page": number, "place": text,
            "start_at": size, "end_at": size, "tokens": number, "embedding": _list_of(pyarrow.float32()),
        },
    }[name]  # fmt: skip
    may_miss = {"pages", "page", "sections"} | ({"text"} if name == DOCUMENTS else set())
    return pyarrow.schema([pyarrow.field(column, kind, column in may_miss) for column, kind in columns.items()])


class TableWriter:
    """Writes one of the tables to a file, group by group."""

    def __init__(self, name: str, target: IO[bytes] | Sink) -> None:
        import pyarrow.parquet

        self.rows = 0
        self._schema = schema(name)
        self._writer = pyarrow.parquet.ParquetWriter(
            target, self._schema, compression="zstd", use_dictionary=False, store_schema=False, write_statistics=False
        )

    def write(self, rows: pyarrow.Table) -> None:
        """Add these rows."""
        self._writer.write_table(rows.select(self._schema.names).cast(self._schema), row_group_size=_ROWS)
        self.rows += rows.num_rows

    def close(self) -> None:
        """Write the end of the table; without it nothing can be read."""
        self._writer.close()


def groups(bundle: Bundle, name: str, largest: int = _LARGEST_GROUP) -> Iterator[pyarrow.Table]:
    """The rows of a table, group by group; raises ConfigError when it does not have our columns, or would fill the memory."""
    import pyarrow.parquet

    try:
        with bundle.table(name) as opened:
            file = pyarrow.parquet.ParquetFile(opened)
            if not file.schema_arrow.equals(schema(name)):
                raise bundle.refuse(f"{name} has other columns than it should.")
            for number in range(file.num_row_groups):
                stopping.check()
                _check_size(bundle, name, file.metadata.row_group(number), largest)
                rows = file.read_row_group(number, use_threads=False)
                rows.validate(full=True)
                yield rows
    except (pyarrow.ArrowException, OSError) as error:
        raise bundle.refuse(f"{name} cannot be read ({error}).") from error


def _check_size(bundle: Bundle, name: str, group: pyarrow.parquet.RowGroupMetaData, largest: int) -> None:
    columns = [group.column(number) for number in range(group.num_columns)]
    if any(column.has_dictionary_page or not _PLAIN.issuperset(column.encodings) for column in columns):
        raise bundle.refuse(f"{name} was written by another program.")
    if (size := sum(max(column.total_uncompressed_size, 0) for column in columns)) > largest:
        raise bundle.refuse(f"a group of rows in {name} has {size:,} bytes, more than the {largest:,} that are read at once.")


class Checked:
    """The documents of a file, after both tables were looked through; raises ConfigError for whatever is wrong in them."""

    def __init__(self, bundle: Bundle, dimension: int, documents: int, chunks: int) -> None:
        self._bundle, self._dimension = bundle, dimension
        self.lengths: dict[str, int] = {}
        """Characters of each document's text, by the id that it has in the file."""
        self._chunks: dict[str, int] = {}
        sources: set[str] = set()
        for group in groups(bundle, DOCUMENTS):
            self._look_at_documents(group, sources)
        found = sum(self._look_at_chunks(group) for group in groups(bundle, CHUNKS))
        if (len(self.lengths), found) != (documents, chunks) or any(self._chunks.values()):
            raise bundle.refuse("it does not have the documents and chunks that it says it has.")

    def _look_at_documents(self, group: pyarrow.Table, sources: set[str]) -> None:
        import pyarrow.compute as pc

        lengths = pc.utf8_length(group.column("text")).to_pylist()
        for row, length in zip(group.drop_columns(["text"]).to_pylist(), lengths, strict=True):
            wrong = _wrong_in(row, length)
            if row["id"] in self.lengths or row["source"] in sources:
                wrong = "it is there twice"
            if wrong:
                raise self._bundle.refuse(f"document {row['name']!r} is not as it should be: {wrong}.")
            self.lengths[row["id"]] = length or 0
            self._chunks[row["id"]] = row["chunks"]
            sources.add(row["source"])

    def _look_at_chunks(self, group: pyarrow.Table) -> int:
        import numpy as np
        import pyarrow.compute as pc

        ids = group.column("document_id").to_pylist()
        if unknown := set(ids) - self.lengths.keys():
            raise self._bundle.refuse(f"it has chunks of a document {min(unknown)!r} that is not in it.")
        vectors = group.column("embedding").combine_chunks()
        if pc.any(pc.not_equal(pc.list_value_length(vectors), self._dimension)).as_py():
            raise self._bundle.refuse(f"not every vector has the {self._dimension:,} numbers that its index version says.")
        if not np.isfinite(vectors.flatten().to_numpy()).all():
            raise self._bundle.refuse("a vector has a number that is infinite or none at all (NaN).")
        start, end = (group.column(name).to_numpy() for name in ("start_at", "end_at"))
        lengths = np.array([self.lengths[one] for one in ids], dtype=np.int64)
        if ((start < 0) | (start > end) | (end > lengths)).any():
            raise self._bundle.refuse("a chunk stands outside of its document's text.")
        if any((group.column(name).to_numpy() < 0).any() for name in ("ordinal", "tokens")):
            raise self._bundle.refuse("a chunk has a negative number.")
        for one in ids:
            self._chunks[one] -= 1
        return len(ids)


def _list_of(kind: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow

    return pyarrow.list_(pyarrow.field("element", kind, nullable=False))


def _wrong_in(row: Mapping[str, Any], length: int | None) -> str:
    """What is wrong with a document whose text has so many characters, None for no text; empty if nothing is."""
    tags = row["tags"]
    checks = {
        "it has no name": bool(row["id"] and row["name"] and row["source"]),
        f"its status is {row['status']!r}": row["status"] in _STATUS,
        "its sha256 is none": bool(_SHA256.fullmatch(row["sha256"]) and _SHA256.fullmatch(row["pending_sha256"])),
        "a count is negative": min(row["bytes"], row["chunks"], row["tokens"], row["pages"] or 0) >= 0,
        "it has chunks but no text": not row["chunks"] or length is not None,
        "its tags are not possible": len(tags) <= MOST_TAGS and all(map(_is_tag, tags)),
        "its sections are outside of its text": row["sections"] is None or _are_sections(row["sections"], length or 0),
    }
    return next((wrong for wrong, well in checks.items() if not well), "")


def _is_tag(tag: str) -> bool:
    try:
        return tag == checked_tag(tag)
    except ConfigError:
        return False


def _are_sections(packed: str, length: int) -> bool:
    """Whether this is what `sections.pack` writes, for a text of so many characters."""
    try:
        rows = json.loads(packed)
        return isinstance(rows, list) and all(_is_section(row, length) for row in rows)
    except (ValueError, TypeError, RecursionError):
        return False


def _is_section(row: Any, length: int) -> bool:
    start, end, heading, page, place = row
    numbers = [start, end] if page is None else [start, end, page]
    plain = all(type(number) is int for number in numbers) and isinstance(heading, str) and isinstance(place, str)
    return plain and 0 <= start <= end <= length
