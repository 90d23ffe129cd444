"""The app as `streamlit run app.py` starts it, here on a free port over a folder of the test."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.forking import Forked, forked

_NOT_PASSED_ON = ("OPENAI_", "AGENTKIT_", "STREAMLIT_", "PYTHONPATH")
"""How the environment's names begin that the app has of its test alone."""
_LONGEST_LOG = 20_000  # characters
_INNERMOST = 8  # calls of a thread that are told
ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class App:
    """A served app: its address, its data folder and its process."""

    url: str
    data: Path
    process: Forked

    def abort(self) -> None:
        """End it and print what each of its threads was doing, and what it had said: a test that
        failed because the app stood still is told by that.
        """
        self.process.send_signal(signal.SIGABRT)
        self.process.wait(120)
        log = self.data.with_name("app.log").read_text(encoding="utf-8", errors="replace")
        print(_in_short(log)[-_LONGEST_LOG:])


def _in_short(log: str) -> str:
    """With a line for each thread that Python told of at its end, its innermost call first."""

    def line(thread: re.Match[str]) -> str:
        calls = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', thread[2])[:_INNERMOST]
        told = " < ".join(f"{name} {Path(file).name}:{at}" for file, at, name in calls)
        return f"{thread[1]}: {told}\n"

    return re.sub(r"(.*hread 0x\w+) \(most recent call first\):\n((?: +File .*\n)+)\n?", line, log)


@contextmanager
def serving(
    folder: Path,
    environment: Mapping[str, str],
    script: str = "app.py",
    options: Sequence[str] = (),
    port: int = 0,
) -> Iterator[App]:
    """Serve the app while the block runs; fails with its log when it does not come up in two
    minutes.

    `options` are further ones of `streamlit run`; another `script` is served instead of the app.
    0 is any free `port`.
    """
    port, data = port or free_port(), folder / "data"
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_NOT_PASSED_ON) or name == "AGENTKIT_MODEL_FOLDER"
    }
    arguments = ["run", script, f"--server.port={port}"]
    arguments += ["--server.headless=true", "--server.address=127.0.0.1", *options]
    surroundings = {**clean, "AGENTKIT_DATA": str(data), **environment}
    process = forked(arguments, surroundings, folder / "app.log")
    try:
        app = App(f"http://127.0.0.1:{port}", data, process)
        health = "/healthz" if script == "app.py" else "/_stcore/health"
        _wait_until_healthy(process, app.url + health, folder / "app.log")
        try:
            yield app
        except BaseException:
            app.abort()
            raise
    finally:
        process.terminate()
        process.wait(120)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(process: Forked, url: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                assert answer.status == 200
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"the app did not come up:\n{log.read_text()}")
