"""`extract`: a table out of documents, one row each, every value with where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import note, put_json, put_table
from agentkit.cli.store import opened, stopped_by_interrupt
from agentkit.errors import ConfigError
from agentkit.events import DocumentProgress, Noted

if TYPE_CHECKING:
    from agentkit.documents import DocumentText, Jail
    from agentkit.retrieval import Source
    from agentkit.runs import Run
    from agentkit.teams.extraction import Schema, Table
    from agentkit.workspace import Workspace

_FORMATS = (".csv", ".parquet", ".json")


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
        str, typer.Option(help="Which model; by default the first that is configured.")
    ] = "",
    out: Annotated[str, typer.Option(help="A file for the table: .csv, .parquet or .json.")] = "",
) -> None:
    """Read the same fields out of each document: a table with a citation for every value."""
    from agentkit.retrieval import sources_from_paths
    from agentkit.teams.extraction import load_schema

    fields = load_schema(schema)
    target = _target(out)
    sources = sources_from_paths([Path(path) for path in documents])
    if not sources:
        raise ConfigError(
            f"There are no documents in {', '.join(documents)}; name files, or folders with files"
            " in them."
        )
    with opened(context) as workspace:
        run = _start(workspace, fields, sources, model)
        with stopped_by_interrupt(run):
            for recorded in run:
                if isinstance(recorded.event, DocumentProgress):
                    note(f"reading {recorded.event.document}")
                elif isinstance(recorded.event, Noted) and not as_json:
                    note(recorded.event.text)
            table = run.result()
    _put(table, as_json, target)
    _end(table, len(sources))


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
    from agentkit.teams.extraction import extract as extracted

    model, limits = workspace.model(model_id), Limits.from_settings(workspace.settings)

    def work() -> Table:
        with Jail(limits) as jail, stopping.current().on_stop(jail.stop):
            return extracted(
                schema,
                [_File(source.origin, source.name, source.path, jail) for source in sources],
                model,
            )

    title = f"{len(schema.fields)} fields out of {len(sources)} documents"
    owner = workspace.settings.owner
    return runs.start(
        work, kind="extract", title=title, owner=owner, ledger=workspace.ledger, size=len(sources)
    )


def _target(out: str) -> Path | None:
    """Where the table goes, before any work is done for it."""
    if not out:
        return None
    path = Path(out).expanduser()
    if path.suffix.lower() not in _FORMATS:
        raise ConfigError(
            f"--out {out}: the name must end in {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}."
        )
    if not path.parent.is_dir():
        raise ConfigError(f"--out {out}: the folder {path.parent} does not exist; make it first.")
    return path


def _put(table: Table, as_json: bool, target: Path | None) -> None:
    if target is not None:
        try:
            target.write_bytes(_written(table, target.suffix.lower()))
        except OSError as error:
            raise ConfigError(
                f"{target} cannot be written ({error}); choose another file with --out."
            ) from error
        note(f"{len(table.rows):,} rows in {target}")
    if as_json:
        put_json(table.to_json())
    elif target is None:
        _show(table)


def _written(table: Table, kind: str) -> bytes:
    import json

    if kind == ".parquet":
        return table.to_parquet()
    text = (
        table.to_csv()
        if kind == ".csv"
        else json.dumps(table.to_json(), ensure_ascii=False, indent=2) + "\n"
    )
    return text.encode()


def _show(table: Table) -> None:
    """The values; what no quote shows has a question mark."""
    from agentkit.teams.extraction.table import shown

    names = table.schema.names
    rows = []
    for row in table.rows:
        cells = [row.cell(name) for name in names]
        rows.append(
            [row.document, *(f"{shown(cell.value)}{' (?)' * cell.unverified}" for cell in cells)]
        )
    numbers = [field.name for field in table.schema.fields if field.kind in ("number", "integer")]
    put_table(["document", *names], rows, numbers)


def _end(table: Table, documents: int) -> None:
    for row in table.rows:
        if row.told:
            note(f"{row.document}: {row.told}")
    if any(row.cell(name).unverified for row in table.rows for name in table.schema.names):
        note("Values with (?) do not stand in the document as the model quoted them.")
    if table.stopped:
        note(f"Stopped after {len(table.rows):,} of {documents:,} documents.")
        raise typer.Exit(130)
    if any(row.error for row in table.rows):
        raise typer.Exit(1)
