"""A Jupyter kernel on this machine: started when needed, asked block by block, interrupted or
killed.
"""

from __future__ import annotations

import asyncio
import os
import queue
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from agentkit.coding.process import MARK, kill_tree
from agentkit.core import stopping
from agentkit.errors import ExecutionError, Stopped, WrongArgument

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient

T = TypeVar("T")
Message = dict[str, Any]

_START_S = 60.0
_INTERRUPT_S = 3.0
_LOOK_EVERY_S = 0.2
_INSTALL = "install them with: pip install jupyter_client ipykernel"


class KernelDied(Exception):
    """The kernel's process ended while it ran a block."""


class Kernel:
    """One kernel process and our end of its channels, usable from any thread; who comes while a
    block runs waits for its turn.

    Its state lives until `kill` or its own death. Jupyter's client is asynchronous; it runs on an
    event loop in a thread of the kernel's own, so that callers inside of a running loop are served
    too.
    """

    def __init__(self, name: str) -> None:
        """Raises ExecutionError without Jupyter's packages, WrongArgument for a kernel that is not
        installed.
        """
        check_installed(name)
        self._name = name
        self._live: _Live | None = None
        self._turn = threading.Lock()

    def run(self, code: str, timeout: float, take: Callable[[str, Message], None]) -> bool:
        """Run a block; `take(type, content)` gets each message about its output. False when it took
        longer than `timeout`.

        After a timeout the kernel was interrupted and keeps its state; one that ignores that was
        killed. Raises Stopped when the run is stopped and KernelDied when the process ends; the
        next block begins with a new kernel.
        """
        stopping.check()
        while not self._turn.acquire(timeout=_LOOK_EVERY_S):
            stopping.check()
        try:
            return self._run(code, timeout, take)
        finally:
            self._turn.release()

    def _run(self, code: str, timeout: float, take: Callable[[str, Message], None]) -> bool:
        try:
            live = self._ready()
            request = live.client.execute(code, allow_stdin=False, stop_on_error=True)
            if live.wait(live.follow(request, timeout, take)):
                return True
            if not live.wait(live.interrupt(request, take)):
                self.kill()
            return False
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End the process and all that it started; without one, do nothing."""
        live, self._live = self._live, None
        if live is not None:
            live.kill()

    def _ready(self) -> _Live:
        if self._live is not None and not self._live.wait(
            self._live.client.is_alive()
        ):  # code said exit()
            self.kill()
        if self._live is None:
            self._live = _Live(self._name)
            self._live.wait(self._live.begin())
        return self._live


class _Live:
    """A kernel from its start to its end, with the loop on which its client runs."""

    client: AsyncKernelClient

    def __init__(self, name: str) -> None:
        from jupyter_client.manager import AsyncKernelManager

        self._mark = uuid.uuid4().hex
        self._sockets = tempfile.mkdtemp(prefix="agentkit-kernel-")
        self._stop = stopping.current()
        options = {}
        if os.name == "posix":
            options = {"transport": "ipc", "ip": os.path.join(self._sockets, "kernel")}
        connection = os.path.join(self._sockets, "connection.json")
        self._manager = AsyncKernelManager(kernel_name=name, connection_file=connection, **options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="jupyter-kernel", daemon=True
        )
        self._thread.start()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that is done on the kernel's loop; it obeys the stop signal of the
        caller.
        """
        self._stop = stopping.current()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def begin(self) -> None:
        """Start the process and connect. Raises ExecutionError when it does not answer."""
        await self._manager.start_kernel(env={**os.environ, MARK: self._mark, "PYTHONUTF8": "1"})
        self.client = self._manager.client()
        self.client.start_channels()
        try:
            await self.client.wait_for_ready(timeout=_START_S)
        except RuntimeError as error:
            raise ExecutionError(
                f"The Jupyter kernel does not start: {error}; is it well installed? If not,"
                f" {_INSTALL}"
            ) from error

    async def follow(
        self, request: str, seconds: float, take: Callable[[str, Message], None]
    ) -> bool:
        """Pass the messages on until the kernel is idle again; False at the deadline."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._stop.is_set:
                raise Stopped("stopped by the user while code was running; its kernel is dead")
            try:
                message = await self.client.get_iopub_msg(timeout=min(left, _LOOK_EVERY_S))
            except queue.Empty:
                if not await self.client.is_alive():
                    raise KernelDied from None
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            is_idle = kind == "status" and content["execution_state"] == "idle"
            if is_idle:
                return True
            take(kind, content)
        return False

    async def interrupt(self, request: str, take: Callable[[str, Message], None]) -> bool:
        """Whether the kernel obeys an interrupt within some seconds."""

        def take_output(kind: str, content: Message) -> None:
            if kind != "error":  # the KeyboardInterrupt is ours
                take(kind, content)

        await self._manager.interrupt_kernel()
        return await self.follow(request, _INTERRUPT_S, take_output)

    def kill(self) -> None:
        """End everything, the loop too."""
        try:
            self.wait(self._end())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            shutil.rmtree(self._sockets, ignore_errors=True)

    async def _end(self) -> None:
        from jupyter_core.utils import ensure_async

        process = getattr(self._manager.provisioner, "process", None)
        if process is not None:
            kill_tree(process, self._mark)
            await self._manager.shutdown_kernel(now=True)
        if hasattr(self, "client"):
            self.client.stop_channels()
        await ensure_async(self._manager.cleanup_resources())


def check_installed(name: str) -> None:
    """Raise ExecutionError without Jupyter's packages, WrongArgument when there is no kernel of
    this name.
    """
    try:
        import ipykernel  # noqa: F401
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as error:
        raise ExecutionError(
            f"A Jupyter kernel needs jupyter_client and ipykernel ({error}); {_INSTALL}"
        ) from error
    names = sorted(KernelSpecManager().find_kernel_specs())
    if name not in names:
        raise WrongArgument(
            f"kernel_name={name!r}: Kernel {name} is not installed; there is"
            f" {', '.join(names) or 'none'}."
        )
