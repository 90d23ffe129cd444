"""`collection`: list the collections, write one to a file, make one of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentkit.cli.output import count, note, put, put_json, put_table
from agentkit.cli.store import follow, open_workspace
from agentkit.errors import ConfigError

if TYPE_CHECKING:
    from agentkit.retrieval import Collection
    from agentkit.workspace import Workspace

_COLUMNS = ("collection", "documents", "chunks", "embedding model")

app = typer.Typer(
    help="List collections, write one to a file, make one of a file.", no_args_is_help=True
)


@app.command("list")
def show_list(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The collections, with their size and embedding model."""
    with open_workspace(context) as workspace:
        known = workspace.library.collections(workspace.settings.owner)
    if as_json:
        for collection in known:
            put_json(_to_json(collection))
    elif known:
        put_table(_COLUMNS, map(_to_row, known), numbers=("documents", "chunks"))
    else:
        note(
            "There are no collections yet; take documents in with `python -m agentkit ingest PATH`."
        )


@app.command("export")
def export(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The collection.")],
    file: Annotated[
        Path, typer.Argument(help='Where to write it; "NAME.agentkit.zip" is put below a folder.')
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Write a collection to one file: originals, texts, chunks and vectors of the version that
    answers.
    """
    from agentkit.retrieval.transfer.bundle import file_name

    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        found = workspace.library.collection(owner, name)
        path = file
        if file.is_dir():
            path = file / file_name(found.name)
        if path.exists() and not force:
            raise ConfigError(
                f"{path} is there already; give another name, or --force to replace it."
            )
        follow(workspace.export_collection(owner, found.name, path), {})
    size = path.stat().st_size
    if as_json:
        put_json({"file": str(path), "bytes": size, **_to_json(found)})
    else:
        put(f"{found.name}: {_describe_size(found)} in {path} ({size / 1e6:,.1f} MB).")


@app.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What `collection export` wrote.")],
    name: Annotated[str, typer.Option(help="Its name here; by default the one it had.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make a collection of a file; nothing is read or embedded again."""
    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        made = follow(workspace.import_collection(owner, file, name), {})
        missing = _find_missing_model(workspace, made)
    if missing:
        note(f"Note: {missing}")
    if as_json:
        put_json({**_to_json(made), "note": missing})
    else:
        put(f"{made.name}: {_describe_size(made)}.")


def _find_missing_model(workspace: Workspace, made: Collection) -> str:
    """What is to be said when the model that the collection was made with is not here."""
    try:
        workspace.library.embedders.of(made.embedder)
    except ConfigError as error:
        return str(error)
    return ""


def _to_row(one: Collection) -> Sequence[str]:
    return one.name, f"{one.documents:,}", f"{one.chunks:,}", one.embedder


def _to_json(one: Collection) -> dict[str, Any]:
    return {
        "collection": one.name,
        "documents": one.documents,
        "chunks": one.chunks,
        "embedder": one.embedder,
    }


def _describe_size(one: Collection) -> str:
    return f"{count(one.documents, 'document')}, {count(one.chunks, 'chunk')}"
