"""Starts processes that read: in a bubblewrap sandbox where that works, else with limits of memory
and time alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from agentkit.core import confinement, seccomp
from agentkit.core.given import pick
from agentkit.documents import wire
from agentkit.documents.document import Limits
from agentkit.errors import AgentkitError

_HELLO_BYTES = 1_000
_SOURCE = Path(__file__).resolve().parents[1]
_SOURCE_INSIDE = Path("/source")
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
_DEVICES = ("/dev/null", "/dev/urandom")
_NO_SOCKETS = ()
_KILLED_INSIDE = 128
"""What bubblewrap adds to the number of the signal that killed its program, as shells do."""


class _Found:
    """What starting has shown so far where the program bwrap is there."""

    confinement_works: bool | None = None


class Process:
    """A process that reads, with its pipes."""

    def __init__(self, arguments: list[str], *, confined: bool) -> None:
        """Start Python with `arguments`; agentkit can be imported there. OSError when the system
        cannot.
        """
        self.confined = confined
        command = [sys.executable, "-P", "-W", "ignore", *arguments]
        call_filter = None
        if confined:
            call_filter = seccomp.open_filter(_NO_SOCKETS)
        inherited = () if call_filter is None else (call_filter,)
        try:
            self._child = subprocess.Popen(
                [*_make_sandbox(call_filter), *command] if confined else command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_make_environment(confined),
                pass_fds=inherited,
                start_new_session=True,
            )
        finally:
            for descriptor in inherited:
                os.close(descriptor)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self.requests: IO[bytes] = self._child.stdin
        self.replies: IO[bytes] = self._child.stdout

    @property
    def lives(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def kill(self) -> None:
        """Kill it and all that it started; nothing happens to one that has ended."""
        if not self.lives:
            return
        if sys.platform == "win32":
            self._child.kill()
        else:
            os.killpg(self._child.pid, signal.SIGKILL)

    def bury(self) -> int:
        """Let it end when it sees its pipes closed, else kill it; its exit code, or minus the
        signal's number.
        """
        for stream in (self.requests, self.replies):
            with suppress(OSError):  # what was still buffered for a dead process cannot be written
                stream.close()
        try:
            code = self._child.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._child.wait()
        if self.confined and code > _KILLED_INSIDE:
            return _KILLED_INSIDE - code
        return code


def start(memory_mb: int) -> Process:
    """A process that waits for requests, in a sandbox unless none works here. It gets no secrets.

    A sandbox that has worked once is never done without. Raises AgentkitError when none starts.
    """
    why = ""
    for confined in _find_ways():
        try:
            process = Process(_make_arguments(memory_mb, confined), confined=confined)
        except OSError as error:
            why = str(error)
            continue
        try:
            wire.receive(process.replies, _HELLO_BYTES)
        except (EOFError, ValueError):
            why = f"exit code {process.bury()}"
        else:
            if confinement.program() is not None:
                _Found.confinement_works = confined
            return process
    raise AgentkitError(
        f"The reading process could not start ({why}, {memory_mb} MB of memory allowed)."
        f" Raise AGENTKIT_READ_MEMORY_MB, or run `python -m agentkit.documents.child {memory_mb}`"
        " in agentkit's folder to see why."
    )


def confinement_works(memory_mb: int = Limits.memory_mb) -> bool:
    """Whether documents are read in a sandbox here; found out by starting a process, unless one has
    started.
    """
    if confinement.program() is None:
        return False
    if _Found.confinement_works is None:
        start(memory_mb).bury()
    return bool(_Found.confinement_works)


def _find_ways() -> tuple[bool, ...]:
    """Whether to confine, as far as it is known; both are to be tried where it is not."""
    if confinement.program() is None:
        return (False,)
    if _Found.confinement_works is None:
        return (True, False)
    return (_Found.confinement_works,)


def _make_arguments(memory_mb: int, confined: bool) -> list[str]:
    arguments = ["-m", "agentkit.documents.child", str(memory_mb)]
    if not confined:
        return arguments
    user = confinement.find_unused_user()
    return [*arguments, str(-1 if user is None else user)]


def _make_environment(confined: bool) -> dict[str, str]:
    source = _SOURCE.parent
    if confined:
        source = _SOURCE_INSIDE
    return {
        **pick(os.environ, _PASSED_ON),
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _make_sandbox(call_filter: int | None) -> list[str]:
    """bubblewrap with its options: nothing to see but the system, Python and agentkit, and nothing
    to write.

    It does not die with its parent, as that means the thread which started it; it ends when its
    pipes close.
    """
    options = [*confinement.NAMESPACES, *confinement.as_user(confinement.find_unused_user())]
    options += [*confinement.mounts({}), "--perms", "0755", "--dir", str(_SOURCE_INSIDE)]
    options += ["--ro-bind", str(_SOURCE), str(_SOURCE_INSIDE / _SOURCE.name)]
    for device in _DEVICES:
        options += ["--dev-bind", device, device]
    if call_filter is not None:
        options += ["--seccomp", str(call_filter)]
    return [confinement.program() or "bwrap", *options, "--remount-ro", "/", "--chdir", "/"]
