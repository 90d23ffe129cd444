"""Asking the process that holds a data folder: calls, and runs that go on there."""

from __future__ import annotations

import contextvars
import http.client
import json
import os
import socket
import threading
from collections.abc import Generator
from contextlib import closing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentkit.api.address import API, Address, peer_uid
from agentkit.core import bus, stopping
from agentkit.errors import HolderGone, NotFound, StoreError
from agentkit.event_json import from_json
from agentkit.events import HumanAnswered, HumanInputRequested, Recorded
from agentkit.messages import new_id
from agentkit.runs import Run
from agentkit.settings import Settings

if TYPE_CHECKING:
    from agentkit.api.wire import Method

_HELLO_S = 60.0  # a holder may be busy; one that is silent for longer cannot be asked
Line = dict[str, Any]


class NotServed(Exception):
    """Nobody took the call: the holder is closing, or gone. Nothing was done."""


class Link:
    """The way to the holder at an address, for callers with these settings."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self.address = address
        self._settings = settings
        self._gone = HolderGone(
            f"Process {address.pid}, which held the data folder {settings.data} and worked for this"
            " one, has ended. What it had finished is kept; start this again."
        )

    def check(self) -> None:
        """Raise NotServed when nobody answers, and StoreError when it is of another version."""
        if self.address.api != API:
            raise StoreError(
                f"The data folder {self._settings.data} is held by process {self.address.pid},"
                " which runs another version of agentkit; update it or this one, and restart it."
            )
        with closing(_Connection(self.address.socket, _HELLO_S)) as connection:
            try:
                connection.request("GET", "/v1")
                answered = connection.getresponse().status
            except (OSError, http.client.HTTPException) as error:
                raise NotServed from error
        if answered != 200:
            raise NotServed

    @cached_property
    def _packed(self) -> Line:
        from agentkit.api.wire import pack_settings

        return pack_settings(self._settings)

    def call(self, method: Method, arguments: Line) -> Any:
        """Call a method: its result, or the run that it began. What happens is told on our bus.

        Raises NotServed, HolderGone, and what the method raises.
        """
        call_id = new_id()
        lines = self._lines(call_id, method, arguments)
        if method.starts_run:
            return self._run(call_id, method, lines)
        stopping.check()
        with closing(lines), stopping.current().on_stop(lambda: self.stop(call_id)):
            for line in lines:
                if "result" in line:
                    return method.unpack_result(line["result"])
                bus.emit(from_json(line["event"]))
        raise self._gone

    def stop(self, call_id: str) -> None:
        """Let a call end early; one that is over, or whose holder is gone, says so by itself."""
        with suppress(StoreError, NotFound):
            self._post(f"/v1/calls/{call_id}/stop", {})

    def answer(self, call_id: str, text: str, request_id: str) -> None:
        """Answer what the run of a call asks; raises NotFound when it asks nothing (else)."""
        self._post(f"/v1/calls/{call_id}/answer", {"text": text, "request_id": request_id})

    def _run(self, call_id: str, method: Method, lines: Generator[Line]) -> RemoteRun:
        first = next(lines, None)
        if first is None:
            raise self._gone
        return RemoteRun(self, call_id, method, first["run"], lines)

    def _lines(self, call_id: str, method: Method, arguments: Line) -> Generator[Line]:
        """What the call tells, line by line; raises what it ended with."""
        asked = {"id": call_id, "pid": os.getpid(), "heard": bus.has_listeners()}
        asked |= {"settings": self._packed, "arguments": arguments}
        with closing(_Connection(self.address.socket)) as connection:
            response = self._answer(connection, f"/v1/call/{method.part}/{method.name}", asked)
            while (said := self._read_line(response)) is not None:
                yield said

    def _post(self, path: str, body: Line) -> None:
        with closing(_Connection(self.address.socket, _HELLO_S)) as connection:
            try:
                response = self._answer(connection, path, body)
            except NotServed as error:
                raise self._gone from error
            self._read_line(response)

    def _answer(self, connection: _Connection, path: str, body: Line) -> http.client.HTTPResponse:
        try:
            connection.connect()
        except OSError as error:
            raise NotServed from error
        try:
            connection.request("POST", path, json.dumps(body).encode())
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._gone from error
        if response.status == 503:
            raise NotServed
        return response

    def _read_line(self, response: http.client.HTTPResponse) -> Line | None:
        """The next line, None at the end; raises the error that it tells."""
        from agentkit.api.wire import unpack_error

        try:
            line = response.readline()
            said: Line | None = json.loads(line) if line else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._gone from error
        if said and "error" in said:
            raise unpack_error(said["error"], self.address.pid)
        return said


class RemoteRun(Run[Any]):
    """A run in the process that holds the folder, as if it went on here.

    It ends with the program that began it.
    """

    def __init__(
        self, link: Link, call_id: str, method: Method, facts: Line, lines: Generator[Line]
    ) -> None:
        super().__init__("", "", "", None)
        for name, value in facts.items():
            setattr(self, name, value)
        self.kept = True
        self._link, self._call_id, self._method, self._lines = link, call_id, method, lines
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._follow,), name=f"agentkit-{self.id[:12]}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the run early; what was done so far is kept."""
        super().stop()
        self._link.stop(self._call_id)

    def answer(self, text: str, request_id: str = "") -> None:
        """Answer what the run asked; raises NotFound when it asks nothing (else)."""
        self._link.answer(self._call_id, text, request_id)

    def _follow(self) -> None:
        self._enter()
        try:
            with closing(self._lines):
                for line in self._lines:
                    if "result" in line:
                        self._result = self._method.unpack_result(line["result"])
                        return
                    self._hear(Recorded(line["seq"], line["at"], from_json(line["event"])))
            raise self._link._gone
        except BaseException as error:  # noqa: BLE001 (the caller gets it from result())
            self._error = error
        finally:
            self._finish()

    def _hear(self, recorded: Recorded) -> None:
        match recorded.event:
            case HumanInputRequested() as request:
                self.waiting_for = request
            case HumanAnswered():
                self.waiting_for = None
            case _:
                pass
        with self._changed:
            self._history.take(recorded)
            self._changed.notify_all()
        bus.emit(recorded.event)


class _Connection(http.client.HTTPConnection):
    """HTTP to a process of our own user, over a Unix socket; it has no other end."""

    def __init__(self, path: str, timeout: float | None = None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect; raises OSError, also when the other end is not of our user."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)
        if peer_uid(self.sock) != os.geteuid():
            raise PermissionError("the process at the socket is of another user")
