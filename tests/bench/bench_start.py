"""How fast things start: `import agentkit`, the command line, a search by it, the app's first page
and its first answer (Linux): `python tests/bench/bench_start.py`.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-headless-shell")
ROUNDS = 5
PAUSE_S = 5
"""Before each start: a machine that has a share of its processors only has it in full then."""


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def median(command: list[str]) -> float:
    seconds(command)  # the first one fills the disk cache
    return statistics.median(seconds(command) for _ in range(ROUNDS))


def search() -> tuple[float, float]:
    """Processor seconds and peak MB of a search among the sample documents, the model converted."""
    # This process's own size would count for a child that it starts itself.
    measuring = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True,"
        " capture_output=True); used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        " print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    command = [sys.executable, "-m", "agentkit"]
    searching = [sys.executable, "-c", measuring, *command, "search", "How many days of leave?"]
    taken = []
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "AGENTKIT_DATA": data}
        for before in ([*command, "ingest", "data/samples"], searching):
            subprocess.run(before, cwd=ROOT, env=environment, check=True, capture_output=True)
        for _ in range(ROUNDS):
            said = subprocess.check_output(searching, cwd=ROOT, env=environment, text=True)
            taken.append([float(number) for number in said.split()])
    spent, sizes = zip(*taken, strict=True)
    return statistics.median(spent), max(sizes)


@contextmanager
def app(data: str) -> Iterator[tuple[Page, int, float]]:
    """The chat page of the app over a data folder, as soon as it answers; the id of the app's
    process, and when it was started.
    """
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
    path = os.environ.get("CHROMIUM_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=path).new_page()
        time.sleep(PAUSE_S)
        started = time.perf_counter()
        server = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "AGENTKIT_DATA": data}, stdout=subprocess.DEVNULL
        )
        try:
            # A browser that is sent there too early shows an error page, at the server's expense.
            while time.perf_counter() - started < 60 and not _is_open(port):
                time.sleep(0.01)
            page.goto(f"http://localhost:{port}")
            yield page, server.pid, started
        finally:
            server.terminate()
            server.wait(30)


def _is_open(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def processor_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def first_page() -> tuple[float, float]:
    """Seconds from starting the server until the chat page is drawn, and its processor time."""
    with tempfile.TemporaryDirectory() as data, app(data) as (page, server, started):
        page.get_by_text("There are no documents yet").wait_for(timeout=60_000)
        return time.perf_counter() - started, processor_s(server)


def first_answer(data: str) -> tuple[float, float]:
    """Seconds from sending the first question to the first citation, and the server's processor
    time for that; it is sent as soon as the page can be written in.
    """
    with app(data) as (page, server, _):
        box = page.get_by_test_id("stChatInputTextArea")
        box.fill("How many days of leave?")
        started, before = time.perf_counter(), processor_s(server)
        box.press("Enter")
        page.get_by_text("[1]").first.wait_for(timeout=60_000)
        return time.perf_counter() - started, processor_s(server) - before


def print_median(what: str, measured: Sequence[tuple[float, float]]) -> None:
    wall, spent = (statistics.median(column) for column in zip(*measured, strict=True))
    print(f"{what:24} {wall:6.2f} s, {spent:.2f} s of the server's processor time")


if __name__ == "__main__":
    bare = median([sys.executable, "-c", "pass"])
    print(
        f"import agentkit          {median([sys.executable, '-c', 'import agentkit']) - bare:6.3f}"
        " s beyond Python's own start"
    )
    print(f"agentkit --help          {median([sys.executable, '-m', 'agentkit', '--help']):6.3f} s")
    print(
        "agentkit search          {:6.2f} s of processor time, at most {:.0f} MB".format(*search())
    )
    first_page()
    print_median("app: first page drawn", [first_page() for _ in range(ROUNDS)])
    with tempfile.TemporaryDirectory() as samples:
        taking = [sys.executable, "-m", "agentkit", "ingest", "data/samples"]
        environment = {**os.environ, "AGENTKIT_DATA": samples}
        subprocess.run(taking, cwd=ROOT, env=environment, check=True, capture_output=True)
        first_answer(samples)
        print_median("its first answer", [first_answer(samples) for _ in range(ROUNDS)])
