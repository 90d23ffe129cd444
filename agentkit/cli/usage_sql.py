"""`usage --sql`: what a SELECT over the views gives, as a table or a file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from agentkit.cli.output import count, note, put_table, tell_given
from agentkit.cli.store import open_workspace

if TYPE_CHECKING:
    import pyarrow

    from agentkit.workspace import Workspace

Form = Literal["csv", "json", "parquet"]
_SHOWN = 200
"""Rows that are shown on the terminal."""


def check_together(sql: str, form: Form | None, out: Path | None, others: Iterable[object]) -> None:
    """How an answer is written goes with a SELECT, and the other options go without one."""
    if sql and any(others):
        raise typer.BadParameter(
            "--sql goes with --format, --out and --json alone: say in the SELECT which calls are"
            " meant, as in `where model = 'gpt-5'`"
        )
    if not sql and (form or out):
        raise typer.BadParameter(
            "--format and --out go with --sql SELECT: give --json, or --csv FILE or --parquet FILE"
            " for every call"
        )


def put_answer(
    context: typer.Context, sql: str, form: Form | None, out: Path | None, *, as_json: bool
) -> None:
    """Answer a SELECT: a table to read, or with a form or a file all of it."""
    if as_json and out is None:
        form = form or "json"
    with open_workspace(context) as workspace:
        if out is not None:
            written = workspace.usage_views(workspace.settings.owner).write(
                sql, out, form or _form_of(out)
            )
            note(f"{count(written.rows, 'row')} in {out}.")
        elif form is not None:
            _put_form(workspace, sql, form)
        else:
            _put_table(workspace.usage_views(workspace.settings.owner).sql(sql))


def _form_of(path: Path) -> Form:
    """The form that the ending of the file says, else CSV."""
    forms: dict[str, Form] = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
    return forms.get(path.suffix.lower(), "csv")


def _put_form(workspace: Workspace, sql: str, form: Form) -> None:
    """Write the result as it is to stdout."""
    if form == "parquet" and sys.stdout.isatty():
        raise typer.BadParameter("Parquet is not for a terminal; say where with --out FILE.")
    with tempfile.TemporaryDirectory(prefix="agentkit-") as folder:
        path = Path(folder) / f"result.{form}"
        workspace.usage_views(workspace.settings.owner).write(sql, path, form)
        sys.stdout.flush()
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _put_table(result: pyarrow.Table) -> None:
    import pyarrow

    shown = result.slice(0, _SHOWN)
    rows = [list(map(tell_given, row.values())) for row in shown.to_pylist()]
    numbers = [one.name for one in result.schema if pyarrow.types.is_primitive(one.type)]
    put_table(result.column_names, rows, numbers)
    if len(result) > _SHOWN:
        note(f"The first {_SHOWN} of {count(len(result), 'row')}; --out FILE writes all.")
