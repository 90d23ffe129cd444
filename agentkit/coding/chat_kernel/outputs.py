"""What a cell put out, as typed data: every line from the sandbox is checked, as code could have
written it.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from agentkit.core.given import coalesce, is_list_of
from agentkit.core.lenient import count_or_zero, find_below
from agentkit.messages import text_or_empty, without_keys

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
_MOST_EXACT = 2**53 - 1
"""Larger whole numbers are no longer exact where JavaScript reads them."""
_NOUNS = {TABLE: "table", CHART: "chart", "image/png": "picture", "image/jpeg": "picture"}

Value = str | int | float | bool | None
_VALUES = get_args(Value)
StreamName = Literal["stdout", "stderr", "result"]
PictureForm = Literal["image/png", "image/jpeg"]
_BEGINS: Mapping[PictureForm, bytes] = {
    "image/png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "image/jpeg": b"\xff\xd8\xff",
}


class _Shown:
    """One output, for a person and for those who read text alone, such as models."""

    __slots__ = ()

    def as_text(self) -> str:
        """The output as text."""
        return f"{self}\n"

    def as_finished(self) -> Self:
        """The output when the cell has ended."""
        return self


@dataclass(frozen=True, slots=True)
class Text(_Shown):
    """Printed text, or the value of the last line as text."""

    text: str
    stream: StreamName = "stdout"

    def as_text(self) -> str:
        """The text."""
        return self.text

    def as_finished(self) -> Self:
        """The text as a terminal shows it where lines were written over, as by bars of progress."""
        lines = self.text.split("\n")
        shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
        return replace(self, text=shown)


@dataclass(frozen=True, slots=True)
class CellError(_Shown):
    """The exception that ended a cell; its traceback names no path of this machine."""

    name: str
    message: str
    traceback: str

    def as_text(self) -> str:
        """The traceback."""
        return f"{self.traceback}\n"


@dataclass(frozen=True, slots=True)
class Picture(_Shown):
    """A PNG or JPEG, of which only the head was looked at."""

    data: bytes
    mime: PictureForm

    def as_text(self) -> str:
        """That there is one."""
        return f"[picture: {self.mime}, {len(self.data):,} bytes]\n"


@dataclass(frozen=True, slots=True)
class Table(_Shown):
    """The first rows and columns of a DataFrame, its index before them; None is a missing value."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    total_rows: int
    total_columns: int

    def as_text(self) -> str:
        """Its size, and its first rows."""
        told = f"[table: {self.total_rows:,} rows, {self.total_columns:,} columns]"
        lines = [self.columns, *self.rows[:20]]
        written = [" | ".join(map(_to_cell, line)) for line in lines]
        return "\n".join([told, *written, ""])


def _to_cell(value: Value) -> str:
    return str(coalesce(value, ""))


@dataclass(frozen=True, slots=True)
class Chart(_Shown):
    """A Vega-Lite specification with its data in it; it loads nothing from anywhere."""

    spec: Mapping[str, object]

    def as_text(self) -> str:
        """That there is one."""
        return "[chart]\n"


@dataclass(frozen=True, slots=True)
class LeftOut(_Shown):
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


def _tell_nobody(output: Output) -> None:
    """What a collector tells where nobody listens."""


class Collector:
    """Takes the lines of one cell, and gives each output on as soon as it is there."""

    def __init__(self, output_bytes: int, tell: Callable[[Output], None] | None = None) -> None:
        self.outputs: list[Output] = []
        self.variables: tuple[Variable, ...] = ()
        self.status = ""
        self._room = output_bytes
        self._left_out = self._crowded = 0
        self._pictures = PICTURES_BYTES
        self._tell = coalesce(tell, _tell_nobody)

    def take(self, line: Line) -> None:
        """A line from the sandbox; one that is not as it should be shows nothing."""
        take = _TAKEN.get(_text(line, "kind"))
        if take is not None:
            take(self, line)

    def finish(self) -> tuple[Output, ...]:
        """All outputs; the last ones say what was left out."""
        if self._left_out:
            self._append(LeftOut("text", self._left_out, "that is more than is kept of a cell"))
        if self._crowded:
            self._append(LeftOut("output", self._crowded, f"a cell shows {OUTPUTS} at most"))
        self._left_out = self._crowded = 0
        return tuple(output.as_finished() for output in self.outputs)

    def text(self) -> str:
        """What there is by now, as text."""
        return "".join(map(to_text, self.outputs))

    # Kinds of lines

    def _take_stream(self, line: Line) -> None:
        is_error = line.get("name") == "stderr"
        self._add_text(_text(line, "text"), "stderr" if is_error else "stdout")

    def _take_error(self, line: Line) -> None:
        self._add(
            CellError(
                _read_told(line, "name")[:200],
                _read_told(line, "message"),
                _read_told(line, "traceback"),
            )
        )

    def _take_display(self, line: Line) -> None:
        """What is shown comes in one form."""
        data = line.get("data")
        if not isinstance(data, dict):
            return
        shown = (form for form in _SHOWN_AS if form in data)
        form = next(shown, None)
        if form is not None:
            _SHOWN_AS[form](self, data)

    def _take_left_out(self, line: Line) -> None:
        self._left_out += _count(line, "count")

    def _take_lost(self, line: Line) -> None:
        self._add(LeftOut("output", 0, "more came at once than can be taken"))

    def _take_end(self, line: Line) -> None:
        self.status = _text(line, "status")

    # Forms of what is shown

    def _show_too_large(self, data: Line) -> None:
        what = _NOUNS.get(_text(data, "too large"), "output")
        self._add(LeftOut(what, _count(data, "count"), "it is too large"))

    def _show_left_out(self, data: Line) -> None:
        self._left_out += count_or_zero(find_below(data, _LEFT_OUT, "count"))

    def _show_variables(self, data: Line) -> None:
        self.variables = _read_variables(find_below(data, _VARIABLES, "variables"))

    def _show_table(self, data: Line) -> None:
        self._add(_read_table(data[TABLE]))

    def _show_chart(self, data: Line) -> None:
        spec = data[CHART]
        if isinstance(spec, dict):
            self._add(read_chart(spec))

    def _show_result(self, data: Line) -> None:
        self._left_out += _count(data, "count")
        self._add_text(_text(data, "text/plain") + "\n", "result")

    def _show_png(self, data: Line) -> None:
        self._add_picture(_read_picture(data, "image/png"))

    def _show_jpeg(self, data: Line) -> None:
        self._add_picture(_read_picture(data, "image/jpeg"))

    def _add_picture(self, found: Output | None) -> None:
        """A picture while there is room for one."""
        if not isinstance(found, Picture):
            self._add(found)
            return
        size = len(found.data)
        if size > self._pictures:
            self._add(LeftOut("picture", size, "the cell has too many"))
            return
        self._pictures -= size
        self._add(found)

    def _add_text(self, text: str, stream: StreamName) -> None:
        encoded = _ANSI.sub("", text).replace("\r\n", "\n").encode("utf-8", "replace")
        kept = encoded[: self._room].decode("utf-8", "ignore")
        self._left_out += len(encoded[self._room :].decode("utf-8", "ignore"))
        self._room -= min(self._room, len(encoded))
        if kept:
            self._add(Text(kept, stream))

    def _add(self, output: Output | None) -> None:
        if output is None:
            return
        if self._goes_on(output):
            self._tell(output)
        elif len(self.outputs) < OUTPUTS or isinstance(output, CellError):
            self._append(output)
        else:
            self._crowded += len(output.as_text())

    def _goes_on(self, output: Output) -> bool:
        """Whether it is more text of the same stream, which is put behind what there is."""
        last = next(reversed(self.outputs), None)
        if not (isinstance(output, Text) and isinstance(last, Text)):
            return False
        if last.stream != output.stream:
            return False
        self.outputs[-1] = Text(last.text + output.text, last.stream)
        return True

    def _append(self, output: Output) -> None:
        self.outputs.append(output)
        self._tell(output)


_TAKEN: Mapping[str, Callable[[Collector, Line], None]] = {
    "stream": Collector._take_stream,
    "error": Collector._take_error,
    "display": Collector._take_display,
    "left_out": Collector._take_left_out,
    "lost": Collector._take_lost,
    "done": Collector._take_end,
}
_SHOWN_AS: Mapping[str, Callable[[Collector, Line], None]] = {
    "too large": Collector._show_too_large,
    _LEFT_OUT: Collector._show_left_out,
    _VARIABLES: Collector._show_variables,
    TABLE: Collector._show_table,
    CHART: Collector._show_chart,
    "text/plain": Collector._show_result,
    "image/png": Collector._show_png,
    "image/jpeg": Collector._show_jpeg,
}
"""Where data comes in several forms, the first of these is shown."""


def to_text(output: Output) -> str:
    """An output for those who read text alone, such as models."""
    return output.as_text()


def _text(data: Mapping[str, object], name: str) -> str:
    return text_or_empty(data.get(name))


def _count(data: Mapping[str, object], name: str) -> int:
    return count_or_zero(data.get(name))


def _read_told(line: Line, name: str) -> str:
    """A part of an error, without colours and places of this machine."""
    plain = _ANSI.sub("", _text(line, name))
    return scrub(plain)[:TRACEBACK_CHARACTERS]


def _host_paths() -> list[str]:
    prefixes = {sys.prefix, sys.base_prefix, *map(os.path.realpath, (sys.prefix, sys.base_prefix))}
    return sorted(prefixes - {"", "/"}, key=len, reverse=True)


def scrub(text: str) -> str:
    """The text without the places where Python lies on this machine."""
    for prefix in _host_paths():
        text = text.replace(f"{prefix}/", "python/")
    return text


def _read_variables(listed: object) -> tuple[Variable, ...]:
    """Of what a kernel lists, what has the form of a variable."""
    if not isinstance(listed, list):
        return ()
    found = filter(_is_variable, listed[:VARIABLES])
    return tuple(Variable(name[:200], kind[:200], size[:200]) for name, kind, size in found)


def _is_variable(one: object) -> bool:
    return is_list_of(one, str) and len(one) == len(Variable.__slots__)


def _read_table(data: object) -> Table | None:
    """The table, as large as one is shown; None where it is not a table."""
    if not isinstance(data, dict):
        return None
    titles, sent = data.get("columns"), data.get("rows")
    if not (isinstance(titles, list) and is_list_of(sent, list)):
        return None
    if not all(is_list_of(row, _VALUES) for row in sent):
        return None
    columns = tuple(str(name)[:CELL_CHARACTERS] for name in titles[: 2 * COLUMNS])
    rows = tuple(tuple(map(_read_value, row)) for row in sent[:ROWS])
    widths = set(map(len, rows))
    if widths - {len(columns)}:
        return None
    total = max(count_or_zero(data.get("total_rows")), len(rows))
    wide = max(count_or_zero(data.get("total_columns")), len(columns))
    return Table(columns, rows, total, wide)


def _read_value(cell: Value) -> Value:
    if isinstance(cell, str):
        return cell[:CELL_CHARACTERS]
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    size = abs(coalesce(cell, 0))
    return str(cell) if size > _MOST_EXACT else cell


def _read_picture(sent: Line, mime: PictureForm) -> Output | None:
    try:
        data = base64.b64decode(_text(sent, mime).replace("\n", ""), validate=True)
    except ValueError:
        return None
    if len(data) > PICTURE_BYTES:
        return LeftOut("picture", len(data), "it is too large")
    if not data.startswith(_BEGINS[mime]):
        return None
    width, height = _read_size(data, mime)
    if width * height > PICTURE_PIXELS:
        return LeftOut("picture", len(data), f"it has {width:,} × {height:,} points")
    return Picture(data, mime)


def _read_size(data: bytes, mime: PictureForm) -> tuple[int, int]:
    """The points of a PNG; of other pictures they are not looked for."""
    if mime != "image/png":
        return 0, 0
    _, width, height = struct.unpack_from(">16sII", data.ljust(24, b"\0"))
    return width, height


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
    if "/vega-lite/" not in _text(spec, "$schema"):
        return LeftOut("chart", size, "it is not Vega-Lite")
    kept = without_keys(spec, ["usermeta"])
    if _loads_something(without_keys(kept, ["datasets"])):
        return LeftOut("chart", size, "it would load data, pictures or pages from elsewhere")
    return Chart(kept)


def _loads_something(spec: object) -> bool:
    waiting: list[object] = [spec]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if _is_loading(part):
                return True
            waiting += without_keys(part, ["values"]).values()
        elif isinstance(part, Sequence) and not isinstance(part, str):
            waiting += part
    return False


def _is_loading(part: Mapping[str, object]) -> bool:
    """Whether this part of a chart names an address, or draws pictures."""
    kind = find_below(part, "mark", "type")
    return not part.keys().isdisjoint(("url", "href")) or "image" in (part.get("mark"), kind)
