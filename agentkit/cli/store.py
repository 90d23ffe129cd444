"""Opening the data folder for a command, and following a run to its end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from agentkit.cli.output import note
from agentkit.errors import NotFound
from agentkit.events import Event
from agentkit.settings import Settings, load_settings

if TYPE_CHECKING:
    from agentkit.runs import Run
    from agentkit.workspace import Workspace

T = TypeVar("T")

Listeners = Mapping[type, Callable[[Any], None]]
"""What is to be called with the events of a run, by their kind."""
Opener = Callable[[Settings], "Workspace"]


def make_workspace(settings: Settings) -> Workspace:
    """The data folder, here or through who holds it; imported here so that `--help` is quick."""
    from agentkit.api import Workspace

    return Workspace(settings)


@contextmanager
def open_workspace(context: typer.Context) -> Iterator[Workspace]:
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
def _stop_on_interrupt(run: Run[Any]) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        run.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def follow(run: Run[T], listeners: Listeners) -> T:
    """Wait for the run and return its result; its events go to the listeners for their kinds.

    Ctrl-C stops the run, and a second one ends the program at once.
    """
    with _stop_on_interrupt(run):
        for recorded in run:
            listen = listeners.get(type(recorded.event), _ignore)
            listen(recorded.event)
        return run.result()


def _ignore(event: Event) -> None:
    """What nobody listens to."""


def choose_collection(workspace: Workspace, name: str | None) -> str:
    """The collection of that name; without a name "Documents", or the only one there is. Raises
    NotFound.
    """
    from agentkit.workspace import DEFAULT_COLLECTION

    owner = workspace.settings.owner
    if name is not None:
        return workspace.library.collection(owner, name).name
    names = [collection.name for collection in workspace.library.collections(owner)]
    if DEFAULT_COLLECTION in names:
        return DEFAULT_COLLECTION
    if len(names) == 1:
        return names[0]
    if not names:
        raise NotFound(
            "There are no documents yet; take some in with `python -m agentkit ingest PATH`."
        )
    raise NotFound(
        f"There are several collections; choose one with --collection: {', '.join(sorted(names))}."
    )
