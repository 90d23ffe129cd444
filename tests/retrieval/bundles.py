"""Exported collections made into what no exporter writes, and what importing them leaves."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from agentkit.errors import ConfigError
from agentkit.retrieval import Library, StoredDocument
from agentkit.retrieval.transfer.bundle import writing
from agentkit.retrieval.transfer.bundle_tables import TableWriter, schema
from tests.retrieval.conftest import OWNER, Shelf


def documents(
    library: Library, owner: str = OWNER, collection: str = "Docs"
) -> dict[str, StoredDocument]:
    return {one.name: one for one in library.documents(owner, collection)}


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def pack(path: Path, content: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The file with another manifest."""
    content = members(path)
    manifest = json.loads(content["manifest.json"])
    change(manifest)
    return pack(
        path.with_name("changed.zip"), {**content, "manifest.json": json.dumps(manifest).encode()}
    )


def forged(path: Path, name: str, column: str, value: Any, row: int = 0) -> Path:
    """The file with another value in a table, all sizes and hashes in the manifest right."""
    content = members(path)
    rows = pyarrow.parquet.read_table(pyarrow.BufferReader(content[name])).to_pylist()
    rows[row][column] = value
    target = path.with_name("forged.parquet")
    with target.open("wb") as opened:
        table = TableWriter(name, opened)
        table.write(pyarrow.Table.from_pylist(rows, schema(name)))
        table.close()
    return resealed(path, {**content, name: target.read_bytes()})


def resealed(path: Path, content: Mapping[str, bytes]) -> Path:
    """A file with these members and the manifest that they need."""
    manifest = json.loads(content["manifest.json"])
    with writing(path.with_name("resealed.zip")) as writer:
        for name, data in content.items():
            if name != "manifest.json":
                with writer.member(name) as member:
                    member.write(data)
        writer.finish({part: manifest[part] for part in ("collection", "version", "counts")})
    return path.with_name("resealed.zip")


def parquet(path: Path, table: pyarrow.Table, dictionary: bool) -> bytes:
    pyarrow.parquet.write_table(table, path, store_schema=False, use_dictionary=dictionary)
    return path.read_bytes()


def refuse(shelf: Shelf, path: Path, reason: str) -> None:
    """Loading must fail with this reason and leave nothing behind."""
    with pytest.raises(ConfigError, match=reason):
        shelf.library.transfer.load(OWNER, path)
    untouched(shelf)


def untouched(shelf: Shelf) -> None:
    counts = {
        table: shelf.database.value(f"select count(*) from {table}")
        for table in ("collections", "index_versions", "documents", "texts", "chunks")
    }
    assert set(counts.values()) == {0}, counts
    assert [path for path in (shelf.settings.data / "files").rglob("*") if path.is_file()] == []
