"""Chroma's own server over a folder, on a free port."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_LONGEST_START_S = 30.0


@contextmanager
def chroma(folder: Path) -> Iterator[int]:
    """The port at 127.0.0.1 of a server that runs while the block does."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [
        str(Path(sys.executable).with_name("chroma")),
        "run",
        "--path",
        str(folder),
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder.parent
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/v2/heartbeat", process)
        yield port
    finally:
        process.terminate()
        process.wait(120)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _LONGEST_START_S
    while True:
        try:
            urlopen(url, timeout=1).close()
            return
        except (URLError, OSError):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.05)
