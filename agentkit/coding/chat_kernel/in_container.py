"""The first process of a container: it starts the kernel, speaks with it, halts it between cells.

Started as a file inside of the container, beside `in_client.py` and `in_kernel.py`, where agentkit
is not there to be imported: `python in_container.py KERNEL_LIMITS CLIENT_LIMITS`, both JSON. It
reads and writes what `in_client.py` does, and a cell is `done` only when all else is halted. The
first process of a container cannot be killed or halted by the others; with it they all end.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
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


def main() -> None:
    """Serve until our input ends, or the kernel."""
    if os.getpid() != _FIRST:  # else everything that runs on the machine would be halted
        sys.exit("This program is the first process of a container, and nothing else.")
    connection = write_connection()
    kernel = start_kernel(connection, sys.argv[1])
    threading.Thread(target=end_with, args=(kernel,), daemon=True).start()
    threading.Thread(target=watch_memory, daemon=True).start()
    sys.path.insert(0, str(HERE))
    in_client: Any = importlib.import_module("in_client")
    client = in_client.Client(connection, json.loads(sys.argv[2]))
    client.begin()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        kernel.send_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, interrupt)
    halt()
    in_client.send({"kind": "ready"})
    for line in sys.stdin.buffer:
        asked: dict[str, Any] = json.loads(line)
        signal_others(signal.SIGCONT)
        done = client.run(asked["code"], asked["silent"])
        halt()
        in_client.send(done)


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
