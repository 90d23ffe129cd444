"""`extract`: from documents to a table, one row each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from agentkit.core import bus, stopping
from agentkit.core.given import list_missing
from agentkit.errors import (
    AgentkitError,
    DocumentError,
    LimitReached,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelUnreachable,
    NotFound,
    Stopped,
)
from agentkit.events import DocumentProgress, Noted
from agentkit.llm.model import Model
from agentkit.teams.extraction.ask import ask_model
from agentkit.teams.extraction.literal import read_literally
from agentkit.teams.extraction.quoting import Paper
from agentkit.teams.extraction.schema import Schema
from agentkit.teams.extraction.table import Cell, Remark, Row, Table
from agentkit.teams.roster import EXTRACTOR
from agentkit.teams.task import Readable as Readable

_HOPELESS = (ModelUnreachable, ModelAuthFailed, ModelNotFound, LimitReached)
"""With the next document it would be the same."""


def extract(schema: Schema, documents: Iterable[Readable], model: Model) -> Table:
    """A table with a row for each document; emits DocumentProgress when one is begun and Noted when
    it is done.

    A document that cannot be read, or of which the model makes nothing, becomes a row with an
    error. Stopped on the way, it returns the rows that are finished. A model that cannot be asked
    at all raises its ModelError when no row is finished, else it is the error of all rows to come;
    so does a limit of the run that is reached.
    """
    rows: list[Row] = []
    broken: AgentkitError | None = None
    try:
        for document in documents:
            stopping.check()
            if broken is not None:
                rows.append(_tell_failed(document, broken))
                continue
            try:
                row = _read_row(schema, document, model)
            except _HOPELESS as error:
                has_finished = any(row.cells for row in rows)
                if not has_finished:
                    raise
                broken = error
                row = _tell_failed(document, error)
            rows.append(row)
            told = _summarize(row)
            bus.emit(Noted(EXTRACTOR, told, document_id=document.id))
    except Stopped:
        return Table(schema, tuple(rows), stopped=True)
    return Table(schema, tuple(rows))


def _tell_failed(document: Readable, error: AgentkitError) -> Row:
    """The row of a document of which nothing was read."""
    return Row(document.id, document.name, error=str(error))


def _read_cells(schema: Schema, paper: Paper, model: Model) -> tuple[dict[str, Cell], list[Remark]]:
    if model.is_language_model:
        return ask_model(schema, paper, model)
    return read_literally(schema, paper)


def _read_row(schema: Schema, document: Readable, model: Model) -> Row:
    bus.emit(DocumentProgress(document.id, document.name, "parse"))
    try:
        paper = Paper(document.id, document.name, document.read())
        cells, told = _read_cells(schema, paper, model)
    except (*_HOPELESS, Stopped):
        raise
    except (DocumentError, ModelError, NotFound) as error:
        return _tell_failed(document, error)
    problems = [remark.text for remark in told]
    problems += _list_lacking(schema, cells, told)
    return Row(
        document.id,
        document.name,
        cells,
        tuple(problems),
    )


def _list_lacking(
    schema: Schema, cells: Mapping[str, Cell], told: Iterable[Remark]
) -> Iterator[str]:
    """The required fields without a value of which nothing was told, in words."""
    values = {name: cell.value for name, cell in cells.items()}
    explained = {remark.field for remark in told}
    lacking = schema.find_lacking(values)
    for name in list_missing(lacking, explained):
        yield f"{name}: required, and not found in the document"


def _summarize(row: Row) -> str:
    if row.error:
        return f"{row.document}: {row.error}"
    found = unverified = 0
    for cell in row.cells.values():
        found += cell.value is not None
        unverified += cell.unverified
    told = f"{row.document}: {found} of {len(row.cells)} fields"
    if unverified:
        told += f", {unverified} unverified"
    return told
