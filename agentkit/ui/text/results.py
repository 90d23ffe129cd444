"""What cells gave, in words and as plain tables: for those who do not see it drawn."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from agentkit.coding.chat_kernel.outputs import Chart, read_chart
from agentkit.messages import mappings_in
from agentkit.ui.text import figures

_TITLE = re.compile(r"title\(\s*[rf]?([\"'])(.{1,200}?)\1")
_NAMED = re.compile(r'"(?:title|text|field)": "([^"]{1,100})"')
_MOST_ROWS, _MOST_COLUMNS = 200, 50
_MIMES = ("image/png", "image/jpeg")


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot or another picture."""

    title: str
    mime: str
    content: str
    """In base64."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or the values that a chart shows."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True)
class Plot:
    """A Vega-Lite chart, which loads nothing, and the values that it shows."""

    spec: Mapping[str, Any]
    values: Table


@dataclass(frozen=True, slots=True)
class Remark:
    """What cannot be shown, or is to be had elsewhere."""

    text: str


_UNKEPT_CHART = Remark("Chart: it is not kept.")
Result = Picture | Table | Plot | Remark


def describe_picture(code: str) -> str:
    """What a picture shows, for those who do not see it, as far as its code says."""
    titles = "; ".join(found[2] for found in _TITLE.finditer(code))
    if titles:
        return f"Plot: {titles}"
    return "A picture that the code made"


def describe_chart(spec: Mapping[str, Any]) -> str:
    """What a chart shows, for those who do not see it."""
    words = _NAMED.findall(json.dumps({**spec, "datasets": None, "data": None}))
    return f"Chart: {', '.join(dict.fromkeys(words))}"


def name_apart(columns: Sequence[str]) -> list[str]:
    """The names of columns, each once, as a table needs them."""
    counts = Counter(columns)
    return [
        f"{name} ({place})" if counts[name] > 1 else name
        for place, name in enumerate(columns, start=1)
    ]


def read_results(ran: Mapping[str, Any], kept: Mapping[str, str]) -> Iterator[Result]:
    """What people came for, of a stored `CodeRan` whose cell went well: pictures, tables, charts
    and the names of files.

    `kept` is what the chat keeps of its cells, in base64.
    """
    cell = ran.get("cell") or {}
    if cell.get("status") == "error":
        return
    for one in cell.get("outputs", ()):
        make = _MAKERS.get(one.get("kind"))
        if make:
            yield make(one, str(ran.get("code", "")), kept)
    named = []
    for file in cell.get("files") or ():
        size = figures.size(int(file["bytes"]))
        named.append(f"{file['name']} ({size})")
    if named:
        yield Remark(f"Files: {', '.join(named)}")


def _to_picture(one: Mapping[str, Any], code: str, kept: Mapping[str, str]) -> Result:
    title, content = describe_picture(code), kept.get(str(one.get("kept")))
    if content is None or one.get("mime") not in _MIMES:
        return Remark(f"{title}: it is not kept.")
    return Picture(title, str(one["mime"]), content)


def _to_table(one: Mapping[str, Any], _: str, kept: Mapping[str, str]) -> Result:
    rows, wide = int(one["total_rows"]), int(one["total_columns"])
    title = f"Table of {figures.count(rows, 'row')} and {figures.count(wide, 'column')}"
    content = _read_content(one, kept)
    if content is None:
        return Remark(f"{title}: it is not kept.")
    return _make_table(title, name_apart(content["columns"]), content["rows"])


def _to_plot(one: Mapping[str, Any], _: str, kept: Mapping[str, str]) -> Result:
    content = _read_content(one, kept)
    if content is None:
        return _UNKEPT_CHART
    spec = content["spec"]
    if not isinstance(read_chart(spec), Chart):
        return _UNKEPT_CHART
    values = _find_values(spec)
    columns = list(dict.fromkeys(chain.from_iterable(values)))
    rows = [[value.get(name) for name in columns] for value in values]
    return Plot(spec, _make_table(describe_chart(spec), columns, rows))


def _to_remark(one: Mapping[str, Any], _: str, kept: Mapping[str, str]) -> Result:
    return Remark(f"{one.get('what')} left out: {one.get('why')}.")


_MAKERS = {
    "picture": _to_picture,
    "table": _to_table,
    "chart": _to_plot,
    "left_out": _to_remark,
}


def _read_content(one: Mapping[str, Any], kept: Mapping[str, str]) -> Mapping[str, Any] | None:
    """What a table or a chart consists of; None when it is not there."""
    if "kept" not in one:
        return one
    content = kept.get(str(one["kept"]))
    if content is None:
        return None
    found: Mapping[str, Any] = json.loads(base64.b64decode(content))
    return found


def _find_values(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of data that stand in a chart, wherever its form puts them."""
    data = spec.get("data") or {}
    named = (spec.get("datasets") or {}).get(data.get("name"), [])
    values = data.get("values") or named
    return mappings_in(values)


def _make_table(title: str, columns: Sequence[object], rows: Sequence[Sequence[object]]) -> Table:
    names = [str(name) for name in columns[:_MOST_COLUMNS]]
    shown = [[_to_text(value) for value in row[:_MOST_COLUMNS]] for row in rows[:_MOST_ROWS]]
    more = ""
    if len(rows) > _MOST_ROWS:
        more = f"; the first {_MOST_ROWS} are shown"
    return Table(title + more, names, shown)


def _to_text(value: object) -> str:
    return "" if value is None else str(value)
