"""How fast things start: `import agentkit`, the command line, the app's first page: `python
tests/bench/bench_start.py`.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def median(command: list[str]) -> float:
    seconds(command)  # the first one fills the disk cache
    return statistics.median(seconds(command) for _ in range(ROUNDS))


def first_page() -> float:
    """Seconds from starting the server until the chat page is drawn."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        f"--server.port={port}",
        "--server.headless=true",
    ]
    path = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=path).new_page()
        started = time.perf_counter()
        server = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "AGENTKIT_DATA": data}, stdout=subprocess.DEVNULL
        )
        try:
            while time.perf_counter() - started < 60:
                try:
                    page.goto(f"http://localhost:{port}")
                    break
                except Error:
                    time.sleep(0.05)
            page.get_by_text("There are no documents yet").wait_for(timeout=60_000)
            return time.perf_counter() - started
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    bare = median([sys.executable, "-c", "pass"])
    print(
        f"import agentkit          {median([sys.executable, '-c', 'import agentkit']) - bare:6.3f}"
        " s beyond Python's own start"
    )
    print(f"agentkit --help          {median([sys.executable, '-m', 'agentkit', '--help']):6.3f} s")
    first_page()
    print(
        f"app: first page drawn    {statistics.median(first_page() for _ in range(3)):6.2f} s after"
        " starting the server"
    )
