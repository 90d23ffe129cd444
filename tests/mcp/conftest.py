"""A real server of tools, over stdin and stdout and at a port."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit.mcp.servers import ToolServer
from tests.servers import mcp_server

PROGRAM = Path(mcp_server.__file__)


def make_program(folder: Path, name: str = "shop") -> ToolServer:
    """The server as a program that is confirmed."""
    server = ToolServer(name, (sys.executable, str(PROGRAM), str(folder)))
    return replace(server, confirmed=server.digest)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    place.mkdir()
    return place


@pytest.fixture
def program(folder: Path) -> ToolServer:
    return make_program(folder)


@pytest.fixture
def address(folder: Path) -> Iterator[ToolServer]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, str(PROGRAM), str(folder), str(port)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, running)
        yield ToolServer("shop", url=f"http://127.0.0.1:{port}/mcp")
    finally:
        running.kill()
        running.wait()


def _wait_for(port: int, running: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert running.poll() is None
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("it never listened")
