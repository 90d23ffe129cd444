"""`team`: the teams that come with the app, those of the data folder and those that stand in files,
looked into, written in other forms and brought in.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentkit.cli.output import note, put, put_json, put_table
from agentkit.cli.store import open_workspace
from agentkit.errors import ConfigError, NotFound
from agentkit.settings import load_settings

if TYPE_CHECKING:
    from agentkit.teams.built.document import TeamDocument
    from agentkit.workspace import Workspace

app = typer.Typer(
    help="Look into teams, bring them in and out, and measure them.",
    no_args_is_help=True,
)
Form = Literal["json", "py", "ipynb"]
_Which = Annotated[str, typer.Argument(metavar="TEAM", help="A team's id, name or file.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]
_Out = Annotated[Path | None, typer.Option(help="Where it is written; by default to the terminal.")]
_LARGEST = 4_000_000
"""Bytes of a file with a team."""


@app.command("list")
def list_teams(context: typer.Context, as_json: _Json = False) -> None:
    """List your own teams, and those that come with the app."""
    from agentkit.teams import teams

    ready = [(one.id, one.name, one.variant, one.description) for one in teams()]
    rows = [*_list_own(context), *ready]
    if as_json:
        keys = ("team", "name", "variant", "description")
        put_json({"teams": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    put_table(("team", "name", "", "what it does"), rows)


def _list_own(context: typer.Context) -> list[tuple[str, str, str, str]]:
    """Those of the data folder, where there is one: it is made by what needs it."""
    if not load_settings().database.exists():
        return []
    with open_workspace(context) as workspace:
        own = workspace.kept_teams.newest(workspace.settings.owner)
    return [
        (one.key, one.name, f"version {one.version}", str(one.document.get("description", "")))
        for one in own
    ]


@app.command()
def show(context: typer.Context, team: _Which) -> None:
    """Show the document of a team, every setting included."""
    _write(_find_document(context, team), "json", None)


@app.command()
def export(
    context: typer.Context,
    team: _Which,
    form: Annotated[
        Form, typer.Option("--format", help="A document, a Python script or a notebook.")
    ] = "json",
    out: _Out = None,
) -> None:
    """Write a team as a document, or as a script or notebook that runs with agentkit alone."""
    _write(_find_document(context, team), form, out)


@app.command("import")
def load(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="A document, a workflow of AutoGen Studio, or a Python script.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write it there as a document, instead of keeping it.")
    ] = None,
    into: Annotated[
        str, typer.Option("--team", help="Keep it as a new version of this team of yours.")
    ] = "",
    workflow: Annotated[
        int, typer.Option(min=1, help="Of a file with several workflows: which one.")
    ] = 1,
) -> None:
    """Keep a team of a file among yours, as far as it fits, and tell what did not; nothing runs."""
    from agentkit.teams.built.importing import import_team

    found = import_team(_read(file), workflow - 1)
    for remark in found.remarks:
        note(f"{remark.place}: {remark.text}.")
    if out is not None:
        _write(found.document, "json", out)
        return
    with open_workspace(context) as workspace:
        known = ""
        if into:
            known = find_key(workspace, into).partition(":")[0]
        kept = workspace.save_team(workspace.settings.owner, found.document, known)
    note(f"Kept “{kept.name}”, version {kept.version}.")
    put(kept.key)


def find_key(workspace: Workspace, which: str) -> str:
    """The id under which a team is asked: of a ready-made one, or of one of yours by its id or
    name, with a version behind a colon or else the newest. Raises NotFound.
    """
    from agentkit.ledger.kept_teams import PREFIX

    owner = workspace.settings.owner
    if which.startswith(PREFIX):
        return workspace.team_shelf.find_kept(owner, which).key
    if ready := _find_ready(which):
        return ready
    named = [one.key for one in workspace.kept_teams.newest(owner) if one.name == which]
    if len(named) > 1:
        raise NotFound(f"{len(named)} teams are called {which!r}; give an id: {', '.join(named)}.")
    if not named:
        raise NotFound(f"There is no team {which!r}; `team list` lists those there are.")
    return named[0]


def _find_ready(which: str) -> str:
    """The id of a team that comes with the app; empty for none."""
    from agentkit.teams import team

    try:
        return team(which).id
    except NotFound:
        return ""


def _find_document(context: typer.Context, which: str) -> TeamDocument:
    """Of a file, where there is one of that name, else of a team that comes with the app, else of
    one of the data folder.
    """
    from agentkit.teams.built.document import read_document
    from agentkit.teams.built.ready_made import ready_made

    file = Path(which)
    if file.is_file():
        return read_document(_read(file))
    if _find_ready(which) or not load_settings().database.exists():
        return ready_made(which)
    with open_workspace(context) as workspace:
        key = find_key(workspace, which)
        return workspace.team_shelf.find_document(workspace.settings.owner, key)


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

    from agentkit.mcp.servers import ToolServers
    from agentkit.teams.built.script import write_notebook, write_script

    whole = json.dumps(document.to_json(), ensure_ascii=False, indent=1) + "\n"
    scripts = {"py": write_script, "ipynb": write_notebook}
    text = whole
    if form in scripts:
        servers = ToolServers(load_settings().data).all()
        text = scripts[form](document, servers)
    if out is None:
        put(text, end="")
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from error
    note(f"Wrote {out}.")
