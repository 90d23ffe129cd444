"""One command in a bubblewrap sandbox, from start to the certain end of all its processes. Linux
only.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from agentkit.coding import footprint
from agentkit.coding.process import (
    OUTPUT_BYTES,
    PIECE_BYTES,
    TIMEOUT_EXIT_CODE,
    TIMEOUT_MSG,
    CappedOutput,
)
from agentkit.core import confinement, seccomp, stopping
from agentkit.errors import ExecutionError

MIB = 2**20
KILLED_CODE = 137
_LOOK_EVERY_S = 0.2
_CHILD = Path(__file__).with_name("sandbox_child.py")
_CHILD_INSIDE = "/sandbox_child.py"
_TO_ENTER = "CAP_DAC_READ_SEARCH"
"""The right of root that it takes to enter the folder, which is the sandbox's user's."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use: wall-clock seconds, memory of all its processes, processes, bytes
    of output that are kept, and data that it adds to the working folder, in one file or in all.
    """

    seconds: float = 60
    memory_mb: int = 1024
    processes: int = 64
    output_bytes: int = OUTPUT_BYTES
    file_mb: int = 100


def run(
    command: list[str], folder: Path, limits: Limits, user: int | None = None
) -> tuple[int, str]:
    """Run `command` in `folder`, the only place it can write to besides a private /tmp; `user` is
    from `confinement.unused_user`.

    Gives its exit code and output (stderr included), ending in a line that names the limit which
    ended it: 124 after a timeout, 137 for memory or disk. Raises Stopped with the output so far
    when the run is stopped, ExecutionError if bubblewrap cannot make a sandbox here. All processes
    that the command started are dead afterwards.
    """
    stopping.check()
    output = CappedOutput(limits.output_bytes)
    seconds = int(limits.seconds * (os.cpu_count() or 1)) + 1
    places = [*confinement.mounts({folder: "--bind"})]
    sandbox = Sandbox(build_arguments(command, places, str(folder), limits, user, seconds))
    with stopping.keeping(output.text):
        try:
            ended_by = sandbox.watch(folder, limits, output)
        finally:
            sandbox.end(output)
    if ended_by:
        return ended_by.code, f"{output.text()}\n{ended_by.why}"
    if sandbox.exit_code is None:
        raise ExecutionError(
            f"bubblewrap could not run {command[0]!r} in {folder}:"
            f" {output.text().strip() or 'it was killed from outside'}. What it needs:"
            " agentkit.coding.how_to_isolate()."
        )
    return sandbox.exit_code, output.text()


class _Ended(NamedTuple):
    code: int
    why: str


_EXCESS = {
    "memory": "The code was stopped: its processes used more than {0.memory_mb:,} MB of memory.",
    "disk": "The code was stopped: it wrote more than {0.file_mb:,} MB into its folder.",
}


class Sandbox:
    """A running sandbox. All its processes die with the first one of its process namespace, which a
    pidfd watches; they also die with the thread that made it.
    """

    def __init__(self, arguments: list[str], *, piped: bool = False) -> None:
        """`arguments` are from `build_arguments`. `piped`: its input is the pipe `stdin`, and what
        goes to stderr is lost, so that its output is what its program writes alone.
        """
        self.exit_code: int | None = None
        self._silent = False
        status, status_inside = os.pipe()
        inherited = {"--json-status-fd": status_inside}
        if (call_filter := seccomp.open_filter()) is not None:
            inherited["--seccomp"] = call_filter
        options = [
            text for name, descriptor in inherited.items() for text in (name, str(descriptor))
        ]
        self._status = os.fdopen(status, "rb")
        try:
            self._process = _start(
                [confinement.program() or "bwrap", *options, *arguments],
                list(inherited.values()),
                piped,
            )
        except OSError as error:
            self._status.close()
            raise ExecutionError(
                f"bubblewrap (the program bwrap) cannot be started: {error}."
            ) from error
        finally:
            for descriptor in inherited.values():
                os.close(descriptor)
        assert self._process.stdout is not None
        self.stdin, self.stdout = self._process.stdin, self._process.stdout
        self.first = self._process.pid
        try:
            self.first = int(
                json.loads(self._status.readline() or b"{}").get("child-pid", self._process.pid)
            )
            self.life = _pidfd(self.first, self._process.pid)
        except BaseException as error:
            self._give_up()
            if isinstance(error, OSError):
                raise ExecutionError(
                    f"the sandbox cannot be watched, so it was ended: {error}."
                ) from error
            raise

    def _give_up(self) -> None:
        for process in (
            self.first,
            self._process.pid,
        ):  # so early, the first does not yet die with the other
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.communicate()
        self._status.close()

    def watch(self, folder: Path, limits: Limits, output: CappedOutput) -> _Ended | None:
        """Collect the output until all is over; which limit ended it, if one did. Raises
        Stopped.
        """
        end = time.monotonic() + limits.seconds
        allowed = footprint.disk_bytes(folder) + limits.file_mb * MIB
        looked = time.monotonic()
        while self._wait(output):
            stopping.check()
            now = time.monotonic()
            if now >= end:
                return _Ended(TIMEOUT_EXIT_CODE, TIMEOUT_MSG)
            if now - looked >= _LOOK_EVERY_S:
                if kind := self.find_excess([folder], limits, allowed):
                    return _Ended(KILLED_CODE, _EXCESS[kind].format(limits))
                looked = time.monotonic()
        return None

    def _wait(self, output: CappedOutput) -> bool:
        """Wait for output or the end, but not longer than until the next look at the limits; False
        at the end.
        """
        ready = select.poll()
        ready.register(self.life, select.POLLIN)
        if not self._silent:
            ready.register(self.stdout, select.POLLIN)
        events = dict(ready.poll(_LOOK_EVERY_S * 1000))
        if self.stdout.fileno() in events:
            self._read(output)
        return self.life not in events

    def _read(self, output: CappedOutput) -> None:
        piece = os.read(self.stdout.fileno(), PIECE_BYTES)
        self._silent = not piece
        output.add(piece)

    def find_excess(
        self, places: Sequence[Path], limits: Limits, allowed: int
    ) -> Literal["memory", "disk"] | None:
        """Which limit is broken at this moment: memory, or `allowed` bytes in the folders."""
        pids = footprint.descendants(self.first)
        if footprint.memory_bytes(pids, limits.memory_mb * MIB) > limits.memory_mb * MIB:
            return "memory"
        if sum(map(footprint.disk_bytes, places)) + footprint.count_deleted_bytes(pids) > allowed:
            return "disk"
        return None

    def end(self, output: CappedOutput) -> None:
        """Kill what still runs, wait until nothing does, and collect the rest of the output."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.life, signal.SIGKILL)
        dead = select.poll()
        dead.register(self.life, select.POLLIN)
        dead.poll()
        os.close(self.life)
        while not self._silent:
            self._read(output)
        self._process.wait()
        self.stdout.close()
        if self.stdin is not None:
            self.stdin.close()
        with self._status:
            for line in self._status:
                self.exit_code = json.loads(line).get("exit-code", self.exit_code)


def _start(command: list[str], inherited: list[int], piped: bool) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if piped else subprocess.STDOUT,
        bufsize=0,
        env=_environment(),  # of bubblewrap too, since /proc/1/environ shows it inside
        cwd="/",
        pass_fds=inherited,
        start_new_session=True,
    )


def _pidfd(pid: int, otherwise: int) -> int:
    """A pidfd of `pid`, or of our own child `otherwise` when the first is gone already."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return os.pidfd_open(otherwise)


def _environment() -> dict[str, str]:
    folders = [f"{prefix}/bin" for prefix in (sys.prefix, sys.base_prefix)]
    return {
        "PATH": ":".join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"])),
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "USER": "sandbox",
        "LOGNAME": "sandbox",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",  # what was printed before a limit ended it is there to read
        "PIP_RETRIES": "0",  # there is no network to wait for
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",  # each thread would take its share of the address space
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }


def build_arguments(
    command: list[str],
    places: Sequence[str],
    work_dir: str,
    limits: Limits,
    user: int | None,
    cpu_seconds: int,
) -> list[str]:
    """bubblewrap's options, then the first program, its limits, and the command.

    `places` are options for what can be seen (`confinement.mounts`), `work_dir` is where the
    command starts, as it is called inside; `cpu_seconds` is what each process may compute.
    """
    arguments = [
        *confinement.NAMESPACES,
        *confinement.as_user(user, _TO_ENTER),
        "--die-with-parent",
        "--hostname",
        "sandbox",
    ]
    space = ["--perms", "1777", "--size", str(limits.file_mb * MIB)]
    arguments += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *space,
        "--tmpfs",
        "/dev/shm",
        "--remount-ro",
        "/dev",
    ]
    arguments += [
        *space,
        "--tmpfs",
        "/tmp",
        *places,
        "--ro-bind",
        str(_CHILD),
        _CHILD_INSIDE,
    ]
    arguments += [
        "--remount-ro",
        "/",
        "--chdir",
        work_dir,
        os.path.realpath(sys.executable),
        "-I",
        "-S",
        _CHILD_INSIDE,
    ]
    figures = [-1 if user is None else user, limits.memory_mb * MIB, limits.file_mb * MIB]
    figures += [_process_limit(limits.processes, user), cpu_seconds]
    return [*arguments, *map(str, figures), *command]


def _process_limit(processes: int, user: int | None) -> int:
    """Before Linux 5.14 a user's processes outside of the sandbox count too."""
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    if user is not None or release >= (5, 14):
        return processes
    return processes + footprint.threads_of(os.getuid())
