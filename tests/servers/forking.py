"""Starts of the app without its imports: a process that has loaded the libraries, and becomes the
app in a copy of itself for each start: `python -m tests.servers.forking`, see `forked`.

All of our pages are loaded, too, and the tables of tokens: that took more than a second of
processor time of each start.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import importlib
import json
import logging
import os
import pkgutil
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOADED = (
    "streamlit.web.cli",
    "streamlit.web.bootstrap",
    "streamlit.web.server.server",
    "altair",
    "duckdb",
    "hnswlib",
    "httpx",
    "openai",
    "pandas",
    "pyarrow",
    "tokenizers",
    "PIL.Image",
    "agentkit.api",
)
"""None of them, and nothing of our pages, starts a thread that a copy of the process would need."""
SCRIPT = "agentkit.ui.shell.router"
"""Draws a page when it is loaded, so the app alone loads it."""


class Forked:
    """A process that was started so; has of `subprocess.Popen` what tests of the app need."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._watched = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self._watched = -1

    def poll(self) -> int | None:
        """None while it runs, else 0: what it ended with is not known."""
        return None if self._watched >= 0 and not self._has_ended(0) else 0

    def wait(self, timeout: float) -> int:
        """Wait for its end; raises TimeoutExpired."""
        if self._watched >= 0 and not self._has_ended(timeout):
            raise subprocess.TimeoutExpired("the app", timeout)
        self.close()
        return 0

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self._watched >= 0:
            signal.pidfd_send_signal(self._watched, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._end_with(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._end_with(signal.SIGKILL)

    def close(self) -> None:
        """Watch it no longer."""
        if self._watched >= 0:
            os.close(self._watched)
            self._watched = -1

    def _end_with(self, number: int) -> None:
        if self.poll() is None:
            self.send_signal(number)

    def _has_ended(self, timeout_s: float) -> bool:
        poller = select.poll()
        poller.register(self._watched, select.POLLIN)
        return bool(poller.poll(timeout_s * 1000))


def forked(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> Forked:
    """Run `streamlit` with these arguments and no other environment; what it says goes into
    `log`.
    """
    loaded = _loaded()
    asked = {"arguments": arguments, "environment": dict(environment), "log": str(log)}
    assert loaded.stdin
    assert loaded.stdout
    loaded.stdin.write(json.dumps(asked) + "\n")
    loaded.stdin.flush()
    return Forked(int(loaded.stdout.readline()))


@cache
def _loaded() -> subprocess.Popen[str]:
    """The process that has loaded all, one for all tests of this one."""
    command = [sys.executable, "-m", "tests.servers.forking"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    atexit.register(process.communicate)
    return process


def _serve() -> None:
    from streamlit.components.v2 import manifest_scanner

    from agentkit import ui
    from agentkit.llm.tokens.families import load_encoding
    from agentkit.retrieval.embedding import engines

    modules = [one.name for one in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}.")]
    logging.disable()  # no app runs yet, which Streamlit finds odd
    for name in (*LOADED, *(name for name in modules if name != SCRIPT)):
        importlib.import_module(name)
    logging.disable(logging.NOTSET)
    for name in ("cl100k_base", "o200k_base"):
        load_encoding(name)
    if engines.has_openvino():
        engines.openvino()
    found = manifest_scanner.scan_component_manifests()  # in what all packages say of themselves
    manifest_scanner.scan_component_manifests = lambda max_workers=None: found
    gc.collect()
    gc.freeze()  # else each copy looks through all of this, and has it written anew by that
    signal.signal(signal.SIGCHLD, _reap)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _reap(number: int, frame: object) -> None:
    """Take note of all children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _become(asked: Mapping[str, Any]) -> None:
    """In the copy: be the app, as if it had been started with `python -m streamlit`."""
    from streamlit.web import cli

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.environ.clear()
    os.environ.update(asked["environment"])
    faulthandler.enable()
    if folder := os.environ.get("PYTHONPATH"):
        sys.path.insert(1, folder)
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")
    sys.argv = ["streamlit", *asked["arguments"]]
    cli.main(prog_name="streamlit")


if __name__ == "__main__":
    _serve()
