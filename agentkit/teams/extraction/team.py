"""The team that makes a table: reads the same fields out of each document of the chat, with a
citation for each value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.errors import Stopped
from agentkit.events import MessageStatus
from agentkit.llm.model import Model
from agentkit.reasons import ANSWERED, NO_EVIDENCE, STOPPED
from agentkit.teams.citing import Citation
from agentkit.teams.extraction.extract import extract
from agentkit.teams.extraction.question import HOW, find_schema
from agentkit.teams.extraction.quoting import Quotation
from agentkit.teams.extraction.table import Cell, Table, format_value
from agentkit.teams.roster import EXTRACTOR
from agentkit.teams.task import Answer, Readable, Task

ROWS = 30
"""Rows that the answer shows; all of them travel with the message under `table`."""
_MARKERS = 999
_LONGEST = 120  # characters of a value in the answer
_SIGNS = re.compile(r"[\[\]|`$\\]|:(?=[\w/+-]+:)")
_EMPHASIS = re.compile(r"([*_~<>#])")


@dataclass(frozen=True, slots=True)
class Setup:
    """What is read, and by which models."""

    fields: str = ""
    """The fields as a question names them; empty for those that the question asks for."""
    planner: Model | None = None
    """The model that reads fields out of the question; None for the task's."""
    reader: Model | None = None
    """The model that reads documents; None for the task's."""


def work(task: Task) -> Answer:
    """Find out which fields are wanted, read them out of the documents, answer with the table."""
    return carry_out(task, Setup())


def carry_out(task: Task, setup: Setup) -> Answer:
    """`work`, as it is set up."""
    documents: Sequence[Readable] = ()
    if task.documents:
        documents = task.documents()
    wanted = setup.fields or task.question
    schema = find_schema(wanted, setup.planner or task.model)
    if schema is None:
        return _say(task, f"The question names no fields. {HOW}")
    if not documents:
        return _say(
            task,
            "There are no documents to make a table of. Take some in, or choose others to look"
            " into.",
        )
    reader = setup.reader or task.model
    table = extract(schema, documents, reader)
    if table.stopped and not table.rows:
        raise Stopped("stopped by the user")
    return _answer(task, table, len(documents))


def _say(task: Task, text: str) -> Answer:
    task.say(EXTRACTOR, "user", text, final=True, extra={"citations": [], "model": task.model.id})
    return Answer(text, (), NO_EVIDENCE)


def _answer(task: Task, table: Table, documents: int) -> Answer:
    text, citations = write_answer(table, documents, task.model.is_language_model)
    extra: dict[str, Any] = {
        "citations": [citation.to_json() for citation in citations],
        "model": task.model.id,
        "table": table.to_json(),
    }
    status: MessageStatus = "complete"
    end = NO_EVIDENCE
    if citations:
        end = ANSWERED
    if table.stopped:
        status, end = "stopped", STOPPED
    task.say(
        EXTRACTOR,
        "user",
        text,
        status=status,
        final=True,
        extra=extra,
    )
    return Answer(text, citations, end)


def write_answer(
    table: Table, documents: int, language_model: bool
) -> tuple[str, tuple[Citation, ...]]:
    """The table in Markdown with a marker behind each value, what is to be said about it, and the
    citations.
    """
    cited = _Cited()
    names = table.schema.names
    lines = [
        _line(["Document", *map(escape_cell, names)]),
        _line(["---"] * (len(names) + 1)),
    ]
    for row in table.rows[:ROWS]:
        values = [cited.cell(row.cell(name)) for name in names]
        lines.append(_line([escape_cell(row.document), *values]))
    parts = ["\n".join(lines), *_remarks(table, documents, language_model)]
    return "\n\n".join(parts), tuple(cited.citations)


def _remarks(table: Table, documents: int, language_model: bool) -> list[str]:
    rows = len(table.rows)
    said: list[str] = []
    if rows > ROWS:
        said.append(f"The first {ROWS} of {rows:,} rows are shown.")
    if rows < documents:
        said.append(f"Stopped after {rows:,} of {documents:,} documents.")
    if any(row.is_unverified for row in table.rows):
        said.append(
            "Values with (unverified) do not stand in the document as the model quoted them; check"
            " them."
        )
    if not language_model:
        said.append(
            "The offline model is not a language model: it takes only what stands literally beside"
            " the name of a field."
        )
    told: list[str] = []
    for row in table.rows[:ROWS]:
        if row.told:
            problems = escape_cell(row.told, 400)
            told.append(f"- {escape_cell(row.document)}: {problems}")
    return list(filter(None, (" ".join(said), "\n".join(told))))


class _Cited:
    """Numbers the sources of values in the order in which they are shown."""

    def __init__(self) -> None:
        self.citations: list[Citation] = []
        self._markers: dict[tuple[str, int, int], int] = {}

    def cell(self, cell: Cell) -> str:
        """A value with its marker; nothing for no value."""
        if cell.value is None:
            return ""
        text = escape_cell(str(format_value(cell.value)))
        if cell.source is None:
            return f"{text} (unverified)"
        marker = self._marker(cell.source)
        if marker:
            return f"{text}\u00a0[{marker}]"
        return text

    def _marker(self, source: Quotation) -> int:
        key = (source.document_id, source.start, source.end)
        known = self._markers.get(key)
        if known is not None:
            return known
        marker = len(self.citations) + 1
        if marker > _MARKERS:
            return 0
        self._markers[key] = marker
        self.citations.append(_citation(marker, source))
        return marker


def _citation(marker: int, source: Quotation) -> Citation:
    """No chunk belongs to it: the document was read as a whole. Pages tell citations apart by that
    id, so it is negative.
    """
    return Citation(
        marker,
        source.document_id,
        source.document,
        -marker,
        source.page,
        source.place,
        source.heading,
        source.start,
        source.end,
        source.text,
        1.0,
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_cell(text: str, longest: int = _LONGEST) -> str:
    """Words of a document as they stand, in a cell of a Markdown table; long ones are cut.

    What could be taken for a formula, code or the marker of a citation becomes an entity: a
    backslash does not protect it.
    """
    line = " ".join(text.split())
    if len(line) > longest:
        line = line[:longest].rstrip() + " \u2026"
    kept = _SIGNS.split(line)
    signs = [f"&#{ord(sign)};" for sign in _SIGNS.findall(line)]
    escaped = ""
    for part, sign in zip(kept, [*signs, ""], strict=True):
        escaped += _EMPHASIS.sub(r"\\\1", part)
        escaped += sign
    return escaped
