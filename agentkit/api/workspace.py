"""The workspace as everybody opens it: it works whether or not another process holds the folder."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from agentkit import workspace
from agentkit.api.door import Door
from agentkit.api.parts import find, forward_methods
from agentkit.retrieval import Embedder, Library, MiniLMEmbedder
from agentkit.settings import Settings
from agentkit.workspace import offers


@forward_methods("workspace")
class Workspace(workspace.Workspace):
    """One data folder, opened; close it at the end.

    While another process of yours holds the folder, such as the app, it works for this one: all
    documented methods are the same, and runs go on there. The process that opens a free folder
    holds it, and serves others until it is closed.
    """

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        """`embedder` is used where this process holds the folder. Raises StoreError."""
        self.settings = settings
        self.embedder = embedder or MiniLMEmbedder(settings.models)
        self._door = Door(settings, embedder)

    def adopt(self, settings: Settings) -> None:
        """Work under these settings from the next question or document on."""
        self.settings = replace(settings, data=self.settings.data)
        self._door.adopt(self.settings)

    def hold_to_budgets(self, owner: str, run_id: str = "") -> AbstractContextManager[None]:
        """Hold the calls of the block to the owner's budgets; nothing where another process holds
        the folder, which alone knows what is spent meanwhile.
        """
        if self._door.here is None:
            return nullcontext()
        return super().hold_to_budgets(owner, run_id)

    @property
    def serving(self) -> int:
        """How many calls of other processes are at work here; closing waits for them."""
        if self._door.here:
            return self._door.here.serving
        return 0

    def close(self) -> None:
        """Let go of the folder; runs that go on are stopped first.

        Where this process holds it, what others have under way in it is finished first; the
        indexes are written and the database is closed.
        """
        self._door.close()

    def __getattr__(self, name: str) -> Any:
        """A part, such as `library`; raises NotHere for one that only the folder's holder has."""
        if name == "_door":  # not made yet, as in a copy
            raise AttributeError(name)
        found = find(self._door, "workspace", name)
        if isinstance(found, Library) and self._door.here is None:
            # Which models can be chosen is a matter of the settings, and these travel along.
            found.settings, found.embedder = self.settings, self.embedder
            found.embedders, found.rerankers = offers.build_offers(self.settings, self.embedder)
        return found
