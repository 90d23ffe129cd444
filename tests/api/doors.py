"""The two ways to a workspace: opened here, or through a process that holds the folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from agentkit.api import Held, Workspace
from agentkit.retrieval import Embedder
from agentkit.settings import Settings

Where = Literal["here", "elsewhere"]
WHERE: tuple[Where, ...] = ("here", "elsewhere")


@contextmanager
def opened(settings: Settings, embedder: Embedder | None, where: Where) -> Iterator[Workspace]:
    """The workspace as its users open it.

    `elsewhere` is held by this process too, but every call goes over the socket as from another.
    """
    if where == "here":
        workspace = Workspace(settings, embedder)
        try:
            yield workspace
        finally:
            workspace.close()
        return
    # Other settings than the caller's: those must travel with the calls.
    held = Held(Settings(data=settings.data), embedder)
    try:
        workspace = Workspace(settings, embedder)
        try:
            yield workspace
        finally:
            workspace.close()
    finally:
        held.close()
