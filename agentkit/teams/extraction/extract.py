"""`extract`: from documents to a table, one row each."""

from __future__ import annotations

from collections.abc import Iterable

from agentkit.core import bus, stopping
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
from agentkit.teams.extraction.ask import AGENT, asked
from agentkit.teams.extraction.literal import literal
from agentkit.teams.extraction.quoting import Paper
from agentkit.teams.extraction.schema import Schema
from agentkit.teams.extraction.table import Row, Table
from agentkit.teams.task import Readable

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
                rows.append(Row(document.id, document.name, error=str(broken)))
                continue
            try:
                rows.append(_row(schema, document, model))
            except _HOPELESS as error:
                if not any(row.cells for row in rows):
                    raise
                broken = error
                rows.append(Row(document.id, document.name, error=str(error)))
            bus.emit(Noted(AGENT, _told(rows[-1]), document_id=document.id))
    except Stopped:
        return Table(schema, tuple(rows), stopped=True)
    return Table(schema, tuple(rows))


def _row(schema: Schema, document: Readable, model: Model) -> Row:
    bus.emit(DocumentProgress(document.id, document.name, "parse"))
    try:
        paper = Paper(document.id, document.name, document.read())
        cells, told = (
            asked(schema, paper, model) if model.is_language_model else literal(schema, paper)
        )
    except (*_HOPELESS, Stopped):
        raise
    except (DocumentError, ModelError, NotFound) as error:
        return Row(document.id, document.name, error=str(error))
    lacking = schema.lacking({name: cell.value for name, cell in cells.items()})
    known = {remark.field for remark in told}
    missing = [
        f"{name}: required, and not found in the document" for name in lacking if name not in known
    ]
    return Row(document.id, document.name, cells, (*(remark.text for remark in told), *missing))


def _told(row: Row) -> str:
    if row.error:
        return f"{row.document}: {row.error}"
    found = sum(cell.value is not None for cell in row.cells.values())
    unverified = sum(cell.unverified for cell in row.cells.values())
    return f"{row.document}: {found} of {len(row.cells)} fields" + (
        f", {unverified} unverified" if unverified else ""
    )
