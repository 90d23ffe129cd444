"""The real app in a real browser: `streamlit run app.py` on a free port, driven through Debian's Chromium (or CHROMIUM_PATH)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class App:
    """A served app: its address and its data folder."""

    url: str
    data: Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """The app over an empty data folder, with no model configured."""
    yield from serve(tmp_path, {})


def serve(folder: Path, environment: dict[str, str]) -> Iterator[App]:
    """Serve the app until the test ends; fails with its log when it does not come up in two minutes."""
    port, data = free_port(), folder / "data"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "AGENTKIT_"))}
    log = (folder / "app.log").open("w+b")
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true", "--server.address=127.0.0.1"]
    process = subprocess.Popen(command, cwd=ROOT, env={**clean, "AGENTKIT_DATA": str(data), **environment}, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_healthy(process, url, folder / "app.log")
        yield App(url, data)
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=60) as answer:
                assert answer.status == 200
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"the app did not come up:\n{log.read_text()}")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("These tests need Chromium: install it (Debian: apt-get install chromium) or name it in CHROMIUM_PATH.")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 950})
    context.set_default_timeout(30_000)
    shown = context.new_page()
    yield shown
    context.close()
