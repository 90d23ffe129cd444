"""Opening a data folder: here, when it is free, or through the process that holds it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentkit.api import address
from agentkit.api.address import Claim, Taken
from agentkit.api.client import Link, NotServed, RemoteRun
from agentkit.api.methods import part_of
from agentkit.api.server import Server
from agentkit.errors import DatabaseInUse, StoreError
from agentkit.retrieval import Embedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace

if TYPE_CHECKING:
    from agentkit.api.wire import Method

_PATIENCE_S, _PAUSE_S = 60.0, 0.05
"""How long, and how often, it is tried to reach a process that has the folder but serves nobody:
one that is just opening or closing it."""


class Held(Workspace):
    """A workspace whose data folder this process holds; it serves other processes, too."""

    def __init__(
        self, settings: Settings, embedder: Embedder | None = None, *, patient: bool = False
    ) -> None:
        """Raises DatabaseInUse when another process holds the folder, and StoreError.

        Closing waits for what others have under way here if `patient`; else it stops that.
        """
        self._patient = patient
        self._claim = Claim(settings.data)
        try:
            super().__init__(settings, embedder)
            self._server = Server(self, self._claim.listen())
        except BaseException:
            self._claim.release()
            raise

    @property
    def serving(self) -> int:
        """How many calls of other processes are at work here."""
        return self._server.busy

    def close(self) -> None:
        """End what others have under way, write the indexes, close the database."""
        try:
            self._claim.hide()
            self._server.close(self._patient)
        finally:
            try:
                super().close()
            finally:
                self._claim.release()


class Door:
    """The way to a data folder; it stays open when the folder changes hands."""

    def __init__(self, settings: Settings, embedder: Embedder | None) -> None:
        self._settings, self._embedder = settings, embedder
        self._opening = threading.Lock()
        self._way: Held | Link | None = None
        self._runs: list[RemoteRun] = []
        self._closed = False
        self.open()

    @property
    def here(self) -> Held | None:
        """The workspace, when this process holds the folder."""
        if isinstance(self._way, Held):
            return self._way
        return None

    @property
    def holder(self) -> int | None:
        """The id of the process that holds the folder when it is another one."""
        if isinstance(self._way, Link):
            return self._way.address.pid
        return None

    def adopt(self, settings: Settings) -> None:
        """Ask for everything under these settings from now on."""
        with self._opening:
            self._settings = settings
            if isinstance(self._way, Held):
                self._way.adopt(settings)
            elif self._way is not None:
                self._way = Link(self._way.address, settings)

    def open(self) -> None:
        """Find the way; raises DatabaseInUse when there is none, and StoreError."""
        patience = time.monotonic() + _PATIENCE_S
        with self._opening:
            while not self._try_again(late=time.monotonic() > patience):
                time.sleep(_PAUSE_S)

    def call(self, method: Method, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Call a method of a part, here or where the folder is held."""
        while True:
            way = self._way
            if isinstance(way, Held):
                return getattr(part_of(way, method.part), method.name)(*given, **named)
            if way is None or self._closed:
                raise StoreError("The workspace is closed; open it again.")
            try:
                return self._keep(way.call(method, method.pack(given, named)))
            except NotServed:  # the holder has left, and did nothing for us
                self.open()

    def close(self) -> None:
        """Stop the runs that go on, and let go of the folder."""
        self._closed = True
        for run in self._runs:
            if not run.ended:
                run.stop()
                run.wait(10)
        if isinstance(self._way, Held):
            self._way.close()

    def _keep(self, found: object) -> Any:
        if isinstance(found, RemoteRun):
            self._runs = [run for run in self._runs if not run.ended] + [found]
        return found

    def _try_again(self, late: bool) -> bool:
        found = address.read(self._settings.data)
        if found is not None:
            link = Link(found, self._settings)
            try:
                link.check()
            except NotServed:
                pass
            else:
                self._way = link
                return True
        try:
            self._way = Held(self._settings, self._embedder, patient=True)
        except Taken as error:
            if late:
                raise DatabaseInUse(str(error)) from error
            return False
        return True
