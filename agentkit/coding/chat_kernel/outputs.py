"""What a cell put out, as typed data: every line from the sandbox is checked, as code could have
written it.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

ROWS, COLUMNS, CELL_CHARACTERS = 1_000, 100, 1_000
TABLE_BYTES = CHART_BYTES = 2 << 20
PICTURE_BYTES, PICTURES_BYTES = 5 << 20, 20 << 20
PICTURE_PIXELS = 40_000_000
TRACEBACK_CHARACTERS = 20_000
RESULT_CHARACTERS = 100_000
VARIABLES, OUTPUTS = 500, 200
TABLE = "application/vnd.agentkit.table+json"
CHART = "application/vnd.agentkit.chart+json"
_VARIABLES = "application/vnd.agentkit.variables+json"
_LEFT_OUT = "application/vnd.agentkit.left-out+json"
FORMS = {
    _LEFT_OUT: 200,
    _VARIABLES: VARIABLES * CELL_CHARACTERS,
    TABLE: 2 * TABLE_BYTES,
    CHART: CHART_BYTES,
    "image/png": PICTURE_BYTES * 4 // 3 + 4,
    "image/jpeg": PICTURE_BYTES * 4 // 3 + 4,
    "text/plain": RESULT_CHARACTERS,
}
"""Kinds of display data, the best first, and how long each may be as it is sent."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_NOUNS = {TABLE: "table", CHART: "chart", "image/png": "picture", "image/jpeg": "picture"}

Value = str | int | float | bool | None
StreamName = Literal["stdout", "stderr", "result"]


@dataclass(frozen=True, slots=True)
class Text:
    """Printed text, or the value of the last line as text."""

    text: str
    stream: StreamName = "stdout"


@dataclass(frozen=True, slots=True)
class CellError:
    """The exception that ended a cell; its traceback names no path of this machine."""

    name: str
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG or JPEG, of which only the head was looked at."""

    data: bytes
    mime: Literal["image/png", "image/jpeg"]


@dataclass(frozen=True, slots=True)
class Table:
    """The first rows and columns of a DataFrame, its index before them; None is a missing value."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    total_rows: int
    total_columns: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification with its data in it; it loads nothing from anywhere."""

    spec: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a cell put out beyond the limits, and is not there."""

    what: str
    """`text`, `picture`, `table`, `chart` or `output`."""
    count: int
    """Characters of text, else bytes."""
    why: str

    def __str__(self) -> str:
        unit = "characters" if self.what == "text" else "bytes"
        return f"[{self.what} left out ({self.count:,} {unit}): {self.why}]"


@dataclass(frozen=True, slots=True)
class Variable:
    """A name that is alive in a kernel."""

    name: str
    type: str
    size: str
    """In the words of its kind, such as `1,000 × 3` or `12 items`; empty where there is none."""


Output = Text | CellError | Picture | Table | Chart | LeftOut
Line = dict[str, object]


class Collector:
    """Takes the lines of one cell, and gives each output on as soon as it is there."""

    def __init__(self, output_bytes: int, tell: Callable[[Output], None] | None = None) -> None:
        self.outputs: list[Output] = []
        self.variables: tuple[Variable, ...] = ()
        self.status = ""
        self._room = output_bytes
        self._left_out = self._crowded = 0
        self._pictures = PICTURES_BYTES
        self._tell = tell

    def take(self, line: Line) -> None:
        """A line from the sandbox; one that is not as it should be shows nothing."""
        kind = line.get("kind")
        if kind == "stream":
            self._add_text(_text(line, "text"), "stderr" if line.get("name") == "stderr" else None)
        elif kind == "error":
            self._add(_read_error(line))
        elif kind == "display" and isinstance(data := line.get("data"), dict):
            self._show(data)
        elif kind == "left_out":
            self._left_out += _count(line, "count")
        elif kind == "lost":
            self._add(LeftOut("output", 0, "more came at once than can be taken"))
        elif kind == "done":
            self.status = _text(line, "status")

    def finish(self) -> tuple[Output, ...]:
        """All outputs; the last ones say what was left out."""
        if self._left_out:
            self._append(LeftOut("text", self._left_out, "that is more than is kept of a cell"))
        if self._crowded:
            self._append(LeftOut("output", self._crowded, f"a cell shows {OUTPUTS} at most"))
        self._left_out = self._crowded = 0
        return tuple(
            Text(_overwrite(one.text), one.stream) if isinstance(one, Text) else one
            for one in self.outputs
        )

    def text(self) -> str:
        """What there is by now, as text."""
        return "".join(map(to_text, self.outputs))

    def _show(self, data: Mapping[str, object]) -> None:
        if "too large" in data:
            what = _NOUNS.get(_text(data, "too large"), "output")
            self._add(LeftOut(what, _count(data, "count"), "it is too large"))
        elif isinstance(told := data.get(_LEFT_OUT), dict):
            self._left_out += _count(told, "count")
        elif isinstance(listed := data.get(_VARIABLES), dict):
            self.variables = tuple(_read_variables(listed.get("variables")))
        elif isinstance(table := data.get(TABLE), dict):
            self._add(_read_table(table))
        elif isinstance(spec := data.get(CHART), dict):
            self._add(read_chart(spec))
        elif "text/plain" in data:
            self._left_out += _count(data, "count")
            self._add_text(_text(data, "text/plain") + "\n", "result")
        else:
            self._add(self._read_picture(data))

    def _read_picture(self, data: Mapping[str, object]) -> Output | None:
        for mime in ("image/png", "image/jpeg"):
            if mime in data:
                found = _read_picture(_text(data, mime), mime)
                if isinstance(found, Picture) and len(found.data) > self._pictures:
                    return LeftOut("picture", len(found.data), "the cell has too many")
                if isinstance(found, Picture):
                    self._pictures -= len(found.data)
                return found
        return None

    def _add_text(self, text: str, stream: StreamName | None) -> None:
        encoded = _ANSI.sub("", text).replace("\r\n", "\n").encode("utf-8", "replace")
        kept = encoded[: self._room].decode("utf-8", "ignore")
        self._left_out += len(encoded[self._room :].decode("utf-8", "ignore"))
        self._room -= min(self._room, len(encoded))
        if kept:
            self._add(Text(kept, stream or "stdout"))

    def _add(self, output: Output | None) -> None:
        if output is None:
            return
        last = self.outputs[-1] if self.outputs else None
        if isinstance(output, Text) and isinstance(last, Text) and last.stream == output.stream:
            self.outputs[-1] = Text(last.text + output.text, last.stream)
            if self._tell is not None:
                self._tell(output)
        elif len(self.outputs) < OUTPUTS or isinstance(output, CellError):
            self._append(output)
        else:
            self._crowded += len(to_text(output))

    def _append(self, output: Output) -> None:
        self.outputs.append(output)
        if self._tell is not None:
            self._tell(output)


def to_text(output: Output) -> str:
    """An output for those who read text alone, such as models."""
    match output:
        case Text(text):
            return text
        case CellError(traceback=traceback):
            return f"{traceback}\n"
        case Picture(data, mime):
            return f"[picture: {mime}, {len(data):,} bytes]\n"
        case Table():
            lines = [output.columns, *output.rows[:20]]
            told = f"[table: {output.total_rows:,} rows, {output.total_columns:,} columns]"
            written = [" | ".join("" if v is None else str(v) for v in line) for line in lines]
            return "\n".join([told, *written, ""])
        case Chart():
            return "[chart]\n"
    return f"{output}\n"


def _overwrite(text: str) -> str:
    """The text as a terminal shows it where lines were written over, as by bars of progress."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _text(data: Mapping[str, object], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _count(data: Mapping[str, object], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _read_error(line: Line) -> CellError:
    named = [_text(line, "name")[:200], _text(line, "message"), _text(line, "traceback")]
    name, message, trace = (scrub(_ANSI.sub("", one))[:TRACEBACK_CHARACTERS] for one in named)
    return CellError(name, message, trace)


def _host_paths() -> list[str]:
    prefixes = {sys.prefix, sys.base_prefix, *map(os.path.realpath, (sys.prefix, sys.base_prefix))}
    return sorted((prefix for prefix in prefixes if len(prefix) > 1), key=len, reverse=True)


def scrub(text: str) -> str:
    """The text without the places where Python lies on this machine."""
    for prefix in _host_paths():
        text = text.replace(f"{prefix}/", "python/")
    return text


def _read_variables(listed: object) -> Iterator[Variable]:
    if not isinstance(listed, list):
        return
    for one in listed[:VARIABLES]:
        if isinstance(one, list) and len(one) == 3 and all(isinstance(part, str) for part in one):
            yield Variable(*(part[:200] for part in one))


def _read_table(data: Mapping[str, object]) -> Table | None:
    names, lines = data.get("columns"), data.get("rows")
    if not isinstance(names, list) or not isinstance(lines, list):
        return None
    columns = tuple(str(name)[:CELL_CHARACTERS] for name in names[: 2 * COLUMNS])
    rows = tuple(_read_row(line, len(columns)) for line in lines[:ROWS])
    if None in rows:
        return None
    total = max(_count(data, "total_rows"), len(rows))
    wide = max(_count(data, "total_columns"), len(columns))
    return Table(columns, tuple(row for row in rows if row is not None), total, wide)


def _read_row(line: object, width: int) -> tuple[Value, ...] | None:
    if not isinstance(line, list) or len(line) != width:
        return None
    if not all(cell is None or isinstance(cell, str | int | float) for cell in line):
        return None
    return tuple(map(_read_value, line))


def _read_value(cell: Value) -> Value:
    if isinstance(cell, str):
        return cell[:CELL_CHARACTERS]
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    return str(cell) if isinstance(cell, int) and abs(cell) >= 2**53 else cell


def _read_picture(text: str, mime: str) -> Output | None:
    try:
        data = base64.b64decode(text.replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) > PICTURE_BYTES:
        return LeftOut("picture", len(data), "it is too large")
    if mime == "image/jpeg":
        return Picture(data, "image/jpeg") if data.startswith(b"\xff\xd8\xff") else None
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return None
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    if width * height > PICTURE_PIXELS:
        return LeftOut("picture", len(data), f"it has {width:,} × {height:,} points")
    return Picture(data, "image/png")


def read_chart(spec: dict[str, object]) -> Output:
    """The chart, unless a browser that draws it would fetch something, and thereby tell
    something.
    """
    try:
        size = len(json.dumps(spec, allow_nan=False))
    except ValueError:
        return LeftOut("chart", 0, "it has numbers that no chart can show")
    if size > CHART_BYTES:
        return LeftOut("chart", size, "it is too large")
    schema = spec.get("$schema")
    if not isinstance(schema, str) or "/vega-lite/" not in schema:
        return LeftOut("chart", size, "it is no Vega-Lite")
    kept = {name: part for name, part in spec.items() if name != "usermeta"}
    if _loads_something({name: part for name, part in kept.items() if name != "datasets"}):
        return LeftOut("chart", size, "it would load data, pictures or pages from elsewhere")
    return Chart(kept)


def _loads_something(spec: object) -> bool:
    waiting: list[object] = [spec]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.keys() & {"url", "href"} or _is_picture(part.get("mark")):
                return True
            waiting += [inner for name, inner in part.items() if name != "values"]
        elif isinstance(part, Sequence) and not isinstance(part, str):
            waiting += part
    return False


def _is_picture(mark: object) -> bool:
    return "image" in (mark, mark.get("type") if isinstance(mark, dict) else None)
