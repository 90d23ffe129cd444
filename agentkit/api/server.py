"""The server of the process that holds a data folder: it starts when the first client comes."""

from __future__ import annotations

import os
import select
import socket
import threading
from typing import TYPE_CHECKING

from agentkit.workspace import Workspace

if TYPE_CHECKING:
    import uvicorn

    from agentkit.api.routes import Service


class Server:
    """Serves a workspace on a listening socket, from a thread of its own, until it is closed."""

    def __init__(self, workspace: Workspace, listening: socket.socket) -> None:
        self._workspace, self._socket = workspace, listening
        self._changing = threading.Lock()
        self._closing = False
        self._service: Service | None = None
        self._server: uvicorn.Server | None = None
        self._wake = os.pipe()
        self._thread = threading.Thread(target=self._work, name="agentkit-api", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> int:
        """How many calls of other processes are at work."""
        return self._service.busy if self._service else 0

    def close(self, patient: bool) -> None:
        """Take no more calls, and wait for those at work, which are stopped unless `patient`."""
        with self._changing:
            if self._closing:
                return
            self._closing = True
            service, server = self._service, self._server
        os.write(self._wake[1], b"x")
        if service is not None:
            service.close(patient)
        if server is not None:
            server.should_exit = True
        self._thread.join()
        for end in self._wake:
            os.close(end)

    def _is_wanted(self) -> bool:
        """Wait until somebody comes: most commands end before the libraries of a server are loaded.

        Where programs record runs, it looks after these from the beginning.
        """
        if self._workspace.recorded:
            return True
        ready, _, _ = select.select([self._socket.fileno(), self._wake[0]], [], [])
        return self._wake[0] not in ready

    def _work(self) -> None:
        if not self._is_wanted():
            return
        from agentkit.api.routes import Service, server_of

        service = Service(self._workspace)
        server = server_of(service)
        with self._changing:
            if self._closing:
                service.close(patient=False)
                return
            self._service, self._server = service, server
        server.run(sockets=[self._socket])
