"""The routes of the API, version 1, for whichever server serves them.

    GET  /v1                       who holds the data folder
    POST /v1/call/PART/METHOD      call a method; the answer comes as lines, see `calls`
    POST /v1/calls/ID/stop         let a call end early
    POST /v1/calls/ID/answer       answer what the run of a call asks a person

A refused request has the status 4xx and the line `error`; 503 says that the holder is closing.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from agentkit.api import address
from agentkit.api.address import API
from agentkit.api.attendance import Attendance
from agentkit.api.calls import Call
from agentkit.api.methods import method
from agentkit.api.wire import pack_error, unpack_settings
from agentkit.errors import AgentkitError, ConfigError, NotFound
from agentkit.workspace import Workspace
from agentkit.workspace.interrupted import interrupt
from agentkit.workspace.recorders import is_recorded

LARGEST = 64 * 2**20
"""Bytes of a request at most."""
_STOPPING_S = 10.0


class Asked(BaseModel):
    """A call: its id, which the client chooses, for whom it is, and with what."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: str
    settings: dict[str, Any]
    arguments: dict[str, Any]
    pid: int
    """The client's process."""
    heard: bool = False
    """Whether the client wants to be told what happens."""


class Answered(BaseModel):
    """A person's answer to what a run asked."""

    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    request_id: str = ""


class Service:
    """The API over one workspace, as an ASGI application."""

    def __init__(self, workspace: Workspace, largest: int = LARGEST) -> None:
        """`largest` is how many bytes a request may have."""
        self._workspace, self._largest = workspace, largest
        self._attendance = Attendance(
            partial(interrupt, workspace.ledger, find_team=workspace.team)
        )
        for run_id in workspace.recorded:
            lives = partial(is_recorded, workspace.settings.data, run_id)
            self._attendance.expect(run_id, lives)
        self._calls: dict[str, Call] = {}
        self._changed = threading.Condition()
        self._closing = False
        self.application = Starlette(
            routes=[
                Route("/v1", self._hello),
                Route("/v1/call/{part}/{name}", self._call, methods=["POST"]),
                Route("/v1/calls/{id}/stop", self._stop, methods=["POST"]),
                Route("/v1/calls/{id}/answer", self._answer, methods=["POST"]),
            ]
        )

    def close(self, patient: bool) -> None:
        """Take no more calls and wait for those at work, which are stopped unless `patient`."""
        with self._changed:
            self._closing = True
        self._attendance.close()
        with suppress(KeyboardInterrupt):  # somebody has no patience any more
            if patient and self._wait_for_end(None):
                return
        for call in list(self._calls.values()):
            call.stop()
        self._wait_for_end(_STOPPING_S)

    @property
    def busy(self) -> int:
        """How many calls are at work."""
        return len(self._calls)

    def _wait_for_end(self, seconds: float | None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._calls, seconds)

    async def _hello(self, request: Request) -> Response:
        if self._closing:
            return _tell_closing()
        return JSONResponse({"api": API, "pid": os.getpid()})

    async def _call(self, request: Request) -> Response:
        part, name = request.path_params["part"], request.path_params["name"]
        try:
            known = method(part, name)
            if known is None:
                raise NotFound(f"{part}.{name} is nothing that other processes can ask for.")
            asked = Asked.model_validate(await self._body(request))
            theirs = self._workspace.with_settings(unpack_settings(asked.settings))
            arguments = known.unpack(asked.arguments)
            call = Call(theirs, known, arguments, asked.heard)
        except (AgentkitError, ValidationError) as error:
            return _refuse(error)
        with self._changed:
            if self._closing:
                return _tell_closing()
            if asked.id in self._calls:
                return _refuse(ConfigError(f"There is a call {asked.id!r} already."))
            self._calls[asked.id] = call
        if (part, name) == ("ledger", "keep"):
            self._attendance.hear(arguments["run"].id, asked.pid, arguments["events"])
        call.begin(partial(self._forget, asked.id))
        return Lines(call)

    def _forget(self, call_id: str) -> None:
        with self._changed:
            del self._calls[call_id]
            self._changed.notify_all()

    async def _stop(self, request: Request) -> Response:
        try:
            call = self._read_call(request)
        except NotFound as error:
            return _refuse(error)
        await run_in_threadpool(call.stop)
        return JSONResponse({})

    async def _answer(self, request: Request) -> Response:
        try:
            said = Answered.model_validate(await self._body(request))
            self._read_call(request).answer(said.text, said.request_id)
        except (AgentkitError, ValidationError) as error:
            return _refuse(error)
        return JSONResponse({})

    def _read_call(self, request: Request) -> Call:
        call = self._calls.get(request.path_params["id"])
        if call is None:
            raise NotFound("That call is over.")
        return call

    async def _body(self, request: Request) -> Any:
        """The JSON value of the request; raises ConfigError when it is not JSON, or too large."""
        read = bytearray()
        async for piece in request.stream():
            read += piece
            if len(read) > self._largest:
                most = f"{self._largest:,} bytes"
                raise ConfigError(f"The request is larger than {most}; send less at once.")
        try:
            return json.loads(read)
        except ValueError as error:
            raise ConfigError(f"The request is not JSON ({error}).") from error


class Lines(StreamingResponse):
    """What a call tells, to its end or until the client is gone, which stops the call."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.lines(), media_type="application/x-ndjson")
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._call.leave()


class OwnersOnly(H11Protocol):
    """Speaks HTTP with processes of the user who runs this one, and with nobody else."""

    def connection_made(self, transport: Any) -> None:
        """Look who it is before anything is read."""
        super().connection_made(transport)
        if address.peer_uid(transport.get_extra_info("socket")) != os.geteuid():
            transport.abort()


def server_of(service: Service) -> uvicorn.Server:
    """A server of it for Unix sockets."""
    return uvicorn.Server(
        uvicorn.Config(
            service.application,
            http=OwnersOnly,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=5,
        )
    )


def _refuse(error: Exception) -> Response:
    status = 404 if isinstance(error, NotFound) else 400
    if isinstance(error, ValidationError):
        error = ConfigError(f"The request is not as it should be ({error.errors()[0]['msg']}).")
    return JSONResponse({"error": pack_error(error)}, status)


def _tell_closing() -> Response:
    return JSONResponse({"error": pack_error(NotFound("The holder is closing."))}, 503)
