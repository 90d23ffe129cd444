"""Exported collections that are made to unpack to much more than they are, whatever they say."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentkit.database import Database
from agentkit.documents import Limits
from agentkit.errors import ConfigError
from agentkit.retrieval import FakeEmbedder, Library
from agentkit.retrieval.transfer.bundle import CHUNKS, DOCUMENTS, reading
from agentkit.retrieval.transfer.bundle_tables import Checked, groups, schema
from agentkit.retrieval.transfer.parquet_checks import OddPage, pages
from agentkit.settings import Settings
from tests.retrieval.bundles import changed, documents, forged, members, refuse, resealed
from tests.retrieval.conftest import OWNER, Shelf

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 10**6


@pytest.fixture
def exported(shelf: Shelf, tmp_path: Path) -> Path:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", "Tea at 80 degrees. " * 400)])
    return shelf.library.transfer.export(OWNER, "Docs", tmp_path / "docs.agentkit.zip")


def table(content: dict[str, bytes], name: str) -> pyarrow.Table:
    return pyarrow.parquet.read_table(pyarrow.BufferReader(content[name])).cast(schema(name))


def packed(made: pyarrow.Table, **options: Any) -> bytes:
    """The table as an older exporter wrote it, or otherwise by these options."""
    older = {"compression": "zstd", "use_dictionary": False, "store_schema": False}
    sink = BytesIO()
    pyarrow.parquet.write_table(made, sink, **{**older, "write_statistics": False, **options})
    return sink.getvalue()


def with_rows(path: Path, rows: list[dict[str, Any]], documents: int, **options: Any) -> Path:
    """The file with these documents instead of its own, no chunks, and the counts that fit."""
    content = members(path)
    made = pyarrow.Table.from_pylist(rows, schema(DOCUMENTS))
    tables = {DOCUMENTS: packed(made, **options), CHUNKS: packed(schema(CHUNKS).empty_table())}
    sealed = resealed(path, {"manifest.json": content["manifest.json"], **tables})

    def count(manifest: dict[str, Any]) -> None:
        manifest["counts"] = {"documents": documents, "chunks": 0}

    return changed(sealed, count)


def rows_like(path: Path, count: int, **values: Any) -> list[dict[str, Any]]:
    """Documents like the first in the file, none of them with chunks or an original."""
    first = {**table(members(path), DOCUMENTS).to_pylist()[0], "sections": None, **values}
    bare = {**first, "chunks": 0, "sha256": "", "pending_sha256": ""}
    return [{**bare, "id": str(n), "source": str(n)} for n in range(count)]


# Texts that pack well


def bomb(path: Path) -> Path:
    return with_rows(path, rows_like(path, 6, text="x" * 19 * MEGABYTE), 6)


def test_a_small_file_does_not_unpack_to_much(exported: Path, elsewhere: Shelf) -> None:
    made = bomb(exported)
    assert made.stat().st_size < 60_000
    refuse(elsewhere, made, "documents.parquet would unpack to more than the")


CHILD = """
import resource, sys
from pathlib import Path
from agentkit.database import Database
from agentkit.errors import ConfigError
from agentkit.retrieval import FakeEmbedder, Library
from agentkit.settings import Settings
import pyarrow.parquet, pyarrow.compute, duckdb, numpy

settings = Settings(data=Path(sys.argv[1]))
library = Library(Database(settings.data / "agentkit.duckdb"), settings, FakeEmbedder())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    library.transfer.load("ann", Path(sys.argv[2]))
except ConfigError as error:
    sys.stdout.write(str((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024))
"""


def test_what_is_refused_was_not_unpacked_before(exported: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "other"), str(bomb(exported))]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 60, "megabytes"


def test_an_older_export_with_packed_tables_is_taken(exported: Path, elsewhere: Shelf) -> None:
    content = members(exported)
    for name in (DOCUMENTS, CHUNKS):
        content[name] = packed(table(content, name), row_group_size=2)
    made = elsewhere.library.transfer.load(OWNER, resealed(exported, content))
    assert (made.documents, made.chunks) == (1, 10)
    assert documents(elsewhere.library)["tea.md"].status == "indexed"


def test_what_repeats_itself_comes_in_again(shelf: Shelf, elsewhere: Shelf, tmp_path: Path) -> None:
    """A text of one line, over and over, packs a hundredfold; our own exports are never refused."""
    shelf.library.ingest(OWNER, "Docs", [shelf.source("log.txt", "the same line\n" * 60_000)])
    path = shelf.library.transfer.export(OWNER, "Docs", tmp_path / "log.zip")
    again = elsewhere.library.transfer.load(OWNER, path)
    assert again.chunks == shelf.library.collection(OWNER, "Docs").chunks > 100


# Counts that are not true


def test_rows_that_are_not_announced(exported: Path, elsewhere: Shelf) -> None:
    rows = rows_like(exported, 50)
    refuse(elsewhere, with_rows(exported, rows, 49), "does not have the documents and chunks")
    refuse(elsewhere, with_rows(exported, rows, 10**9), "does not have the documents and chunks")
    taken = elsewhere.library.transfer.load(OWNER, with_rows(exported, rows, 50))
    assert taken.documents == 50


def test_very_many_rows_at_once(exported: Path, elsewhere: Shelf) -> None:
    made = with_rows(exported, rows_like(exported, 70_000), 70_000, row_group_size=100_000)
    refuse(elsewhere, made, "documents.parquet was written by another program")


@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": True},
        {"column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        {"column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY"}},
        {"data_page_version": "2.0"},
        {"data_page_size": 1, "write_batch_size": 1},
    ],
)
def test_other_ways_of_writing_a_table(
    exported: Path, elsewhere: Shelf, options: dict[str, Any]
) -> None:
    made = with_rows(exported, rows_like(exported, 40, text="a" * 900), 40, **options)
    refuse(elsewhere, made, "was written by another program|more values than it can have")


def test_a_footer_that_lies_about_its_pages(exported: Path, elsewhere: Shelf) -> None:
    """A reader unpacks by what stands before each page, and so do we count."""
    made = members(bomb(exported))
    data = made[DOCUMENTS]
    footer = pyarrow.parquet.read_metadata(BytesIO(data))
    column = next(c for c in range(20) if footer.row_group(0).column(c).path_in_schema == "text")
    told = varint(footer.row_group(0).column(column).total_uncompressed_size * 2)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    place = data.index(told, start)
    small = bytes([0x80 | 20, *[0x80] * (len(told) - 2), 0])  # 10, as long as the true number
    made[DOCUMENTS] = data[:place] + small + data[place + len(told) :]
    lied = pyarrow.parquet.read_metadata(BytesIO(made[DOCUMENTS])).row_group(0).column(column)
    assert lied.total_uncompressed_size == 10
    sealed = resealed(exported, made)
    refuse(elsewhere, sealed, "documents.parquet would unpack to more than the")


def varint(number: int) -> bytes:
    found = []
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


# What its pages say


def test_pages_are_counted_as_the_footer_of_an_honest_file_does(exported: Path) -> None:
    data = packed(table(members(exported), CHUNKS), data_page_size=500)
    footer = pyarrow.parquet.read_metadata(BytesIO(data))
    for number in range(footer.num_columns):
        column = footer.row_group(0).column(number)
        start, size = column.data_page_offset, column.total_compressed_size
        found = list(pages(BytesIO(data), start, size))
        assert sum(page.values for page in found) == column.num_values
        unpacked = sum(page.unpacked for page in found)
        assert 0 < column.total_uncompressed_size - unpacked < 60 * len(found), "the headers"
        for less in range(1, min(size, 60)):
            with pytest.raises(OddPage):
                list(pages(BytesIO(data), start, size - less))


def test_a_dictionary_is_seen_in_the_pages_themselves(exported: Path) -> None:
    data = packed(table(members(exported), CHUNKS), use_dictionary=True)
    column = pyarrow.parquet.read_metadata(BytesIO(data)).row_group(0).column(2)
    first, end = column.dictionary_page_offset, column.total_compressed_size
    for start, why in ((first, "does not hold values"), (column.data_page_offset, "not coded in")):
        with pytest.raises(OddPage, match=why):
            list(pages(BytesIO(data), start, first + end - start))


@pytest.mark.parametrize(
    "header",
    [
        b"\x15\x00\x15\xfe\xff\xff\xff\x1f\x15\x02\x2c\x15\x02\x15\x00\x15\x06\x15\x06\x00\x00",
        b"\x15\x00\x15\x01\x15\x02\x2c\x15\x02\x15\x00\x15\x06\x15\x06\x00\x00",
        b"\x15\x00\x15\x02\x15\x02\x2c\x15\x02\x15\x00\x15\x06\x15\x06\x00\x05\x84\x80\x08\x02\x00",
        b"\x15\x00\x15\x02\x15\x02\x2c\x15\x02\x15\x10\x15\x06\x15\x06\x00\x00",
        b"\x1c" * 300,
        b"\x15" + b"\xff" * 300,
        b"",
    ],
    ids=["2 GB", "below zero", "a field of 32 bits", "coded otherwise", "deep", "long", ""],
)
def test_headers_that_nobody_writes(header: bytes) -> None:
    with pytest.raises(OddPage):
        list(pages(BytesIO(header), 0, max(1, len(header))))


@given(st.binary(max_size=200))
def test_any_bytes_are_pages_or_odd(data: bytes) -> None:
    try:
        found = list(pages(BytesIO(data), 0, len(data)))
    except OddPage:
        return
    assert all(page.unpacked >= 0 <= page.values for page in found)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(DOCUMENTS, False, True, 232, 106)  # for these pyarrow would end the process
@example(CHUNKS, False, True, 528, 33)
@given(
    name=st.sampled_from([DOCUMENTS, CHUNKS]),
    older=st.booleans(),
    at_end=st.booleans(),
    place=st.integers(0, 1_500),
    byte=st.integers(0, 255),
)
def test_a_table_with_another_byte_is_read_or_refused(
    exported: Path, name: str, older: bool, at_end: bool, place: int, byte: int
) -> None:
    content = members(exported)
    data = bytearray(packed(table(content, name)) if older else content[name])
    data[len(data) - 1 - place % len(data) if at_end else place % len(data)] = byte
    with reading(resealed(exported, {**content, name: bytes(data)})) as opened:
        counts, dimension = opened.manifest["counts"], opened.manifest["version"]["dimension"]
        try:
            Checked(opened, dimension, counts["documents"], counts["chunks"], Limits())
        except ConfigError:
            return
        read = sum(group.nbytes for group in groups(opened, name, counts[name.split(".")[0]]))
        assert read < 2 * opened.most_unpacked


# Our limits


def test_an_original_beyond_the_limit(exported: Path, elsewhere: Shelf) -> None:
    large = bytes(2**20 + 1)
    sha256 = hashlib.sha256(large).hexdigest()
    made = forged(exported, DOCUMENTS, "pending_sha256", sha256)
    content = {**members(made), f"originals/{sha256}": large}
    words = r"1,048,577 bytes, more than the 1,048,576 allowed. Raise AGENTKIT_MAX_FILE_MB"
    refuse(elsewhere, resealed(exported, content), words)


def test_an_original_of_no_document(exported: Path, elsewhere: Shelf) -> None:
    sha256 = hashlib.sha256(b"kept for ever").hexdigest()
    content = {**members(exported), f"originals/{sha256}": b"kept for ever"}
    refuse(elsewhere, resealed(exported, content), "belongs to none of its documents")


def test_a_text_beyond_the_limit(exported: Path, tmp_path: Path) -> None:
    narrow = Settings(data=tmp_path / "own", max_chars=500)
    database = Database(narrow.data / "agentkit.duckdb")
    library = Library(database, narrow, FakeEmbedder())
    words = r"tea.md has 7,600 characters, more than the 500 allowed. Raise AGENTKIT_MAX_CHARS"
    with pytest.raises(ConfigError, match=words):
        library.transfer.load(OWNER, exported)
    library.close()
    database.close()


def test_chunks_that_are_not_what_stands_there(exported: Path, elsewhere: Shelf) -> None:
    made = forged(exported, CHUNKS, "text", "x" * 10_000)
    refuse(elsewhere, made, "another text than its place in its document")


def test_a_manifest_that_is_longer_than_it_can_need(exported: Path, elsewhere: Shelf) -> None:
    def pad(manifest: dict[str, Any]) -> None:
        manifest["padding"] = [{}] * 2_000_000

    refuse(elsewhere, changed(exported, pad), "its manifest has .* bytes, more than it can need")


def test_names_from_elsewhere_are_cleaned(exported: Path, elsewhere: Shelf) -> None:
    name = "a\u202e\0b\n.md" + "c" * 5_000
    elsewhere.library.transfer.load(OWNER, forged(exported, DOCUMENTS, "name", name))
    [one] = documents(elsewhere.library)
    assert len(one) == 1_000
    assert one.isprintable()
    elsewhere.library.delete_collection(OWNER, "Docs")
    elsewhere.library.transfer.load(OWNER, forged(exported, DOCUMENTS, "name", name[:8]))
    assert list(documents(elsewhere.library)) == ["ab .md"]
