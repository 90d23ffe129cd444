"""The two tables of an exported collection, documents and chunks, as Parquet: their columns, and
what must be true of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from agentkit.core import stopping
from agentkit.documents import Limits
from agentkit.errors import ConfigError
from agentkit.retrieval.names import MOST_TAGS, check_tag
from agentkit.retrieval.transfer.bundle import CHUNKS, DOCUMENTS, Bundle, Sink
from agentkit.retrieval.transfer.parquet_checks import OddPage, is_readable, pages

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet
    import pydantic

_LARGEST_GROUP = 512 * 2**20
"""Bytes that a group of rows may take in memory."""
_ROWS, _MOST_ROWS = 4_000, 2**16
"""Of a group: as they are written, and as they are read."""
_WRITER = "parquet-cpp-arrow "
_SMALLEST_VALUE = 4
"""Bytes: a number, or the length of a text."""
_FEW, _PAGE = 16, 2**16
"""So many pages a column may have, and one more for so many bytes; ours have 2**20 and one rest."""
_PLAIN = frozenset({"PLAIN", "RLE", "BIT_PACKED"})
"""How values may stand in the file. Others, such as dictionaries, let a small file become a very
large table.
"""
_SectionRow = tuple[int, int, str, int | None, str]
"""Start, end, heading, page and place."""
_TIMES = ("created_at", "updated_at")
_FIRST_TIME, _LAST_TIME = 0, 253_402_300_800 * 10**6
"""Microseconds since 1970; the last ones are the end of the year 9999."""
_SHA256 = re.compile(r"(?:[0-9a-f]{64})?")
_NAMES = ("id", "name", "source")
_MAY_MISS = {DOCUMENTS: {"pages", "sections", "text"}, CHUNKS: {"page"}}
_STATUS = frozenset({"indexed", "failed", "stopped"})


def schema(name: str) -> pyarrow.Schema:
    """The columns of the table of that name."""
    import pyarrow

    of = {
        "id": pyarrow.string(),
        "number": pyarrow.int32(),
        "size": pyarrow.int64(),
        "time": pyarrow.timestamp("us"),
    }
    text, number, size, time = of["id"], of["number"], of["size"], of["time"]
    columns: Mapping[str, Any] = {
        DOCUMENTS: {
            "id": text,
            "name": text,
            "source": text,
            "sha256": text,
            "pending_sha256": text,
            "bytes": size,
            "media_type": text,
            "title": text,
            "pages": number,
            "status": text,
            "error": text,
            "note": text,
            "chunks": size,
            "tokens": size,
            "seconds": pyarrow.float64(),
            "created_at": time,
            "updated_at": time,
            "tags": _list_of(text),
            "text": text,
            "sections": text,
        },
        CHUNKS: {
            "document_id": text,
            "ordinal": number,
            "text": text,
            "heading": text,
            "page": number,
            "place": text,
            "start_at": size,
            "end_at": size,
            "tokens": number,
            "embedding": _list_of(pyarrow.float32()),
        },
    }[name]
    return pyarrow.schema(
        [pyarrow.field(column, kind, column in _MAY_MISS[name]) for column, kind in columns.items()]
    )


class TableWriter:
    """Writes one of the tables to a file, group by group."""

    def __init__(self, name: str, target: IO[bytes] | Sink) -> None:
        import pyarrow.parquet

        self.rows = 0
        self._schema = schema(name)
        self._writer = pyarrow.parquet.ParquetWriter(
            target,
            self._schema,
            compression="none",
            use_dictionary=False,
            store_schema=False,
            write_statistics=False,
        )

    def write(self, rows: pyarrow.Table) -> None:
        """Add these rows."""
        table = rows.select(self._schema.names).cast(self._schema)
        few_enough = rows.num_rows * (_LARGEST_GROUP // 4) // max(table.nbytes, 1)
        self._writer.write_table(table, row_group_size=max(1, min(_ROWS, few_enough)))
        self.rows += rows.num_rows

    def close(self) -> None:
        """Write the end of the table; without it nothing can be read."""
        self._writer.close()


def groups(
    bundle: Bundle, name: str, rows: int, largest: int = _LARGEST_GROUP
) -> Iterator[pyarrow.Table]:
    """The rows of a table, group by group, all of which are so many.

    Raises ConfigError when it does not have our columns or not as many rows, when it cannot be
    read, and before it would unpack to more than `largest` at once or than the file may in all.
    """
    import pyarrow.parquet

    try:
        with bundle.table(name) as opened:
            file = pyarrow.parquet.ParquetFile(opened)
            if not file.schema_arrow.equals(schema(name)):
                raise bundle.refuse(f"{name} has other columns than it should.")
            if not is_readable(opened):
                raise bundle.refuse(f"the footer of {name} is damaged.")
            _check_footer(bundle, name, file.metadata, rows)
            left = bundle.most_unpacked
            for number in range(file.num_row_groups):
                stopping.check()
                size = _measure_unpacked(bundle, name, opened, file.metadata.row_group(number))
                left -= size
                if size > largest or left < 0:
                    raise bundle.refuse(
                        f"{name} would unpack to more than the"
                        f" {min(largest, bundle.most_unpacked):,} bytes that a file of this size"
                        " may."
                    )
                read = file.read_row_group(number, use_threads=False)
                read.validate(full=True)
                yield read
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise bundle.refuse(f"{name} cannot be read ({error}).") from error


def _check_footer(
    bundle: Bundle, name: str, footer: pyarrow.parquet.FileMetaData, rows: int
) -> None:
    """Raise ConfigError unless it is one of ours, and nothing in it would be read twice."""
    all_groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    counts = [group.num_rows for group in all_groups]
    sizes: list[int] = []
    for group in all_groups:
        columns = map(group.column, range(group.num_columns))
        sizes += [column.total_compressed_size for column in columns]

    is_ours = str(footer.created_by).startswith(_WRITER)
    has_our_sizes = min(sizes, default=0) >= 0 and max(counts, default=0) <= _MOST_ROWS
    if not is_ours or not has_our_sizes:
        raise bundle.refuse(f"{name} was written by another program.")
    if sum(sizes) > bundle.size(name):
        raise bundle.refuse(f"the columns in {name} overlap.")
    if sum(counts) != rows:
        raise bundle.refuse("it does not have the documents and chunks that it says it has.")


def _measure_unpacked(
    bundle: Bundle, name: str, opened: BinaryIO, group: pyarrow.parquet.RowGroupMetaData
) -> int:
    """Bytes that a group of rows has in memory, by what stands in its pages."""
    columns = [group.column(number) for number in range(group.num_columns)]
    sizes = [_measure(bundle, name, opened, group.num_rows, column) for column in columns]
    if group.num_rows * _SMALLEST_VALUE > sizes[0]:
        raise bundle.refuse(f"{name} says that it has more rows than it can have.")
    return sum(sizes)


def _measure(
    bundle: Bundle,
    name: str,
    opened: BinaryIO,
    rows: int,
    column: pyarrow.parquet.ColumnChunkMetaData,
) -> int:
    """Bytes that a column of a group of so many rows has in memory."""
    if column.has_dictionary_page or not _PLAIN.issuperset(column.encodings):
        raise bundle.refuse(f"{name} was written by another program.")
    size = values = count = 0
    try:
        for page in pages(opened, column.data_page_offset, column.total_compressed_size):
            size += page.unpacked
            values += page.values
            count += 1
    except OddPage as error:
        raise bundle.refuse(f"{name} was written by another program: {error}.") from error

    # Nulls and empty lists take no bytes, and there is at most one of them a row.
    if values > rows + size // _SMALLEST_VALUE or count > _FEW + size // _PAGE:
        raise bundle.refuse(f"{name} says that it has more values than it can have.")
    return size


class Checked:
    """The documents of a file, after all in it was looked through within these limits.

    Raises ConfigError for whatever is wrong.
    """

    def __init__(
        self, bundle: Bundle, dimension: int, documents: int, chunks: int, limits: Limits
    ) -> None:
        self._bundle, self._dimension, self._limits = bundle, dimension, limits
        self.lengths: dict[str, int] = {}
        """Characters of each document's text, by the id that it has in the file."""
        self._chunks: dict[str, int] = {}
        self._contents: set[str] = set()
        sources: set[str] = set()
        for group in groups(bundle, DOCUMENTS, documents):
            self._look_at_documents(group, sources)
        self._look_at_originals()
        for group in groups(bundle, CHUNKS, chunks):
            self._look_at_chunks(group)
        if any(self._chunks.values()):
            raise bundle.refuse("it does not have the documents and chunks that it says it has.")

    def _look_at_documents(self, group: pyarrow.Table, sources: set[str]) -> None:
        import pyarrow.compute as pc

        for column in _TIMES:
            times = group.column(column).cast("int64").to_numpy()
            possible = (times >= _FIRST_TIME) & (times < _LAST_TIME)
            self._require(possible.all(), "a document was taken in at an impossible time.")
        lengths = pc.utf8_length(group.column("text")).to_pylist()
        rows = group.drop_columns(["text", *_TIMES]).to_pylist()
        for row, length in zip(rows, lengths, strict=True):
            wrong = _wrong_in(row, length)
            if row["id"] in self.lengths or row["source"] in sources:
                wrong = "it is there twice"
            shown = repr(row["name"][:200])
            self._require(not wrong, f"document {shown} is not as it should be: {wrong}.")
            length = length or 0
            self._check_size("characters", length, self._limits.max_chars, "CHARS", row["name"])

            self.lengths[row["id"]] = length
            self._chunks[row["id"]] = row["chunks"]
            self._contents |= {row["sha256"], row["pending_sha256"]}
            sources.add(row["source"])

    def _look_at_originals(self) -> None:
        for sha256, size in self._bundle.originals.items():
            name = f"original {sha256}"
            self._require(sha256 in self._contents, f"{name} belongs to none of its documents.")
            self._check_size("bytes", size, self._limits.max_bytes, "FILE_MB", name)

    def _require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise self._bundle.refuse(otherwise)

    def _check_size(self, what: str, size: int, most: int, setting: str, name: str) -> None:
        if size > most:
            raise self._bundle.refuse(
                f"{name[:200]} has {size:,} {what}, more than the {most:,} allowed.",
                f"Raise AGENTKIT_MAX_{setting}.",
            )

    def _look_at_chunks(self, group: pyarrow.Table) -> None:
        import numpy as np
        import pyarrow.compute as pc

        ids = group.column("document_id").to_pylist()
        if unknown := set(ids) - self.lengths.keys():
            raise self._bundle.refuse(
                f"it has chunks of a document {min(unknown)!r} that is not in it."
            )
        vectors = group.column("embedding").combine_chunks()
        lengths = pc.list_value_length(vectors).to_numpy(zero_copy_only=False)
        self._require(
            (lengths == self._dimension).all(),
            f"not every vector has the {self._dimension:,} numbers that its index version says.",
        )
        self._require(
            np.isfinite(vectors.flatten().to_numpy()).all(),
            "a vector has a number that is infinite or none at all (NaN).",
        )
        start, end = (group.column(name).to_numpy() for name in ("start_at", "end_at"))
        ends = np.array([self.lengths[one] for one in ids], dtype=np.int64)
        self._require(
            ((start >= 0) & (start <= end) & (end <= ends)).all(),
            "a chunk stands outside of its document's text.",
        )
        self._require(
            (pc.utf8_length(group.column("text")).to_numpy() == end - start).all(),
            "a chunk has another text than its place in its document.",
        )
        for name in ("ordinal", "tokens"):
            numbers = group.column(name).to_numpy()
            self._require((numbers >= 0).all(), "a chunk has a negative number.")
        for one in ids:
            self._chunks[one] -= 1


def _list_of(kind: pyarrow.DataType) -> pyarrow.DataType:
    import pyarrow

    return pyarrow.list_(pyarrow.field("element", kind, nullable=False))


def _wrong_in(row: Mapping[str, Any], length: int | None) -> str:
    """What is wrong with a document whose text has so many characters, None for no text; empty if
    nothing is.
    """
    tags = row["tags"]
    checks = {
        "it has no name": all(row[name] for name in _NAMES),
        f"its status is {row['status']!r}": row["status"] in _STATUS,
        "its sha256 is not one": all(
            _SHA256.fullmatch(row[name]) for name in ("sha256", "pending_sha256")
        ),
        "a count is negative": (
            min(row["bytes"], row["chunks"], row["tokens"], row["pages"] or 0) >= 0
        ),
        f"it took {row['seconds']} seconds": math.isfinite(row["seconds"]),
        "it has chunks but no text": not row["chunks"] or length is not None,
        "its tags are not possible": len(tags) <= MOST_TAGS and all(map(_is_tag, tags)),
        "its sections are outside of its text": (
            row["sections"] is None or _are_sections(row["sections"], length or 0)
        ),
    }
    return next((wrong for wrong, well in checks.items() if not well), "")


def _is_tag(tag: str) -> bool:
    try:
        return tag == check_tag(tag)
    except ConfigError:
        return False


def _are_sections(packed: str, length: int) -> bool:
    """Whether this is what `sections.pack` writes, for a text of so many characters."""
    try:
        rows = _section_rows().validate_json(packed, strict=True)
    except ValueError:
        return False
    return all(0 <= start <= end <= length for start, end, *_ in rows)


@cache
def _section_rows() -> pydantic.TypeAdapter[list[_SectionRow]]:
    import pydantic

    return pydantic.TypeAdapter(list[_SectionRow])
