"""`extract`: a table out of documents, one row each, every value with where it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentkit.cli.output import note, put_json, put_table
from agentkit.cli.store import follow, open_workspace
from agentkit.errors import ConfigError
from agentkit.events import DocumentProgress, Noted

if TYPE_CHECKING:
    from agentkit.documents import DocumentText, Jail
    from agentkit.retrieval import Source
    from agentkit.runs import Run
    from agentkit.teams.extraction import Schema, Table
    from agentkit.workspace import Workspace


def _to_indented_json(table: Table) -> str:
    return json.dumps(table.to_json(), ensure_ascii=False, indent=2) + "\n"


_WRITERS: dict[str, Callable[[Table], bytes]] = {
    ".csv": lambda table: table.to_csv().encode(),
    ".parquet": lambda table: table.to_parquet(),
    ".json": lambda table: _to_indented_json(table).encode(),
}


def extract(
    context: typer.Context,
    schema: Annotated[
        str,
        typer.Argument(
            metavar="SCHEMA",
            help=(
                "A JSON schema (.json file), a pydantic class (module:Class, file.py:Class), or"
                ' fields: "date (date), total".'
            ),
        ),
    ],
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT", help="Files or folders.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: rows with values and citations.")
    ] = False,
    model: Annotated[
        str, typer.Option(help="Which model; else the default one, or the first there is.")
    ] = "",
    out: Annotated[str, typer.Option(help="A file for the table: .csv, .parquet or .json.")] = "",
) -> None:
    """Read the same fields out of each document: a table with a citation for every value."""
    from agentkit.retrieval import sources_from_paths
    from agentkit.teams.extraction import load_schema

    fields = load_schema(schema)
    target = None
    if out:
        target = _check_target(out)
    sources = sources_from_paths(list(map(Path, documents)))
    if not sources:
        raise ConfigError(
            f"There are no documents in {', '.join(documents)}; name files, or folders with files"
            " in them."
        )
    with open_workspace(context) as workspace:
        listeners: dict[type, Callable[[Any], None]] = {DocumentProgress: _note_progress}
        if not as_json:
            listeners[Noted] = _note_text
        table = follow(_start(workspace, fields, sources, model), listeners)
    if target:
        _write(table, target)
    if as_json:
        put_json(table.to_json())
    elif not target:
        _show(table)
    _end(table, len(sources))


def _note_progress(event: DocumentProgress) -> None:
    note(f"reading {event.document}")


def _note_text(event: Noted) -> None:
    note(event.text)


@dataclass(frozen=True)
class _File:
    """A file that is read when its turn comes, in the jail that all share."""

    id: str
    name: str
    path: Path
    jail: Jail

    def read(self) -> DocumentText:
        """Its text and sections; raises DocumentError."""
        return self.jail.read(self.path, self.name)


def _start(
    workspace: Workspace, schema: Schema, sources: list[Source], model_id: str
) -> Run[Table]:
    from agentkit import runs
    from agentkit.core import stopping
    from agentkit.documents import Jail, Limits
    from agentkit.llm.calls.limits import Limit, Used, limited
    from agentkit.teams.extraction import extract as extract_fields

    settings = workspace.settings
    owner, model, limits = settings.owner, workspace.model(model_id), Limits.from_settings(settings)
    most = Limit(settings.run_tokens, settings.run_dollars)

    def work() -> Table:
        run = runs.current()
        assert run is not None  # started below
        budgets = workspace.hold_to_budgets(owner, run.id)
        with (
            Jail(limits) as jail,
            stopping.current().on_stop(jail.stop),
            limited(most, Limit(), Used()),
            budgets,
        ):
            files = [_File(source.origin, source.name, source.path, jail) for source in sources]
            return extract_fields(schema, files, model)

    title = f"{len(schema.fields)} fields out of {len(sources)} documents"
    return runs.start(
        work, kind="extract", title=title, owner=owner, ledger=workspace.ledger, size=len(sources)
    )


def _check_target(out: str) -> Path:
    """Where the table goes, before any work is done for it."""
    path = Path(out).expanduser()
    if path.suffix.lower() not in _WRITERS:
        raise ConfigError(f"--out {out}: the name must end in .csv, .parquet or .json.")
    if not path.parent.is_dir():
        raise ConfigError(f"--out {out}: the folder {path.parent} does not exist; make it first.")
    return path


def _write(table: Table, target: Path) -> None:
    try:
        target.write_bytes(_WRITERS[target.suffix.lower()](table))
    except OSError as error:
        raise ConfigError(
            f"{target} cannot be written ({error}); choose another file with --out."
        ) from error
    note(f"{len(table.rows):,} rows in {target}")


def _show(table: Table) -> None:
    """The values; what no quote shows has a question mark."""
    from agentkit.teams.extraction.table import format_value

    names = table.schema.names
    rows = []
    for row in table.rows:
        cells = map(row.cell, names)
        values = (f"{format_value(cell.value)}{' (?)' * cell.unverified}" for cell in cells)
        rows.append([row.document, *values])
    numbers = [field.name for field in table.schema.fields if field.kind in ("number", "integer")]
    put_table(["document", *names], rows, numbers)


def _end(table: Table, documents: int) -> None:
    for row in filter(attrgetter("told"), table.rows):
        note(f"{row.document}: {row.told}")
    cells = chain.from_iterable(map(row.cell, table.schema.names) for row in table.rows)
    if any(map(attrgetter("unverified"), cells)):
        note("Values with (?) do not stand in the document as the model quoted them.")
    if table.stopped:
        note(f"Stopped after {len(table.rows):,} of {documents:,} documents.")
        raise typer.Exit(130)
    if any(map(attrgetter("error"), table.rows)):
        raise typer.Exit(1)
