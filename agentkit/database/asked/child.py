"""What a process does that answers one SELECT, and nothing else, before it ends.

What it is asked comes as JSON over a channel, with the descriptors of a file for the result and of
the Arrow streams to read; what came of it goes back, one line of JSON.
"""

from __future__ import annotations

import errno
import json
import math
import re
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
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
_HUGE = "UHUGEINT"
"""Integers of which Arrow has no type that holds them all."""
_FRACTIONS = re.compile(r"DECIMAL\(\d+,[1-9]\d*\)")
_STARTS = "'^[=+@\\t\\r-]'"
"""What a spreadsheet would take for a formula."""
Said = dict[str, Any]
Batches = Iterator[pyarrow.RecordBatch]


def answer(channel: socket.socket) -> None:
    """Answer what is asked over the channel, and say there what came of it."""
    _, descriptors, _, _ = socket.recv_fds(channel, 1, MOST_FILES)
    with channel.makefile("rb") as asking:
        asked = json.loads(asking.read())
    channel.sendall(BEGUN)
    asked["tables"] = dict(zip(asked["tables"], descriptors[1:], strict=True))
    said: Said = {"error": "failed", "detail": "the file of the result cannot be written"}
    with suppress(OSError), open(descriptors[0], "wb") as out:  # the last of it may not fit
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
        said = _write(connection, asked, out)
        out.flush()
        return said
    except (duckdb.OutOfMemoryException, MemoryError, pyarrow.ArrowMemoryError):
        return {"error": "memory", "detail": ""}
    except (duckdb.Error, pyarrow.ArrowException, UnicodeError, OSError) as error:
        return {"error": _name_kind(error, late.is_set()), "detail": _explain(error)}


def _name_kind(error: Exception, is_late: bool) -> str:
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "large"
    return "late" if is_late else "failed"


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
    """Bound what this process can take and write, whatever DuckDB counts of it."""
    _bound(resource.RLIMIT_DATA, (limits["memory_mb"] + _ROOM_MB) * _MB)
    _bound(resource.RLIMIT_FSIZE, limits["file_mb"] * _MB)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bound(what: int, most: int) -> None:
    """Set a limit, which stays lower where it is so already."""
    _, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def _interrupt(connection: duckdb.DuckDBPyConnection, late: threading.Event) -> None:
    late.set()
    connection.interrupt()


def _end_late(seconds: float) -> None:
    """Have the system end this process then, even if nothing in it listens."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


class _TooLarge(Exception):
    """A column has an integer of more than 64 bits."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


def _write(connection: duckdb.DuckDBPyConnection, asked: Said, out: BinaryIO) -> Said:
    """Write the result; where integers turn out to be too large, once more with them as doubles."""
    begins = out.tell()
    large: set[str] = set()
    while True:
        try:
            return _write_with(connection, asked, out, large)
        except _TooLarge as error:
            large.add(error.column)
            out.seek(begins)
            out.truncate()


def _write_with(
    connection: duckdb.DuckDBPyConnection, asked: Said, out: BinaryIO, large: set[str]
) -> Said:
    sql, most = _until_end(str(asked["sql"])), asked["limits"]["rows"]
    # One row more tells that there are more; all others need not be computed.
    result = connection.sql(sql).limit(sys.maxsize if most is None else most + 1)
    cut = _Cut(most)
    if asked["form"] == "csv":
        batches = result.project(_list_as_texts(result)).to_arrow_reader(_BATCH)
        schema, pieces = batches.schema, cut.pieces(batches)
    else:
        batches = result.project(_list_as_numbers(result, large)).to_arrow_reader(_BATCH)
        schema = _with_integers(batches.schema)
        pieces = _to_integers(cut.pieces(batches), schema)
    _FORMS[asked["form"]](schema, pieces, out)
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
    column = _quote(name)
    if kind == "VARCHAR":
        return f"regexp_replace({column}, {_STARTS}, '''\\0') as {column}"
    is_nested = any(one in kind for one in (*_NESTED, _HUGE)) and not kind.startswith("TIMESTAMP")
    if is_nested:
        return f"cast({column} as varchar) as {column}"
    return column


def _list_as_numbers(result: duckdb.DuckDBPyRelation, large: set[str]) -> str:
    """The columns of a result, in SQL, with numbers that other programs know."""
    kinds = dict(zip(result.columns, map(str, result.types), strict=True))
    kinds.update(dict.fromkeys(large, ""))
    return ", ".join(map(_as_number, kinds, kinds.values()))


def _as_number(name: str, kind: str) -> str:
    """A column; one without a kind is too large for anything but a double."""
    column = _quote(name)
    if kind in ("", _HUGE) or _FRACTIONS.fullmatch(kind):
        return f"cast({column} as double) as {column}"
    return column


def _quote(name: str) -> str:
    return f'"{name.replace(chr(34), chr(34) * 2)}"'


def _with_integers(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The schema with integers of 64 bits for those of more, such as sums are, and for decimals
    without a fraction.
    """
    kinds = [pyarrow.int64() if pyarrow.types.is_decimal(one.type) else one.type for one in schema]
    return pyarrow.schema(zip(schema.names, kinds, strict=True))


def _to_integers(batches: Batches, schema: pyarrow.Schema) -> Batches:
    """The batches in the schema; raises _TooLarge where an integer does not fit."""
    for batch in batches:
        columns = map(_to_kind, schema, batch.columns)
        yield pyarrow.RecordBatch.from_arrays(list(columns), schema=schema)


def _to_kind(field: pyarrow.Field, column: pyarrow.Array) -> pyarrow.Array:
    if column.type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pyarrow.ArrowInvalid:
        raise _TooLarge(field.name) from None


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
        out.write(_write_row(row).encode() + b"\n")


def _write_row(row: Any) -> str:
    """A row as JSON, which has neither NaN nor Infinity."""
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False, default=_to_plain)
    try:
        return write(row)
    except ValueError:
        return write(_without_infinite(row))


def _to_plain(value: object) -> object:
    """What JSON has no form for: numbers within lists are numbers, the rest is text."""
    if not isinstance(value, Decimal):
        return str(value)
    return int(value) if value == value.to_integral_value() else float(value)


def _without_infinite(value: Any) -> Any:
    """The value with null in place of NaN and Infinity."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: _without_infinite(one) for name, one in value.items()}
        case list() | tuple():
            return list(map(_without_infinite, value))
    return value


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
