"""The table that comes out: a row for each document, a cell for each field; as JSON, CSV and
Parquet.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from agentkit.core.given import coalesce, join_filled
from agentkit.teams.extraction.quoting import Quotation
from agentkit.teams.extraction.schema import DOCUMENT, PROBLEMS, SOURCE, Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

UNVERIFIED = "unverified"
"""Stands for the source of a value whose quote is not in the document."""
_SHOWN = 200  # characters of a source; to_json has all of it
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value and where it stands; None stands for no value."""

    value: Any = None
    source: Quotation | None = None
    """None for a value that could not be found in the document: it is unverified."""

    @property
    def unverified(self) -> bool:
        """Whether there is a value that the document does not show."""
        return self.value is not None and self.source is None

    @property
    def said(self) -> str:
        """The source in words: `invoice.pdf, p. 2: “Total 12 EUR”`."""
        if self.unverified:
            return UNVERIFIED
        if self.source is None:
            return ""
        words = " ".join(self.source.text.split())
        if len(words) > _SHOWN:
            words = f"{words[:_SHOWN].rstrip()} \u2026"
        return f"{self.source.where}: \u201c{words}\u201d"


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be told about a row."""

    field: str
    """The name of the field that it is about; empty for the row."""
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """What one document gave."""

    document_id: str
    document: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    """By the name of the field; empty when the document could not be read."""
    problems: tuple[str, ...] = ()
    """What is to be known about the values."""
    error: str = ""
    """Why there are none."""

    def cell(self, name: str) -> Cell:
        """The cell of a field; an empty one where there is none."""
        return self.cells.get(name, Cell())

    @property
    def is_unverified(self) -> bool:
        """Whether it has a value that the document does not show."""
        return any(cell.unverified for cell in self.cells.values())

    @property
    def told(self) -> str:
        """Error and problems in one text."""
        return join_filled("; ", (self.error, *self.problems))


@dataclass(frozen=True, slots=True)
class Table:
    """All rows, in the order of the documents; `stopped` when the run was stopped before the last
    one.
    """

    schema: Schema
    rows: tuple[Row, ...] = ()
    stopped: bool = False

    def to_json(self) -> dict[str, Any]:
        """`fields` and `rows`: values, citations by field, the names of unverified values,
        problems, an error.
        """
        fields = [
            {"name": each.name, "type": each.kind, "description": each.description}
            for each in self.schema.fields
        ]
        return {
            "fields": fields,
            "rows": [self._row(row) for row in self.rows],
            "stopped": self.stopped,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Table:
        """The table that `to_json` gave, as a message or a file kept it."""
        fields: list[Field] = []
        for each in data["fields"]:
            column = Field(each["name"], each["type"], each["description"])
            fields.append(column)
        rows = map(_row_from, data["rows"])
        return cls(Schema(tuple(fields)), tuple(rows), bool(data["stopped"]))

    def to_csv(self) -> str:
        """With a header; a text that a spreadsheet would take for a formula gets an apostrophe
        before it.
        """
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(map(_defuse, self.columns))
        for row in self.rows:
            writer.writerow(map(_defuse, self._csv_values(row)))
        return out.getvalue()

    def to_parquet(self) -> bytes:
        """With typed columns: dates are dates, lists are lists of texts."""
        import pyarrow as pa
        from pyarrow import parquet

        columns: list[pa.Array[Any]] = [pa.array([row.document for row in self.rows], pa.string())]
        for each in self.schema.fields:
            values, sources = [], []
            for row in self.rows:
                cell = row.cell(each.name)
                values.append(_to_arrow(each, cell.value))
                sources.append(cell.said)
            columns.append(pa.array(values, _arrow_type(each)))
            columns.append(_text_column(sources))
        columns.append(_text_column(row.told for row in self.rows))
        out = io.BytesIO()
        parquet.write_table(pa.table(columns, names=self.columns), out)
        return out.getvalue()

    @property
    def columns(self) -> list[str]:
        """The document, each field with its source behind it, and the problems."""
        columns = [DOCUMENT]
        for name in self.schema.names:
            columns += [name, name + SOURCE]
        return [*columns, PROBLEMS]

    def _row(self, row: Row) -> dict[str, Any]:
        values: dict[str, Any] = {}
        citations: dict[str, Any] = {}
        unverified: list[str] = []
        for name in self.schema.names:
            cell = row.cell(name)
            values[name] = cell.value
            if cell.source is not None:
                citations[name] = cell.source.to_json()
            elif cell.unverified:
                unverified.append(name)
        return {
            "document": row.document,
            "document_id": row.document_id,
            "values": values,
            "citations": citations,
            UNVERIFIED: unverified,
            "problems": list(row.problems),
            "error": row.error,
        }

    def _csv_values(self, row: Row) -> Iterator[Any]:
        yield row.document
        for each in self.schema.fields:
            cell = row.cell(each.name)
            yield format_value(cell.value)
            yield cell.said
        yield row.told


def _row_from(data: Mapping[str, Any]) -> Row:
    citations = data["citations"]
    cells: dict[str, Cell] = {}
    for name, value in data["values"].items():
        source = _quotation_from(data, citations.get(name))
        cells[name] = Cell(value, source)
    return Row(
        data["document_id"],
        data["document"],
        cells,
        problems=tuple(data["problems"]),
        error=data["error"],
    )


def _quotation_from(row: Mapping[str, Any], data: Mapping[str, Any] | None) -> Quotation | None:
    if data is None:
        return None
    start, end = data["span"]
    return Quotation(
        document_id=row["document_id"],
        document=data["document"],
        page=data["page"],
        place=data["place"],
        heading=data["heading"],
        start=start,
        end=end,
        text=data["text"],
    )


def format_value(value: object) -> Any:
    """A value as it stands in a CSV file: numbers as they are, lists joined, yes and no as true and
    false.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "; ".join(value)
    return coalesce(value, "")


def _defuse(value: object) -> object:
    """A text that a spreadsheet would take for a formula with an apostrophe before it; all else as
    it is.
    """
    if not isinstance(value, str):
        return value
    if value.lstrip(" ").startswith(_FORMULA):
        return f"'{value}"
    return value


_TO_ARROW: dict[str, Callable[[Any], object]] = {"date": date.fromisoformat, "number": float}


def _arrow_type(each: Field) -> pa.DataType:
    import pyarrow as pa

    return {
        "string": pa.string(),
        "number": pa.float64(),
        "integer": pa.int64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "list": pa.list_(pa.string()),
    }[each.kind]


def _text_column(texts: Iterable[str]) -> pa.Array[Any]:
    """Texts, none for an empty one."""
    import pyarrow as pa

    return pa.array([text or None for text in texts], pa.string())


def _to_arrow(each: Field, value: Any) -> Any:
    if value is None:
        return None
    convert = _TO_ARROW.get(each.kind)
    if convert is None:
        return value
    return convert(value)
