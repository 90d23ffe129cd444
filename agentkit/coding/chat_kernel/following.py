"""What all kernels have in common: a cell is sent, its lines are followed, its limits are kept."""

from __future__ import annotations

import json
import os
import select
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from agentkit.coding import footprint
from agentkit.coding.bubblewrap import MIB, Limits
from agentkit.coding.chat_kernel import outputs
from agentkit.core import stopping
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
HERE = Path(__file__).parent
RESERVED_MB = 400
"""What a kernel with pandas reserves of addresses, and does not use."""
OWN_PROCESSES = 40
"""Threads of the kernel and its client, which count as processes."""
FOR_EVER_S = 10**9
_LINE_BYTES, _CELL_BYTES = 8 << 20, 128 << 20
"""What the client may send at most: it holds to less."""
_START_S, _INTERRUPT_S = 60.0, 3.0
_STOP_S = 0.5
_SLICE_S, _LOOK_EVERY_S = 0.05, 0.2


class Gone(Exception):
    """The kernel has ended; `reason` says why."""

    def __init__(self, reason: EndReason) -> None:
        super().__init__(reason)
        self.reason: EndReason = reason


class RunningKernel(ABC):
    """A running kernel, for one caller at a time. Between cells all its processes are halted.

    Its client, beside it in the sandbox, takes requests and answers in lines of JSON.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder, self._limits = folder, limits
        self._pending, self._taken = bytearray(), 0
        self._ended, self._ending = False, threading.Lock()

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it runs."""

    @abstractmethod
    def end(self) -> None:
        """Kill it and all that runs in it; a second call does nothing."""

    @abstractmethod
    def kill(self) -> None:
        """Let it die from another thread than the one that asks it, which then calls `end`."""

    @abstractmethod
    def _pipes(self) -> tuple[int, int]:
        """Descriptors: where the client reads requests, and where its lines come from."""

    @abstractmethod
    def _lives(self) -> Sequence[int]:
        """Descriptors that are ready when something has died; the end of the lines says so too."""

    @abstractmethod
    def _why_gone(self) -> EndReason:
        """Why it is gone, after its lines have ended."""

    @abstractmethod
    def _find_excess(self, allowed: int) -> EndReason | None:
        """Which limit is broken at this moment; `allowed` are bytes on the disk."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Raise KeyboardInterrupt in the cell."""

    @abstractmethod
    def _halt(self) -> None:
        """Stop all processes where they are; raises Gone when that cannot be done."""

    @abstractmethod
    def _resume(self) -> None:
        """Let them go on."""

    @abstractmethod
    def _places(self) -> Sequence[Path]:
        """The folders that it can write to and that count as disk."""

    @abstractmethod
    def _read_last_words(self) -> str:
        """What it said that did not start."""

    def run(
        self, code: str, take: Callable[[outputs.Line], None], seconds: float, silent: bool = False
    ) -> Ending:
        """Run a cell, each line about it goes to `take`; how it came to its end.

        After a timeout or a stop it was interrupted, and keeps its state. Raises Gone when it has
        ended: it died, broke a limit, or did not obey.
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

    def _wait_until_ready(self) -> None:
        """Wait until the kernel answers. Raises ExecutionError, Stopped."""
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
        if excess := self._find_excess(allowed):
            self.end()
            raise Gone(excess)

    def _measure_disk(self) -> int:
        return sum(map(footprint.disk_bytes, self._places()))

    def _receive(self, end_it: bool = True) -> list[outputs.Line]:
        """The lines that have come; waits for some a moment. Raises Gone."""
        _, output = self._pipes()
        ready = select.poll()
        for descriptor in (output, *self._lives()):
            ready.register(descriptor, select.POLLIN)
        events = dict(ready.poll(_SLICE_S * 1000))
        piece = os.read(output, 1 << 20) if output in events else b""
        if events and not piece:
            reason = self._why_gone()
            if end_it:
                self.end()
            raise Gone(reason)
        self._pending += piece
        self._taken += len(piece)
        is_flood = self._taken > _CELL_BYTES or len(self._pending) > _LINE_BYTES
        if is_flood:
            self.end()
            raise Gone("flooded")
        *lines, rest = self._pending.split(b"\n")
        self._pending = bytearray(rest)
        read = map(_read_line, lines)
        return [line for line in read if line is not None]

    def _send(self, request: dict[str, object]) -> None:
        """Ask the client, which waits for it; raises Gone when it does not take it."""
        left = memoryview(json.dumps(request).encode() + b"\n")
        handle, _ = self._pipes()
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

    def _kernel_options(self) -> str:
        """What the program of the kernel is told, as JSON."""
        options = {"text": 2 * self._limits.output_bytes, "variables": outputs.VARIABLES}
        options |= {"rows": outputs.ROWS, "columns": outputs.COLUMNS}
        options |= {"cell": outputs.CELL_CHARACTERS, "table": outputs.TABLE_BYTES}
        return json.dumps(options)

    def _client_options(self) -> str:
        """What the program of the client is told, as JSON."""
        options = {"text": 2 * self._limits.output_bytes, "forms": outputs.FORMS}
        options |= {"traceback": 2 * outputs.TRACEBACK_CHARACTERS}
        return json.dumps(options)


def check_code(code: str) -> None:
    """Raise WrongArgument for a cell that is too long to be sent."""
    if len(code.encode("utf-8", "replace")) > CODE_BYTES:
        raise WrongArgument(
            f"code has {len(code):,} characters; a cell may have {CODE_BYTES:,} bytes."
        )


def _read_line(text: bytes | bytearray) -> outputs.Line | None:
    """A line of JSON; None for any other line."""
    try:
        line = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
