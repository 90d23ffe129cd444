"""What a SELECT gave: as a table, as a chart of two of its columns, and as files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import streamlit as st

from agentkit.core.given import list_missing
from agentkit.database.asked import Form, Written
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import figures, times

if TYPE_CHECKING:
    import altair
    import pandas

SHOWN = 10_000
"""Rows that are shown; files have all."""
_FORMS: dict[str, tuple[Form, str]] = {
    "CSV": ("csv", "csv"),
    "Parquet": ("parquet", "parquet"),
    "Arrow": ("arrow", "arrow"),
    "JSON": ("json", "jsonl"),
}
_BARS, _POINTS = 60, 5_000
"""Rows that a chart has at most."""
Shape = Literal["Bars", "Line", "Points"]
_MOST: dict[Shape, int] = {"Bars": _BARS, "Line": _POINTS, "Points": _POINTS}


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a statement."""

    sql: str
    frame: pandas.DataFrame
    written: Written


def read_result(sql: str) -> Result:
    """Ask; raises SqlRefused and StoreError."""
    import pyarrow

    usage = state.workspace().usage_sql
    made, written = usage.ask(state.owner(), sql)
    with made, pyarrow.ipc.open_stream(made) as reader:
        frame = reader.read_all().to_pandas()
    return Result(sql, frame, written)


def draw_result(result: Result) -> None:
    """The table and the chart, and the ways to take it away."""
    rows = figures.count(result.written.rows, "row")
    more = f"The first {rows}; the files have all." if result.written.more else f"{rows}."
    st.caption(more)
    if not result.written.rows:
        return
    table, chart = st.tabs(["Table", "Chart"], key="sql-shown", on_change="rerun")
    with table:
        _draw_table(result.frame)
    if chart.open:
        with chart:
            _draw_chart(result.frame)
    _draw_downloads(result)


def _draw_downloads(result: Result) -> None:
    with st.container(horizontal=True, key="sql-files"):
        for name, (form, ending) in _FORMS.items():
            file = f"usage-{times.today()}.{ending}"
            made = partial(_open, result.sql, form)
            downloads.draw_link(f"All rows as {name}", made, file, key=f"sql-{form}")


def _open(sql: str, form: Form) -> BinaryIO:
    return state.workspace().usage_sql.open(state.owner(), sql, form)


def _draw_table(frame: pandas.DataFrame) -> None:
    """Times as the files have them, in UTC."""
    st.dataframe(frame, hide_index=True, key="sql-table", alt="What the SELECT gave")


def _draw_chart(frame: pandas.DataFrame) -> None:
    """A chart of the chosen columns."""
    names = [str(name) for name in frame.columns]
    numbers = [str(name) for name in frame.select_dtypes("number").columns]
    if not numbers:
        st.caption("No column holds numbers, so there is nothing to draw.")
        return
    others = list_missing(names, numbers)
    with st.container(horizontal=True, vertical_alignment="bottom", key="sql-axes"):
        shape = st.segmented_control(
            "Shape", list(_MOST), default="Bars", required=True, key="sql-shape"
        )
        x = st.selectbox("Across", names, names.index((others or names)[0]), key="sql-x", width=200)
        y = st.selectbox("Up", numbers, key="sql-y", width=200)
        by = st.selectbox("Colour", others, None, key="sql-by", width=200, placeholder="No column")
    kept = frame.head(_MOST[shape])
    if len(kept) < len(frame):
        st.caption(f"The chart has the first {figures.count(len(kept), 'row')}.")
    told = f"{y} by {x}, {figures.count(len(kept), 'row')}."
    drawn: Any = build_chart(kept, shape, x, y, by)
    st.altair_chart(drawn, width="stretch", alt=told, key="sql-chart")


def build_chart(
    frame: pandas.DataFrame, shape: Shape, x: str, y: str, by: str | None = None
) -> altair.Chart:
    """The chart of two columns, with a third as the colour."""
    import altair as alt

    drawn: Any = alt.Chart(_plain(frame), height=400)
    drawn = _MARKS[shape](drawn)
    is_bars = shape == "Bars"
    sort = None if is_bars else alt.Undefined
    kind: Any = "nominal" if is_bars else _kind(frame, x)
    encoded = {
        "x": alt.X(field=_field(x), type=kind, title=x, sort=sort),
        "y": alt.Y(field=_field(y), type="quantitative", title=y),
        "tooltip": [
            alt.Tooltip(field=_field(name), type=_kind(frame, name), title=name)
            for name in frame.columns[:12]
        ],
    }
    if by is not None:
        below = alt.Legend(orient="bottom", columns=3, labelLimit=200)
        encoded["color"] = alt.Color(field=_field(by), type="nominal", title=None, legend=below)
    chart: altair.Chart = drawn.encode(**encoded)
    return chart


def _kind(frame: pandas.DataFrame, name: str) -> Any:
    if str(frame[name].dtype).startswith("datetime"):
        return "temporal"
    return "quantitative" if name in frame.select_dtypes("number") else "nominal"


def _field(name: str) -> str:
    """A column as Vega names it: dots, brackets and quotes would mean something."""
    return re.sub(r"""[\\.\[\]"']""", r"\\\g<0>", name)


def _plain(frame: pandas.DataFrame) -> pandas.DataFrame:
    """What cannot be drawn as it is, such as lists and days, as text."""
    odd = [name for name in frame.columns if frame[name].dtype == object]
    return frame.assign(**{name: frame[name].map(_text) for name in odd})


def _text(value: object) -> object:
    return None if value is None else str(value)


_MARKS: dict[Shape, Any] = {
    "Bars": lambda chart: chart.mark_bar(),
    "Line": lambda chart: chart.mark_line(point=True),
    "Points": lambda chart: chart.mark_circle(size=60),
}
