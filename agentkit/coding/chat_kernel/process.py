"""A kernel in two sandboxes of bubblewrap: started, halted between cells, interrupted, ended."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

from agentkit.coding import folders as working_folders
from agentkit.coding import footprint
from agentkit.coding.bubblewrap import Limits, Sandbox, build_arguments
from agentkit.coding.chat_kernel import outputs
from agentkit.coding.chat_kernel.following import (
    FOR_EVER_S,
    HERE,
    INSIDE,
    OWN_PROCESSES,
    RESERVED_MB,
    EndReason,
    Gone,
    RunningKernel,
)
from agentkit.coding.process import CappedOutput
from agentkit.core import confinement
from agentkit.errors import ExecutionError

_SOCKETS, _CONNECTION = "/sockets", "/sockets/connection.json"
_KERNEL, _CLIENT = "/in_kernel.py", "/in_client.py"
_HALT_S = 1.0
_CLIENT_LIMITS = Limits(memory_mb=1024, processes=64, file_mb=1)


@cache
def _spawner() -> ThreadPoolExecutor:
    """A sandbox dies with the thread that made it, so one thread that stays makes them all."""
    return ThreadPoolExecutor(1, thread_name_prefix="kernel-spawner")


class KernelProcess(RunningKernel):
    """A kernel in a sandbox, its client in another one. Linux only."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        """Start it with `folder` to work in; as root it becomes the folder of a user of its own.

        Raises ExecutionError when it does not start, Stopped when the run is stopped meanwhile.
        """
        super().__init__(folder, limits)
        self._user = confinement.find_unused_user()
        self._sockets = Path(tempfile.mkdtemp(prefix="agentkit-kernel-"))
        self._remove = weakref.finalize(self, working_folders.remove, self._sockets)
        self._kernel, self._client = _spawner().submit(self._spawn).result()
        assert self._client.stdin is not None  # it is piped
        self._input, self._output = self._client.stdin.fileno(), self._client.stdout.fileno()
        self._signals = -1
        try:
            self._wait_until_ready()
            self._signals = os.pidfd_open(footprint.descendants(self._kernel.first)[1])
            self._halt()
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
        processes = self._limits.processes + OWN_PROCESSES
        memory_mb = self._limits.memory_mb + RESERVED_MB
        limits = replace(self._limits, processes=processes, memory_mb=memory_mb)
        return self._arguments(_KERNEL, places, INSIDE, self._kernel_options(), limits)

    def _client_arguments(self) -> list[str]:
        processes = self._limits.processes + 2 * OWN_PROCESSES
        limits = replace(_CLIENT_LIMITS, processes=processes)
        return self._arguments(
            _CLIENT, [*confinement.mounts({})], "/", self._client_options(), limits
        )

    def _arguments(
        self, program: str, places: list[str], here: str, options: str, limits: Limits
    ) -> list[str]:
        places += ["--bind", str(self._sockets), _SOCKETS]
        places += ["--ro-bind", str(HERE / program[1:]), program]
        python = [sys.executable, "-I", "-B", "-X", "utf8", program]
        command = [*python, _CONNECTION, options]
        return build_arguments(command, places, here, limits, self._user, FOR_EVER_S)

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

    def _pipes(self) -> tuple[int, int]:
        return self._input, self._output

    def _lives(self) -> Sequence[int]:
        return self._kernel.life, self._client.life

    def _places(self) -> Sequence[Path]:
        return self._folder, self._sockets

    def _why_gone(self) -> EndReason:
        return "exited" if _has_ended(self._kernel) else "flooded"

    def _find_excess(self, allowed: int) -> EndReason | None:
        return self._kernel.find_excess(self._places(), self._limits, allowed)

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
            awake = self._find_awake(told)
            if not awake:
                return
            if time.monotonic() > end:
                self.end()
                raise Gone("runaway")
            _signal(awake, signal.SIGSTOP)
            told |= awake

    def _find_awake(self, told: set[int]) -> set[int]:
        """The processes that were not told to stop, or did not yet."""
        awake: set[int] = set()
        for pid, state in footprint.read_states(self._kernel.first).items():
            has_stopped = pid in told and state in "TtZX"
            if not has_stopped:
                awake.add(pid)
        return awake

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
