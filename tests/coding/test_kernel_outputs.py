"""Lines from a kernel's sandbox are taken for what anybody could have written."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from agentkit.coding.chat_kernel.outputs import (
    CHART,
    TABLE,
    CellError,
    Chart,
    Collector,
    LeftOut,
    Line,
    Output,
    Picture,
    Table,
    Text,
    to_text,
)
from tests.timing import processor_time

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR"


def collect(*lines: Line) -> tuple[Output, ...]:
    taken = Collector(1_000)
    for line in lines:
        taken.take(line)
    return taken.finish()


def shown(form: str, data: object) -> tuple[Output, ...]:
    return collect({"kind": "display", "data": {form: data}})


def chart(**parts: object) -> Output:
    return shown(CHART, {"$schema": SCHEMA, **parts})[0]


def png(width: int, height: int) -> str:
    return base64.b64encode(PNG + width.to_bytes(4) + height.to_bytes(4) + b"\0" * 20).decode()


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"kind": None},
        {"kind": ["stream"]},
        {"kind": "stream", "text": 7},
        {"kind": "display"},
        {"kind": "display", "data": []},
        {"kind": "display", "data": {"text/html": "<script>"}},
        {"kind": "display", "data": {"image/svg+xml": "<svg/>"}},
        {"kind": "display", "data": {TABLE: {"columns": 1, "rows": []}}},
        {"kind": "display", "data": {TABLE: {"columns": ["a"], "rows": [[1, 2]]}}},
        {"kind": "display", "data": {TABLE: {"columns": ["a"], "rows": [[{"a": 1}]]}}},
        {"kind": "display", "data": {"image/png": "no base64!"}},
        {"kind": "display", "data": {"image/png": base64.b64encode(b"GIF89a").decode()}},
        {"kind": "display", "data": {"image/jpeg": base64.b64encode(b"<svg>").decode()}},
        {"kind": "left_out", "count": "many"},
        {"kind": "left_out", "count": -5},
    ],
)
def test_what_is_not_as_it_should_be_shows_nothing(line: Line) -> None:
    assert collect(line) == ()


def test_a_picture_with_too_many_points_is_refused() -> None:
    assert isinstance(shown("image/png", png(640, 480))[0], Picture)
    (bomb,) = shown("image/png", png(100_000, 100_000))
    assert bomb == LeftOut("picture", 44, "it has 100,000 × 100,000 points")


def test_pictures_of_a_cell_are_bounded_together() -> None:
    large = base64.b64encode(b"\xff\xd8\xff" + bytes(4 << 20)).decode()
    line: Line = {"kind": "display", "data": {"image/jpeg": large}}
    found = collect(*[line] * 6)
    assert [type(one) for one in found] == [Picture] * 4 + [LeftOut] * 2


def test_a_table_says_at_least_what_it_holds() -> None:
    rows = [["x" * 5_000, 1e999, 2**70, True, None]] * 1_200
    data = {"columns": list("abcde"), "rows": rows, "total_rows": 1, "total_columns": "5"}
    (table,) = shown(TABLE, data)
    assert isinstance(table, Table)
    assert (len(table.rows), table.total_rows, table.total_columns) == (1_000, 1_000, 5)
    assert table.rows[0] == ("x" * 1_000, None, str(2**70), True, None)


@pytest.mark.parametrize(
    "parts",
    [
        {"data": {"url": "https://a.test/?key"}},
        {"layer": [{"mark": "bar", "data": {"url": "x.csv"}}]},
        {"transform": [{"lookup": "a", "from": {"data": {"url": "x.csv"}}}]},
        {"mark": "image", "encoding": {}},
        {"hconcat": [{"mark": {"type": "image"}}]},
        {"encoding": {"href": {"field": "a"}}},
        {"encoding": {"url": {"field": "a"}}},
        {"$schema": "https://vega.github.io/schema/vega/v6.json"},
        {"data": {"values": [{"a": float("inf")}]}},
    ],
)
def test_a_chart_that_would_fetch_something_is_refused(parts: dict[str, object]) -> None:
    assert isinstance(chart(**parts), LeftOut)


def test_a_chart_keeps_its_data_and_loses_what_steers_the_page() -> None:
    data = {"values": [{"url": 1, "href": 2}]}
    rows: dict[str, object] = {"one": [{"url": "https://a.test"}]}
    found = chart(data=data, datasets=rows, mark="bar", usermeta={"embedOptions": {"patch": "u"}})
    assert found == Chart({"$schema": SCHEMA, "data": data, "datasets": rows, "mark": "bar"})


def test_text_is_kept_up_to_the_limit_and_what_is_gone_is_counted() -> None:
    pieces: Iterator[Line] = ({"kind": "stream", "text": "ä" * 300} for _ in range(4))
    text, told = collect(*pieces, {"kind": "left_out", "count": 50})
    assert text == Text("ä" * 500)
    assert isinstance(told, LeftOut)
    assert (told.what, told.count) == ("text", 750)


def test_an_error_comes_without_colours_and_however_long_it_is() -> None:
    line: Line = {"kind": "error", "name": "E" * 999, "message": "m", "traceback": "\x1b[31mred"}
    assert collect(line) == (CellError("E" * 200, "m", "red"),)


def test_many_lines_that_were_written_over_take_no_time() -> None:
    taken = Collector(2_000_000)
    for text in ("\r" * 100_000, "a" * 500_000, "\rb\n" * 100_000, "\x1b[" * 100_000):
        taken.take({"kind": "stream", "text": text})
    with processor_time(5):
        assert taken.finish()


def test_models_read_all_as_text() -> None:
    table = Table(("a", "b"), ((1, None),), 7, 2)
    assert to_text(table) == "[table: 7 rows, 2 columns]\na | b\n1 | \n"
    assert to_text(Picture(b"123", "image/png")) == "[picture: image/png, 3 bytes]\n"
    assert to_text(LeftOut("text", 1_200, "why")) == "[text left out (1,200 characters): why]\n"
