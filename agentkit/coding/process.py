"""One child process: its output with a cap, its end by a deadline or by a stop, and the death of
all that it started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from agentkit.core import stopping
from agentkit.errors import ExecutionError

TIMEOUT_EXIT_CODE = 124
"""As of the coreutils' `timeout`."""
NOT_FOUND_EXIT_CODE = 127
"""As of a shell that does not find a program."""
TIMEOUT_MSG = "Timeout"
OUTPUT_BYTES = 1 << 20
PIECE_BYTES = 1 << 16

# Every descendant inherits this variable, so that one that left the session and lost its parent is
# found all the same.
MARK = "AGENTKIT_EXECUTION"
PROC = Path("/proc")
# A descendant may start another while the list is read, so look again; one that we may not kill
# ends the search.
KILL_ROUNDS = 100


class CappedOutput:
    """The first and the last half of `limit` bytes; errors stand at the end of an output, so the
    middle is what goes.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._size += len(piece)
        room = self._half - len(self._head)
        self._head += piece[:room]
        if len(piece) > room:
            self._tail.append(piece[room:])
            self._tail_size += len(piece) - room
        while self._tail and self._tail_size - len(self._tail[0]) >= self._half:
            self._tail_size -= len(self._tail.popleft())

    def text(self) -> str:
        """What was kept, with \\n as line end; bytes other than UTF-8 are replaced, what was cut
        is counted.
        """
        tail = b"".join(self._tail)[-self._half :]
        cut = self._size - len(self._head) - len(tail)
        note = b""
        if cut:
            note = f"\n[... {cut:,} bytes of output left out ...]\n".encode()
        text = (bytes(self._head) + note + tail).decode("utf-8", errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")


def run_command(
    command: list[str],
    work_dir: Path,
    timeout: float,
    *,
    environment: Mapping[str, str] | None = None,
    output_bytes: int = OUTPUT_BYTES,
) -> tuple[int, str]:
    """Run a program with no input until it has ended and nobody holds its output any more.

    Gives the exit code and stdout with stderr as they came, the middle left out over
    `output_bytes`. The environment is ours unless given. After `timeout` seconds the whole process
    tree is killed: exit code 124, and `Timeout` ends the output. A program that is not there gives
    127. Raises Stopped with the output so far when the run is stopped (the tree is dead then), and
    ExecutionError when the system cannot start a process.
    """
    stopping.check()
    mark = uuid.uuid4().hex
    try:
        process = _start(
            command, work_dir, {**(os.environ if environment is None else environment), MARK: mark}
        )
    except FileNotFoundError as error:
        if not work_dir.is_dir():
            raise ExecutionError(
                f"there is no folder {str(work_dir)!r} to run code in; create it."
            ) from error
        return (
            NOT_FOUND_EXIT_CODE,
            f"{command[0]} was not found; install it, or use another language.",
        )
    except (OSError, ValueError) as error:
        raise ExecutionError(
            f"the system could not start {command[0]!r}: {error}; see its limits and rights."
        ) from error
    output = CappedOutput(output_bytes)
    with stopping.current().on_stop(lambda: kill_tree(process, mark)):
        ended = _attend(process, mark, output, timeout)
    with stopping.keeping(output.text):
        stopping.check()
    if not ended:
        return TIMEOUT_EXIT_CODE, f"{output.text()}\n{TIMEOUT_MSG}"
    return process.returncode, output.text()


def _start(
    command: list[str], work_dir: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=work_dir,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _attend(
    process: subprocess.Popen[bytes], mark: str, output: CappedOutput, timeout: float
) -> bool:
    """Read until the end or the deadline; True when the process ended by itself."""
    deadline = time.monotonic() + timeout
    assert process.stdout is not None
    reader = threading.Thread(target=_read, args=(process.stdout, output), daemon=True)
    reader.start()
    try:
        reader.join(timeout)
        if reader.is_alive():
            return False
        process.wait(max(deadline - time.monotonic(), 0.01))
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if reader.is_alive() or process.returncode is None:
            kill_tree(process, mark)
            process.wait()
            reader.join(1)


def _read(pipe: IO[bytes], output: CappedOutput) -> None:
    with pipe:
        while piece := os.read(pipe.fileno(), PIECE_BYTES):
            output.add(piece)


def kill_tree(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the process, its session and every descendant, those included that began a session of
    their own.

    A descendant that left the session survives on macOS, which has no /proc; on Windows only the
    process itself is killed.
    """
    if sys.platform == "win32":
        process.kill()
        return
    for _ in range(KILL_ROUNDS):
        found = _find_descendants(process.pid, mark)
        # Stopped first, so that no shell reports the death of its child and nobody starts another
        # one.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            if process.returncode is None:
                _signal(os.killpg, process.pid, number)
            for pid in found:
                _signal(os.kill, pid, number)
        if not found:
            return
        time.sleep(0.005)


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    """Signal what may be gone, or may not be ours any more."""
    with suppress(ProcessLookupError, PermissionError):
        send(pid, number)


def _find_descendants(root: int, mark: str) -> set[int]:
    """Living processes that carry the mark or descend from root, root excluded."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    needle = f"{MARK}={mark}".encode()
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            _inspect(folder, parents, marked, needle)
    family, newest = {root}, {root}
    while newest:
        newest = {pid for pid, parent in parents.items() if parent in newest} - family
        family |= newest
    return (family | marked) - {root}


def _inspect(folder: Path, parents: dict[int, int], marked: set[int], needle: bytes) -> None:
    # The name of the program, in parentheses, may itself hold spaces and parentheses.
    state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    if state in "ZX":
        return
    parents[int(folder.name)] = int(parent)
    if needle in (folder / "environ").read_bytes():
        marked.add(int(folder.name))
