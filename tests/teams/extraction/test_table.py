"""The table as JSON, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from agentkit.teams.extraction import Cell, Quotation, Row, Table, from_text

SCHEMA = from_text(
    "name, total (number), copies (integer), issued (date), paid (boolean), tags (list)"
)
SOURCE = Quotation("1", "-bill.pdf", 2, "", "Part", 3, 9, "=12\nEUR")
FULL = Row(
    "1",
    "-bill.pdf",
    {
        "name": Cell("=cmd()", SOURCE),
        "total": Cell(-12.5, SOURCE),
        "copies": Cell(3),
        "issued": Cell("2025-03-03", SOURCE),
        "paid": Cell(False, SOURCE),
        "tags": Cell(["a", "b"], SOURCE),
    },
    ("copies: doubtful",),
)
EMPTY = Row("2", "broken.pdf", error="broken.pdf is damaged.")
TABLE = Table(SCHEMA, (FULL, EMPTY))


def test_json_has_values_citations_and_what_is_not_verified() -> None:
    made = json.loads(json.dumps(TABLE.to_json()))
    assert made["fields"][1] == {"name": "total", "type": "number", "description": ""}
    full, empty = made["rows"]
    assert full["values"]["tags"] == ["a", "b"]
    assert full["citations"]["total"] == {
        "document": "-bill.pdf",
        "page": 2,
        "place": "",
        "heading": "Part",
        "span": [3, 9],
        "text": "=12\nEUR",
    }
    assert full["unverified"] == ["copies"]
    assert (full["problems"], full["error"]) == (["copies: doubtful"], "")
    assert set(empty["values"].values()) == {None}
    assert empty["error"] == "broken.pdf is damaged."


def test_csv_has_a_source_behind_each_value_and_no_formulas() -> None:
    full, empty = csv.DictReader(io.StringIO(TABLE.to_csv()))
    assert full["document"] == "'-bill.pdf"
    assert full["name"] == "'=cmd()"
    assert (full["total"], full["copies"], full["paid"], full["tags"]) == (
        "-12.5",
        "3",
        "false",
        "a; b",
    )
    assert full["total_source"] == "'-bill.pdf, p. 2: \u201c=12 EUR\u201d"
    assert full["copies_source"] == "unverified"
    assert full["problems"] == "copies: doubtful"
    assert (empty["total"], empty["total_source"], empty["problems"]) == (
        "",
        "",
        "broken.pdf is damaged.",
    )


def test_parquet_has_typed_columns() -> None:
    read = parquet.read_table(io.BytesIO(TABLE.to_parquet()))
    types = {column.name: str(column.type) for column in read.schema}
    assert [types[name] for name in SCHEMA.names] == [
        "string",
        "double",
        "int64",
        "date32[day]",
        "bool",
        "list<element: string>",
    ]
    full, empty = read.to_pylist()
    assert (full["issued"], full["tags"], full["name"]) == (date(2025, 3, 3), ["a", "b"], "=cmd()")
    assert empty["total"] is None
    assert empty["problems"] == "broken.pdf is damaged."


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", " =", "\uff1d"])
def test_no_text_begins_like_a_formula(sign: str) -> None:
    table = Table(from_text("x"), (Row("1", f"{sign}d", {"x": Cell(f"{sign}1")}),))
    (row,) = list(csv.reader(io.StringIO(table.to_csv(), newline="")))[1:]
    assert row[:2] == [f"'{sign}d", f"'{sign}1"]


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=4))
def test_any_text_comes_back(texts: list[str]) -> None:
    table = Table(from_text("x"), tuple(Row("1", "d", {"x": Cell(text)}) for text in texts))
    read: list[Any] = list(csv.reader(io.StringIO(table.to_csv(), newline="")))[1:]
    assert [
        row[1] if row[1] == text else row[1][1:] for row, text in zip(read, texts, strict=True)
    ] == texts
    assert parquet.read_table(io.BytesIO(table.to_parquet()))["x"].to_pylist() == texts
