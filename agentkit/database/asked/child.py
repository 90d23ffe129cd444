"""What a process does that answers one SELECT, and nothing else, before it ends.

What it is asked comes as JSON over a channel, with the descriptors of a file for the result and of
the Arrow streams to read; what came of it goes back, one line of JSON.
"""

from __future__ import annotations

import json
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import duckdb
import pyarrow
import pyarrow.csv
import pyarrow.parquet

BEGUN = b"."
"""Said when the question was read."""
MOST_FILES = 64
"""Descriptors that come with a question at most."""
_MB = 2**20
_BATCH = 8_192
_GRACE_S = 2.0
"""How long a statement may take to notice that it was interrupted."""
_ROOM_MB = 1_024
"""What Python, the libraries and a result take besides DuckDB's own memory."""
_NESTED = ("STRUCT", "MAP", "UNION", "[", "BLOB", "BIT", "INTERVAL", "TIME", "UUID", "JSON")
_STARTS = "'^[=+@\\t\\r-]'"
"""What a spreadsheet would take for a formula."""
Said = dict[str, Any]


def answer(channel: socket.socket) -> None:
    """Answer what is asked over the channel, and say there what came of it."""
    _, descriptors, _, _ = socket.recv_fds(channel, 1, MOST_FILES)
    with channel.makefile("rb") as asking:
        asked = json.loads(asking.read())
    channel.sendall(BEGUN)
    asked["tables"] = dict(zip(asked["tables"], descriptors[1:], strict=True))
    with open(descriptors[0], "wb") as out:
        said = _answer(asked, out)
    channel.sendall(json.dumps(said).encode())


def _answer(asked: Said, out: BinaryIO) -> Said:
    limits = asked["limits"]
    _end_late(limits["seconds"] + _GRACE_S)
    connection = _open(limits, asked["tables"])
    _confine(limits)
    late = threading.Event()
    timer = threading.Timer(limits["seconds"], _interrupt, (connection, late))
    timer.daemon = True
    timer.start()
    try:
        return _write(connection, asked, out)
    except (duckdb.OutOfMemoryException, MemoryError, pyarrow.ArrowMemoryError):
        return {"error": "memory", "detail": ""}
    except (duckdb.Error, pyarrow.ArrowException, UnicodeError, OSError) as error:
        kind = "late" if late.is_set() else "failed"
        return {"error": kind, "detail": _explain(error)}


def _explain(error: Exception) -> str:
    """The first lines of what DuckDB says: the cause, and what may have been meant."""
    told, _, _ = str(error).strip().partition("\n\n")
    return " ".join(told.splitlines()[:2])


def _open(limits: Said, tables: dict[str, int]) -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory that holds the tables and can neither reach nor be set to anything."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",
        "memory_limit": f"{limits['memory_mb']}MB",
        "threads": str(limits["threads"]),
    }
    connection = duckdb.connect(":memory:", config=settings)
    for name, descriptor in tables.items():
        mapped = pyarrow.memory_map(f"/dev/fd/{descriptor}")
        connection.register(name, pyarrow.ipc.open_stream(mapped).read_all())
    connection.execute("set lock_configuration = true")
    return connection


def _confine(limits: Said) -> None:
    """Bound what this process can take, whatever DuckDB counts of it."""
    most = (limits["memory_mb"] + _ROOM_MB) * _MB
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _interrupt(connection: duckdb.DuckDBPyConnection, late: threading.Event) -> None:
    late.set()
    connection.interrupt()


def _end_late(seconds: float) -> None:
    """Have the system end this process then, even if nothing in it listens."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _write(connection: duckdb.DuckDBPyConnection, asked: Said, out: BinaryIO) -> Said:
    sql, most = _until_end(str(asked["sql"])), asked["limits"]["rows"]
    # One row more tells that there are more; all others need not be computed.
    result = connection.sql(sql).limit(sys.maxsize if most is None else most + 1)
    if asked["form"] == "csv":
        result = result.project(_list_as_texts(result))
    batches = result.to_arrow_reader(_BATCH)
    cut = _Cut(most)
    _FORMS[asked["form"]](batches.schema, cut.pieces(batches), out)
    return {"rows": cut.rows, "more": cut.more}


def _until_end(sql: str) -> str:
    """The one statement without the semicolon and the comments that may follow it."""
    text = sql.encode()
    for offset, _ in duckdb.tokenize(sql):
        if text[offset : offset + 1] == b";":
            return text[:offset].decode()
    return sql


class _Cut:
    """The first rows of a result."""

    def __init__(self, most: int | None) -> None:
        self.rows, self.more = 0, False
        self._most = sys.maxsize if most is None else most

    def pieces(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """The batches until there are as many rows as may be."""
        for batch in batches:
            left = self._most - self.rows
            if len(batch) > left:
                self.more = True
                batch = batch.slice(0, left)
            self.rows += len(batch)
            yield batch
            if self.more:
                return


def _list_as_texts(result: duckdb.DuckDBPyRelation) -> str:
    """The columns of a result as CSV can hold them, in SQL."""
    return ", ".join(map(_as_text, result.columns, map(str, result.types)))


def _as_text(name: str, kind: str) -> str:
    column = f'"{name.replace(chr(34), chr(34) * 2)}"'
    if kind == "VARCHAR":
        return f"regexp_replace({column}, {_STARTS}, '''\\0') as {column}"
    is_nested = any(one in kind for one in _NESTED) and not kind.startswith("TIMESTAMP")
    if is_nested:
        return f"cast({column} as varchar) as {column}"
    return column


Batches = Iterator[pyarrow.RecordBatch]


def _write_arrow(schema: pyarrow.Schema, batches: Batches, out: BinaryIO) -> None:
    with pyarrow.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_csv(schema: pyarrow.Schema, batches: Batches, out: BinaryIO) -> None:
    with pyarrow.csv.CSVWriter(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_json(schema: pyarrow.Schema, batches: Batches, out: BinaryIO) -> None:
    for row in chain.from_iterable(batch.to_pylist() for batch in batches):
        out.write(json.dumps(row, ensure_ascii=False, default=str).encode() + b"\n")


def _write_parquet(schema: pyarrow.Schema, batches: Batches, out: BinaryIO) -> None:
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


_FORMS: dict[str, Callable[[pyarrow.Schema, Batches, BinaryIO], None]] = {
    "arrow": _write_arrow,
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
