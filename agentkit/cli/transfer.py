"""`collection`: list the collections, write one to a file, make one of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from agentkit.cli.output import note, put, put_json, put_table
from agentkit.cli.store import opened, stopped_by_interrupt
from agentkit.errors import ConfigError

if TYPE_CHECKING:
    from agentkit.retrieval import Collection
    from agentkit.runs import Run
    from agentkit.workspace import Workspace

T = TypeVar("T")

app = typer.Typer(
    help="List collections, write one to a file, make one of a file.", no_args_is_help=True
)


@app.command("list")
def listed(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """The collections, with their size and embedding model."""
    with opened(context) as workspace:
        known = workspace.library.collections(workspace.settings.owner)
    if as_json:
        for one in known:
            put_json(_facts(one))
    elif known:
        rows = [(one.name, f"{one.documents:,}", f"{one.chunks:,}", one.embedder) for one in known]
        put_table(
            ("collection", "documents", "chunks", "embedding model"), rows, ("documents", "chunks")
        )
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

    with opened(context) as workspace:
        owner = workspace.settings.owner
        found = workspace.library.collection(owner, name)
        path = file / file_name(found.name) if file.is_dir() else file
        if path.exists() and not force:
            raise ConfigError(
                f"{path} is there already; give another name, or --force to replace it."
            )
        _followed(workspace.export_collection(owner, found.name, path))
    size = path.stat().st_size
    if as_json:
        put_json({"file": str(path), "bytes": size, **_facts(found)})
    else:
        put(f"{found.name}: {_size(found)} in {path} ({size / 1e6:,.1f} MB).")


@app.command("import")
def load(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What `collection export` wrote.")],
    name: Annotated[str, typer.Option(help="Its name here; by default the one it had.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make a collection of a file; nothing is read or embedded again."""
    with opened(context) as workspace:
        owner = workspace.settings.owner
        made = _followed(workspace.import_collection(owner, file, name))
        missing = _missing(workspace, made)
    if missing:
        note(f"Note: {missing}")
    if as_json:
        put_json({**_facts(made), "note": missing})
    else:
        put(f"{made.name}: {_size(made)}.")


def _followed(run: Run[T]) -> T:
    """What the run gives, which Ctrl-C stops."""
    with stopped_by_interrupt(run):
        while not run.wait(0.2):
            pass
    return run.result()


def _missing(workspace: Workspace, made: Collection) -> str:
    """What is to be said when the model that the collection was made with is not here."""
    try:
        workspace.library.embedders.of(made.embedder)
    except ConfigError as error:
        return str(error)
    return ""


def _facts(one: Collection) -> dict[str, Any]:
    return {
        "collection": one.name,
        "documents": one.documents,
        "chunks": one.chunks,
        "embedder": one.embedder,
    }


def _size(one: Collection) -> str:
    return (
        f"{one.documents:,} document{'' if one.documents == 1 else 's'}, {one.chunks:,}"
        f" chunk{'' if one.chunks == 1 else 's'}"
    )
