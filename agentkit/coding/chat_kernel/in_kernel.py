"""The kernel in its sandbox: IPython that sends pictures, tables and charts as data, not as HTML.

Started as a file inside of the sandbox, where agentkit is not there to be imported:
`python in_kernel.py CONNECTION_FILE LIMITS`, where LIMITS is a JSON object, see
`RunningKernel` in `following.py`. Code in the kernel can undo all of this; what bounds it for sure
stands outside.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

TABLE = "application/vnd.agentkit.table+json"
CHART = "application/vnd.agentkit.chart+json"
VARIABLES = "application/vnd.agentkit.variables+json"
LEFT_OUT = "application/vnd.agentkit.left-out+json"
SHOWN = ("text/plain", "image/png", "image/jpeg")
OPTIONS = (
    "--HistoryManager.enabled=False",
    "--InteractiveShell.colors=nocolor",
    "--InteractiveShell.xmode=Plain",
    "--InteractiveShell.cache_size=0",  # else no value of a last line would ever be let go
)
MESSAGES = 50_000
"""Pieces of output that wait while the other side is busy; of more some get lost."""
Value = str | int | float | bool | None
EXACT = 2**53
"""From here on JavaScript does not know whole numbers exactly."""
MISSING = ("NaT", "<NA>")
"""How values that are missing say so."""
_UNITS: dict[Any, str] = {
    str: "characters",
    (bytes, bytearray): "bytes",
    (list, tuple, dict, set, frozenset): "items",
}
"""What the length of a value counts, by its class."""


def main() -> None:
    """Serve until the end of the process."""
    connection, limits = sys.argv[1], json.loads(sys.argv[2])
    here = os.getcwd()
    os.chdir("/")  # where nobody has left a configuration
    absent: Any = None
    sys.modules["debugpy"] = absent  # nobody debugs here, and it takes long to load
    from ipykernel.kernelapp import IPKernelApp

    class App(IPKernelApp):
        def init_iopub(self, context: Any) -> None:
            context.sndhwm = MESSAGES
            begin: Any = super().init_iopub
            begin(context)

    app: Any = App.instance()
    app.initialize(["-f", connection, *OPTIONS])
    del sys.modules["debugpy"]
    os.chdir(here)
    for stream in (sys.stdout, sys.stderr):
        _forget_terminal(stream)
    shell: Any = app.shell
    shell.history_manager.outputs = _NothingKept()
    shell.show_variables = lambda: show_variables(shell, limits["variables"])
    _show_as_data(shell, limits)
    _CappedStreams(shell, limits["text"])
    app.start()


class _NothingKept(dict[int, list[object]]):
    """In place of where IPython keeps all that cells put out, for nobody, until memory is full."""

    def __missing__(self, cell: int) -> list[object]:
        return []


def _forget_terminal(stream: Any) -> None:
    """What programs print is caught, and copied to where our own output went, which nobody
    reads.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream._original_stdstream_copy)
    os.close(nowhere)


class _CappedStreams:
    """Lets only the first characters of a cell's prints out, and says then how many there were."""

    def __init__(self, shell: Any, most: int) -> None:
        self._most = self._room = most
        self._left_out = 0
        for stream in (sys.stdout, sys.stderr):
            stream.write = self._cap(stream.write)  # type: ignore[method-assign]
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._tell)

    def _cap(self, write: Callable[[str], int]) -> Callable[[str], int]:
        def write_some(text: str) -> int:
            if len(text) > self._room:
                self._left_out += len(text) - self._room
                if self._room:
                    write(text[: self._room])
                self._room = 0
                return len(text)
            written = write(text)
            self._room -= len(text)
            return written

        return write_some

    def _begin(self, *_: object) -> None:
        self._room, self._left_out = self._most, 0

    def _tell(self, *_: object) -> None:
        if self._left_out:
            _display({LEFT_OUT: {"kind": "text", "count": self._left_out}})


def _display(data: dict[str, object]) -> None:
    from IPython import display

    publish: Any = display.publish_display_data
    publish(data)


def _show_as_data(shell: Any, limits: dict[str, int]) -> None:
    from IPython.core.formatters import BaseFormatter
    from traitlets import ObjectName, Unicode

    class TableFormatter(BaseFormatter):
        format_type = Unicode(TABLE)
        print_method = ObjectName("_repr_agentkit_table_")
        _return_type = dict

        def __call__(self, obj: object) -> object:
            return make_table(obj, limits)

    class ChartFormatter(BaseFormatter):
        format_type = Unicode(CHART)
        print_method = ObjectName("_repr_agentkit_chart_")
        _return_type = dict

        def __call__(self, obj: object) -> object:
            return make_chart(obj)

    display = shell.display_formatter
    display.active_types = list(SHOWN)
    display.mimebundle_formatter.enabled = False  # HTML and scripts, which are not shown
    display.formatters[TABLE] = TableFormatter(parent=display)
    display.formatters[CHART] = ChartFormatter(parent=display)


def make_chart(thing: object) -> dict[str, object] | None:
    """The Vega-Lite specification of a chart of altair; None for anything else."""
    altair: Any = sys.modules.get("altair")
    if altair is None or not isinstance(thing, altair.TopLevelMixin):
        return None
    chart: Any = thing
    return dict(chart.to_dict())


def make_table(thing: object, limits: dict[str, int]) -> dict[str, object] | None:
    """The first columns and rows of a DataFrame or a Series of pandas; None for anything else."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(thing, pandas.DataFrame | pandas.Series):
        return None
    frame: Any = thing
    if not isinstance(thing, pandas.DataFrame):
        frame = thing.to_frame()
    part = frame.iloc[: limits["rows"], : limits["columns"]]
    names = [_write_name(name, limits["cell"]) for name in part.columns]
    columns = [part.iloc[:, at] for at in range(part.shape[1])]
    total_rows, total_columns = map(int, frame.shape)
    index = part.index
    if not isinstance(index, pandas.RangeIndex):
        names[:0] = [_write_name(name, limits["cell"]) for name in index.names]
        columns[:0] = map(index.get_level_values, range(index.nlevels))
        total_columns += index.nlevels
    return {
        "columns": names,
        "rows": list(_read_rows(columns, len(part), limits)),
        "total_rows": total_rows,
        "total_columns": total_columns,
    }


def _write_name(name: object, most: int) -> str:
    if name is None:
        return ""
    if isinstance(name, tuple):
        name = " / ".join(map(str, name))
    return str(name)[:most]


def _read_rows(columns: list[Any], count: int, limits: dict[str, int]) -> Iterator[list[Value]]:
    """The rows, as many as are not too long together."""
    room = limits["table"]
    lists = [column.tolist() for column in columns]
    for at in range(count):
        row = [to_value(cells[at], limits["cell"]) for cells in lists]
        room -= sum(len(str(value)) + 8 for value in row)
        if room < 0:
            return
        yield row


def to_value(cell: object, most: int) -> Value:
    """A cell as JSON has it; text where JSON has nothing like it, None for what is missing."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int) and abs(cell) < EXACT:
        return cell
    if isinstance(cell, float):
        return _to_number(cell)
    text = str(cell)
    if text in MISSING:
        return None
    return text[:most]


def _to_number(cell: float) -> Value:
    if math.isnan(cell):
        return None
    if math.isinf(cell):
        return str(cell)
    return cell


def show_variables(shell: Any, most: int) -> None:
    """Display the names that code has made, with type and size."""
    hidden, absent = shell.user_ns_hidden, object()
    found: list[list[str]] = []
    for name, value in list(shell.user_ns.items()):
        if not name.startswith("_") and hidden.get(name, absent) is not value:
            found.append([name, type(value).__name__, describe_size(value)])
    _display({VARIABLES: {"variables": sorted(found)[:most]}})


def describe_size(value: object) -> str:
    """How large something is, in the words of its kind; empty where there are none."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return " × ".join(f"{length:,}" for length in shape if isinstance(length, int))
    for kinds, unit in _UNITS.items():
        if isinstance(value, kinds):
            return f"{len(value):,} {unit}"
    return ""


if __name__ == "__main__":
    main()
