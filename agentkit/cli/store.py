"""Opening the data folder for a command, and following a run to its end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from agentkit.cli.output import note
from agentkit.errors import NotFound
from agentkit.settings import Settings, load_settings

if TYPE_CHECKING:
    from agentkit.runs import Run
    from agentkit.workspace import Workspace

Opener = Callable[[Settings], "Workspace"]


def open_workspace(settings: Settings) -> Workspace:
    """The data folder, here or through who holds it; imported here so that `--help` is quick."""
    from agentkit.api import Workspace

    return Workspace(settings)


@contextmanager
def opened(context: typer.Context) -> Iterator[Workspace]:
    """The workspace while the block runs; raises StoreError when the data folder cannot be used."""
    opener: Opener = context.obj
    workspace = opener(load_settings())
    try:
        yield workspace
    finally:
        if workspace.serving:
            note("Finishing what other commands have under way here; Ctrl-C stops it.")
        workspace.close()


@contextmanager
def stopped_by_interrupt(run: Run[Any]) -> Iterator[None]:
    """While the block runs, Ctrl-C stops the run and lets it end well; a second Ctrl-C ends the
    program at once.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        run.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def chosen_collection(workspace: Workspace, name: str | None) -> str:
    """The collection of that name; without a name "Documents", or the only one there is. Raises
    NotFound.
    """
    from agentkit.workspace import DEFAULT_COLLECTION

    owner = workspace.settings.owner
    if name is not None:
        return workspace.library.collection(owner, name).name
    names = [collection.name for collection in workspace.library.collections(owner)]
    if DEFAULT_COLLECTION in names or len(names) == 1:
        return DEFAULT_COLLECTION if DEFAULT_COLLECTION in names else names[0]
    if not names:
        raise NotFound(
            "There are no documents yet; take some in with `python -m agentkit ingest PATH`."
        )
    raise NotFound(
        f"There are several collections; choose one with --collection: {', '.join(sorted(names))}."
    )
