"""The first process of a container: it starts the kernel, speaks with it, halts it between cells.

Started as a file inside of the container, beside `in_client.py`, `in_kernel.py` and `seccomp.py`,
where agentkit is not there to be imported: `python in_container.py KERNEL_LIMITS CLIENT_LIMITS`,
both JSON. It reads and writes what `in_client.py` does, and a cell is `done` only when all else is
halted; lines of the kind `deleted` tell what files take that no folder shows. The first process of
a container cannot be killed, halted or looked into by the others; with it they all end.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).parent
SOCKETS = Path("/sockets")
CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
OUT_OF_MEMORY, RUNAWAY, ENDED = 137, 75, 1
"""How the container ends when its memory was full, when what runs in it cannot be halted, and when
the kernel ended.
"""
_HALT_S, _LOOK_EVERY_S = 1.0, 0.2
_COUNTERS = (
    Path("/sys/fs/cgroup/memory.events"),
    Path("/sys/fs/cgroup/memory/memory.oom_control"),
)
_FIRST = 1
_WORKING = threading.Event()
"""Set while a cell runs: between cells everything is halted, and no file grows."""
_HIDDEN_BYTES = 2**62
"""What the open files of a process count that does not show them."""
_BLOCK_BYTES = 512
_SET_DUMPABLE, _SET_SECCOMP, _NO_NEW_PRIVILEGES = 4, 22, 38
"""Numbers of prctl(2)."""
_FILTER_MODE = 2


class _Filter(ctypes.Structure):
    """A program of seccomp, as the system reads it."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def main() -> None:
    """Serve until our input ends, or the kernel."""
    if os.getpid() != _FIRST:  # else everything that runs on the machine would be halted
        sys.exit("This program is the first process of a container, and nothing else.")
    sys.path.insert(0, str(HERE))
    shut_doors(importlib.import_module("seccomp").filter_program())
    connection = write_connection()
    kernel = start_kernel(connection, sys.argv[1])
    threading.Thread(target=end_with, args=(kernel,), daemon=True).start()
    threading.Thread(target=watch_memory, daemon=True).start()
    in_client: Any = importlib.import_module("in_client")
    client = in_client.Client(connection, json.loads(sys.argv[2]))
    client.begin()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        kernel.send_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, interrupt)
    if may_look(kernel.pid):  # before any code has run, that is not for the code to say
        threading.Thread(target=watch_files, args=(in_client.send,), daemon=True).start()
    halt()
    in_client.send({"kind": "ready"})
    for line in sys.stdin.buffer:
        asked: dict[str, Any] = json.loads(line)
        signal_others(signal.SIGCONT)
        _WORKING.set()
        done = client.run(asked["code"], asked["silent"])
        _WORKING.clear()
        halt()
        in_client.send(done)


def shut_doors(program: bytes | None) -> None:
    """Let nothing in here look into this process, write to its descriptors, or call what the filter
    refuses, whatever the engine itself lets through.
    """
    control = ctypes.CDLL(None, use_errno=True).prctl
    control.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    control(_SET_DUMPABLE, 0, 0, 0, 0)
    if program is None:
        return
    control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    instructions = ctypes.create_string_buffer(program, len(program))
    told = _Filter(len(program) // 8, ctypes.addressof(instructions))
    if control(_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(told), 0, 0):
        why = os.strerror(ctypes.get_errno())
        sys.exit(f"System calls cannot be filtered in this container, so no code runs: {why}.")


def write_connection() -> str:
    """The file that says to both ends of the sockets where they are."""
    ports = {f"{name}_port": at for at, name in enumerate(CHANNELS, start=1)}
    info = {"transport": "ipc", "ip": f"{SOCKETS}/kernel", "key": secrets.token_hex(32)}
    file = SOCKETS / "connection.json"
    file.write_text(json.dumps({**info, **ports, "signature_scheme": "hmac-sha256"}))
    return str(file)


def start_kernel(connection: str, limits: str) -> subprocess.Popen[bytes]:
    """The kernel; what it says before it catches its own output is told by the container."""
    program = [sys.executable, "-I", "-B", "-X", "utf8", str(HERE / "in_kernel.py")]
    return subprocess.Popen(
        [*program, connection, limits], stdin=subprocess.DEVNULL, stdout=sys.stderr.buffer
    )


def end_with(kernel: subprocess.Popen[bytes]) -> None:
    """Bury the dead, which fall to the first process, and end when the kernel has."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == kernel.pid:
            killed = os.waitstatus_to_exitcode(status) == -signal.SIGKILL
            os._exit(OUT_OF_MEMORY if killed and count_kills() else ENDED)


def watch_memory() -> None:
    """End when something was killed because the memory was full: nobody knows what is missing."""
    while not count_kills():
        time.sleep(_LOOK_EVERY_S)
    os._exit(OUT_OF_MEMORY)


def watch_files(send: Callable[[dict[str, Any]], None]) -> None:
    """Tell what files of the folder take that are open and that it does not show any more."""
    device = os.stat(".").st_dev
    told, hiding = 0, find_hiding()
    while True:
        _WORKING.wait()
        before, hiding = hiding, find_hiding()
        found = count_deleted(device)
        if (
            before & hiding
        ):  # what has just ended shows nothing either, but is gone at the next look
            found = _HIDDEN_BYTES
        if found != told:
            send({"kind": "deleted", "bytes": found})
            told = found
        time.sleep(_LOOK_EVERY_S)


def may_look(pid: int) -> bool:
    """Whether a process shows which files it has open."""
    return os.access(f"/proc/{pid}/fd", os.R_OK)


def find_hiding() -> set[int]:
    """The processes that do not show it."""
    return {pid for pid in find_others() if not may_look(pid)}


def count_deleted(device: int) -> int:
    """Bytes on the device of open files that no folder shows any more."""
    files = {}
    for pid in find_others():
        for file in list_open(pid):
            if file.st_nlink == 0 and file.st_dev == device:
                files[file.st_ino] = file.st_blocks * _BLOCK_BYTES
    return sum(files.values())


def list_open(pid: int) -> list[os.stat_result]:
    """The open files of a process; none of one that has gone."""
    found = []
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.append(file.stat())
    return found


def count_kills() -> int:
    """How often the system killed something in here for want of memory."""
    for file in _COUNTERS:
        if file.is_file():
            counts = dict(line.split()[:2] for line in file.read_text().splitlines())
            return int(counts.get("oom_kill", 0))
    return 0


def signal_others(number: int) -> None:
    """Send a signal to all processes but this one, the first."""
    for pid in find_others():
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it has gone since


def find_others(resting: str = "Z") -> list[int]:
    """All processes but this one, unless they are in one of these states."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0].decode()
        except OSError:
            continue  # it has gone since
        if int(folder.name) != _FIRST and state not in resting:
            found.append(int(folder.name))
    return found


def halt() -> None:
    """Stop all processes where they are; ends the container when they multiply faster."""
    end = time.monotonic() + _HALT_S
    while find_others("TtZX"):
        if time.monotonic() > end:
            os._exit(RUNAWAY)
        os.kill(-1, signal.SIGSTOP)


if __name__ == "__main__":
    main()
