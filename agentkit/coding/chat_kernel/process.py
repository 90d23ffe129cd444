"""The two sandboxes of a kernel: started, asked, halted between cells, interrupted, ended."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from agentkit.coding import folders as working_folders
from agentkit.coding import footprint
from agentkit.coding.bubblewrap import MIB, Limits, Sandbox, build_arguments
from agentkit.coding.chat_kernel import outputs
from agentkit.coding.process import CappedOutput
from agentkit.core import confinement, stopping
from agentkit.errors import ExecutionError, WrongArgument

EndReason = Literal[
    "exited",
    "memory",
    "disk",
    "timeout",
    "flooded",
    "runaway",
    "stopped",
    "least_used",
    "idle",
    "ended",
    "branch",
]
"""Why a kernel is gone: it ended by itself; it broke a limit, of output, or of processes that
cannot be halted; it did not obey an interrupt, after a timeout or a stop; the pool needed its
place, or nobody used it; it was asked to end; its chat went on from another branch.
"""
Ending = Literal["done", "timeout", "stopped"]

INSIDE = "/workspace"
"""Where code sees its folder."""
CODE_BYTES = 1 << 20
_HERE = Path(__file__).parent
_SOCKETS, _CONNECTION = "/sockets", "/sockets/connection.json"
_KERNEL, _CLIENT = "/in_kernel.py", "/in_client.py"
_LINE_BYTES, _CELL_BYTES = 8 << 20, 128 << 20
"""What the client's sandbox may send at most: it holds to less."""
_START_S, _INTERRUPT_S, _HALT_S = 60.0, 3.0, 1.0
_STOP_S = 0.5
_SLICE_S, _LOOK_EVERY_S = 0.05, 0.2
_CLIENT_LIMITS = Limits(memory_mb=1024, processes=64, file_mb=1)
_OWN_PROCESSES = 40
"""Threads of the kernel and its client, which count as processes."""
_RESERVED_MB = 400
"""What a kernel with pandas reserves of addresses, and does not use."""
_FOR_EVER_S = 10**9


class Gone(Exception):
    """The kernel is no more; `reason` says why."""

    def __init__(self, reason: EndReason) -> None:
        super().__init__(reason)
        self.reason: EndReason = reason


@cache
def _spawner() -> ThreadPoolExecutor:
    """A sandbox dies with the thread that made it, so one thread that stays makes them all."""
    return ThreadPoolExecutor(1, thread_name_prefix="kernel-spawner")


class KernelProcess:
    """A running kernel, for one caller at a time. Between cells all its processes are halted."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        """Start it with `folder` to work in; as root it becomes the folder of a user of its own.

        Raises ExecutionError when it does not start, Stopped when the run is stopped meanwhile.
        """
        self._folder, self._limits = folder, limits
        self._user = confinement.unused_user()
        self._sockets = Path(tempfile.mkdtemp(prefix="agentkit-kernel-"))
        self._pending, self._taken = bytearray(), 0
        self._ended, self._ending = False, threading.Lock()
        self._remove = weakref.finalize(self, working_folders.remove, self._sockets)
        self._kernel, self._client = _spawner().submit(self._spawn).result()
        self._output = self._client.stdout.fileno()
        self._signals = -1
        try:
            self._begin()
        except BaseException:
            self.end()
            raise

    def _spawn(self) -> tuple[Sandbox, Sandbox]:
        try:
            working_folders.open_up(self._folder)
            self._write_connection()
            if self._user is not None:
                working_folders.hand_over(self._folder, self._user)
                working_folders.hand_over(self._sockets, self._user)
        except OSError as error:
            raise ExecutionError(
                f"a kernel cannot work in {str(self._folder)!r}: {error.strerror}."
            ) from error
        kernel = Sandbox(self._kernel_arguments())
        try:
            return kernel, Sandbox(self._client_arguments(), piped=True)
        except BaseException:
            _end(kernel)
            raise

    def _write_connection(self) -> None:
        ports = {f"{name}_port": at for at, name in enumerate(_CHANNELS, start=1)}
        info = {"transport": "ipc", "ip": f"{_SOCKETS}/kernel", "key": secrets.token_hex(32)}
        connection = {**info, **ports, "signature_scheme": "hmac-sha256"}
        (self._sockets / "connection.json").write_text(json.dumps(connection), encoding="utf-8")

    def _kernel_arguments(self) -> list[str]:
        places = [*confinement.mounts({}), "--bind", str(self._folder), INSIDE]
        options = {"text": 2 * self._limits.output_bytes, "variables": outputs.VARIABLES}
        options |= {"rows": outputs.ROWS, "columns": outputs.COLUMNS}
        options |= {"cell": outputs.CELL_CHARACTERS, "table": outputs.TABLE_BYTES}
        processes = self._limits.processes + _OWN_PROCESSES
        memory_mb = self._limits.memory_mb + _RESERVED_MB
        limits = replace(self._limits, processes=processes, memory_mb=memory_mb)
        return self._arguments(_KERNEL, places, INSIDE, options, limits)

    def _client_arguments(self) -> list[str]:
        options = {"text": 2 * self._limits.output_bytes, "forms": outputs.FORMS}
        options |= {"traceback": 2 * outputs.TRACEBACK_CHARACTERS}
        processes = self._limits.processes + 2 * _OWN_PROCESSES
        limits = replace(_CLIENT_LIMITS, processes=processes)
        return self._arguments(_CLIENT, [*confinement.mounts({})], "/", options, limits)

    def _arguments(
        self, program: str, places: list[str], here: str, options: object, limits: Limits
    ) -> list[str]:
        places += ["--bind", str(self._sockets), _SOCKETS]
        places += ["--ro-bind", str(_HERE / program[1:]), program]
        python = [sys.executable, "-I", "-B", "-X", "utf8", program]
        command = [*python, _CONNECTION, json.dumps(options)]
        return build_arguments(command, places, here, limits, self._user, _FOR_EVER_S)

    def _begin(self) -> None:
        """Wait until the kernel answers, and find its process."""
        end = time.monotonic() + _START_S
        try:
            while {"kind": "ready"} not in self._receive(end_it=False):
                stopping.check()
                if time.monotonic() > end:
                    raise Gone("timeout")
        except Gone as gone:
            raise ExecutionError(
                f"The kernel does not start ({gone.reason}). {self._read_last_words()}"
            ) from None
        self._signals = os.pidfd_open(footprint.descendants(self._kernel.first)[1])
        self._halt()

    def _read_last_words(self) -> str:
        with contextlib.suppress(OSError):
            os.set_blocking(self._kernel.stdout.fileno(), False)
            said = os.read(self._kernel.stdout.fileno(), 1 << 16).decode("utf-8", "replace")
            return outputs.scrub(said.strip()[-2000:])
        return ""

    @property
    def alive(self) -> bool:
        """Whether both of its sandboxes run."""
        return not (self._ended or _has_ended(self._kernel) or _has_ended(self._client))

    def run(
        self, code: str, take: Callable[[outputs.Line], None], seconds: float, silent: bool = False
    ) -> Ending:
        """Run a cell, each line about it goes to `take`; how it came to its end.

        After a timeout or a stop it was interrupted, and keeps its state. Raises Gone when it is no
        more: it died, broke a limit, or did not obey.
        """
        allowed = max(self._limits.file_mb * MIB, self._measure_disk())
        self._resume()
        self._taken = 0
        self._send({"code": code, "silent": silent})
        ending = self._follow(take, seconds, allowed)
        if ending != "done":
            self._interrupt()
            wait_s = _STOP_S if ending == "stopped" else _INTERRUPT_S

            def take_output(line: outputs.Line) -> None:
                if line.get("kind") != "error":  # the KeyboardInterrupt is ours
                    take(line)

            if self._follow(take_output, wait_s, allowed, stoppable=False) != "done":
                self.end()
                raise Gone(ending)
        self._halt()
        return ending

    def _follow(
        self,
        take: Callable[[outputs.Line], None],
        seconds: float,
        allowed: int,
        stoppable: bool = True,
    ) -> Ending:
        """Pass on what comes until the cell is done; raises Gone when a limit is broken."""
        signal_of_run = stopping.current()
        end = time.monotonic() + seconds
        looked = time.monotonic()
        while True:
            for line in self._receive():
                take(line)
                if line.get("kind") == "done":
                    return "done"
            now = time.monotonic()
            if stoppable and signal_of_run.is_set:
                return "stopped"
            if now >= end:
                return "timeout"
            if now - looked >= _LOOK_EVERY_S:
                self._check_excess(allowed)
                looked = time.monotonic()

    def _check_excess(self, allowed: int) -> None:
        places = [self._folder, self._sockets]
        if excess := self._kernel.find_excess(places, self._limits, allowed):
            self.end()
            raise Gone(excess)

    def _measure_disk(self) -> int:
        return sum(map(footprint.disk_bytes, (self._folder, self._sockets)))

    def _receive(self, end_it: bool = True) -> list[outputs.Line]:
        """The lines that have come; waits for some a moment. Raises Gone."""
        ready = select.poll()
        for descriptor in (self._output, self._kernel.life, self._client.life):
            ready.register(descriptor, select.POLLIN)
        events = dict(ready.poll(_SLICE_S * 1000))
        piece = os.read(self._output, 1 << 20) if self._output in events else b""
        if events and not piece:
            reason: EndReason = "exited" if _has_ended(self._kernel) else "flooded"
            if end_it:
                self.end()
            raise Gone(reason)
        self._pending += piece
        self._taken += len(piece)
        if self._taken > _CELL_BYTES or len(self._pending) > _LINE_BYTES:
            self.end()
            raise Gone("flooded")
        *lines, rest = self._pending.split(b"\n")
        self._pending = bytearray(rest)
        return [line for text in lines if (line := _read_line(text)) is not None]

    def _send(self, request: dict[str, object]) -> None:
        """Ask the client, which waits for it; raises Gone when it does not take it."""
        assert self._client.stdin is not None
        left = memoryview(json.dumps(request).encode() + b"\n")
        handle = self._client.stdin.fileno()
        os.set_blocking(handle, False)
        writable = select.poll()
        writable.register(handle, select.POLLOUT)
        while left:
            try:
                if not writable.poll(_START_S * 1000):
                    raise BrokenPipeError
                left = left[os.write(handle, left) :]
            except BrokenPipeError:
                self.end()
                raise Gone("exited") from None

    def _interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._signals, signal.SIGINT)

    def _halt(self) -> None:
        """Stop the processes where they are, so that nothing is computed, written or forked between
        cells; raises Gone when they multiply faster.
        """
        end = time.monotonic() + _HALT_S
        told: set[int] = set()
        while True:
            states = footprint.read_states(self._kernel.first)
            awake = {pid for pid, state in states.items() if pid not in told or state not in "TtZX"}
            if not awake:
                return
            if time.monotonic() > end:
                self.end()
                raise Gone("runaway")
            _signal(awake, signal.SIGSTOP)
            told |= awake

    def _resume(self) -> None:
        _signal(footprint.descendants(self._kernel.first), signal.SIGCONT)

    def end(self) -> None:
        """Kill both sandboxes and all that runs in them; a second call does nothing."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
            for sandbox in (self._kernel, self._client):
                _end(sandbox)
            if self._signals >= 0:
                os.close(self._signals)
            self._remove()

    def kill(self) -> None:
        """Let it die from another thread than the one that asks it, which then calls `end`."""
        with self._ending, contextlib.suppress(ProcessLookupError):  # it is dead already
            if not self._ended:
                with contextlib.suppress(ProcessLookupError):  # it has just died by itself
                    signal.pidfd_send_signal(self._kernel.life, signal.SIGKILL)


_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")


def check_code(code: str) -> None:
    """Raise WrongArgument for a cell that is too long to be sent."""
    if len(code.encode("utf-8", "replace")) > CODE_BYTES:
        raise WrongArgument(
            f"code has {len(code):,} characters; a cell may have {CODE_BYTES:,} bytes."
        )


def _read_line(text: bytes | bytearray) -> outputs.Line | None:
    """A line of JSON; None for what is none."""
    try:
        line = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _has_ended(sandbox: Sandbox) -> bool:
    ready = select.poll()
    ready.register(sandbox.life, select.POLLIN)
    return bool(ready.poll(0))


def _end(sandbox: Sandbox) -> None:
    os.set_blocking(sandbox.stdout.fileno(), True)
    sandbox.end(CappedOutput(1))
