"""A call from another process at work: what it is told on the way, line by line, and how it ends.

The lines are JSON objects. The first may be `run`, when the method starts one. Then comes `event`
for each thing that happens, and at last `result` or `error`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from agentkit.api.methods import part_of
from agentkit.api.wire import Method, pack_error
from agentkit.core import bus, stopping
from agentkit.core.stopping import StopSignal
from agentkit.errors import AgentkitError, NotFound
from agentkit.event_json import to_json
from agentkit.events import Event
from agentkit.runs import Run
from agentkit.workspace import Workspace

log = logging.getLogger(__name__)


class Call:
    """A method at work on a thread of its own; whoever asked reads its lines."""

    def __init__(
        self, workspace: Workspace, method: Method, arguments: dict[str, Any], heard: bool
    ) -> None:
        """A call that `begin` begins, within the event loop that serves it."""
        self._function = getattr(part_of(workspace, method.part), method.name)
        self._method, self._arguments, self._heard = method, arguments, heard
        self.told = False
        """Whether the last line was read."""
        self._signal = StopSignal()
        self._run: Run[Any] | None = None
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def begin(self, ended: Callable[[], None]) -> None:
        """Work on a thread of its own, which calls `ended` as its last step."""

        def work() -> None:
            try:
                self._work()
            finally:
                ended()

        threading.Thread(target=work, name="agentkit-call", daemon=True).start()

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines as they come."""
        while (line := await self._lines.get()) is not None:
            yield line
        self.told = True

    def leave(self) -> None:
        """Nobody reads the lines any more: stop, unless all was told."""
        if not self.told:
            # On a thread, as what a stop calls may take its time and others are served meanwhile.
            threading.Thread(target=self.stop, name="agentkit-stop", daemon=True).start()

    def stop(self) -> None:
        """Let it end early; it says so in its last line."""
        self._signal.set()

    def answer(self, text: str, request_id: str) -> None:
        """Answer what its run asked; raises NotFound when it asks nothing."""
        if self._run is None:
            raise NotFound("This call has no run that could ask anything.")
        self._run.answer(text, request_id)

    def _work(self) -> None:
        listeners = []
        if self._heard and not self._method.starts_run:
            listeners = [self._tell]
        try:
            with stopping.stoppable(self._signal), bus.listening(*listeners):
                found = self._function(**self._arguments)
                if isinstance(found, Run):
                    found = self._follow(found)
            self._put(result=self._method.pack_result(found))
        except BaseException as error:
            if not isinstance(error, AgentkitError):
                log.exception("%s.%s failed", self._method.part, self._method.name)
            self._put(error=pack_error(error))
        finally:
            self._send(None)

    def _follow(self, run: Run[Any]) -> Any:
        self._run = run
        facts = ("id", "kind", "title", "owner", "chat_id", "size", "message_id", "started_at")
        self._put(run={name: getattr(run, name) for name in facts})
        with self._signal.on_stop(run.stop):
            for recorded in run:
                event = to_json(recorded.event)
                self._put(seq=recorded.seq, at=recorded.at, event=event)
        return run.result()

    def _tell(self, event: Event) -> None:
        self._put(event=to_json(event))

    def _put(self, **fields: object) -> None:
        self._send(json.dumps(fields).encode() + b"\n")

    def _send(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the loop has ended: nobody listens any more
            self._signal.set()
