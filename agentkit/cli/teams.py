"""`team`: the teams that come with the app and those that stand in files, looked into and written
in other forms.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentkit.cli.output import note, put, put_json, put_table
from agentkit.errors import ConfigError

if TYPE_CHECKING:
    from agentkit.teams.built.document import TeamDocument

app = typer.Typer(
    help="Look into teams, and write them as a document, a script or a notebook.",
    no_args_is_help=True,
)
Form = Literal["json", "py", "ipynb"]
_Which = Annotated[str, typer.Argument(metavar="TEAM", help="The id of a team, or its file.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]
_Out = Annotated[Path | None, typer.Option(help="Where it is written; by default to the terminal.")]
_LARGEST = 4_000_000
"""Bytes of a file with a team."""


@app.command("list")
def list_teams(as_json: _Json = False) -> None:
    """List the teams that come with the app."""
    from agentkit.teams import teams

    rows = [(one.id, one.name, one.variant, one.description) for one in teams()]
    if as_json:
        keys = ("team", "name", "variant", "description")
        put_json({"teams": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    put_table(("team", "name", "", "what it does"), rows)


@app.command()
def show(team: _Which) -> None:
    """Show the document of a team, every setting included."""
    _write(_find_document(team), "json", None)


@app.command()
def export(
    team: _Which,
    form: Annotated[
        Form, typer.Option("--format", help="A document, a Python script or a notebook.")
    ] = "json",
    out: _Out = None,
) -> None:
    """Write a team as a document, or as a script or notebook that runs with agentkit alone."""
    _write(_find_document(team), form, out)


@app.command("import")
def load(
    file: Annotated[
        Path, typer.Argument(help="A document, a workflow of AutoGen Studio, or a Python script.")
    ],
    out: _Out = None,
) -> None:
    """Read a team of somebody else as far as it fits, and tell what did not; nothing is run."""
    from agentkit.teams.built.importing import import_team

    found = import_team(_read(file))
    for remark in found.remarks:
        note(f"{remark.place}: {remark.text}.")
    _write(found.document, "json", out)


def _find_document(which: str) -> TeamDocument:
    """Of a file, where there is one of that name, else of a team that comes with the app."""
    from agentkit.teams.built.document import read_document
    from agentkit.teams.built.ready_made import ready_made

    file = Path(which)
    return read_document(_read(file)) if file.is_file() else ready_made(which)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if len(data) > _LARGEST:
        raise ConfigError(f"{file} has more than {_LARGEST:,} bytes, which are not read.")
    return data


def _write(document: TeamDocument, form: Form, out: Path | None) -> None:
    import json

    from agentkit.teams.built.script import write_notebook, write_script

    whole = json.dumps(document.to_json(), ensure_ascii=False, indent=1) + "\n"
    make = {"json": lambda _: whole, "py": write_script, "ipynb": write_notebook}
    text = make[form](document)
    if out is None:
        put(text, end="")
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from error
    note(f"Wrote {out}.")
