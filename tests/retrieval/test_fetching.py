"""Fetching from a real server on this machine: what is taken, what is refused, and within which
limits.
"""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agentkit.core import stopping
from agentkit.errors import FetchFailed, Stopped
from agentkit.retrieval import fetch as fetch_function
from agentkit.retrieval.web.fetching import fetch
from agentkit.settings import Settings

PAGE = b"<html><title>Hello</title><p>Hello from the server.</p></html>"


class Handler(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/missing":
            self.reply(404, b"no")
        elif path.startswith("/to/"):
            self.reply(302, b"", Location=path.removeprefix("/to/"))
        elif path == "/loop":
            self.reply(302, b"", Location="/loop")
        elif path == "/large":
            self.reply(200, b"x" * 3_000_000)
        elif path == "/bomb":
            self.reply(200, gzip.compress(b"x" * 3_000_000), **{"Content-Encoding": "gzip"})
        elif path == "/packed":
            self.reply(
                200,
                gzip.compress(PAGE),
                **{"Content-Encoding": "gzip", "Content-Type": "text/html"},
            )
        elif path == "/drip":
            self.drip()
        else:
            self.reply(
                200,
                PAGE,
                **{
                    "Content-Type": "application/pdf"
                    if path.endswith("report")
                    else "text/html; charset=utf-8"
                },
            )

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client has seen enough
            self.close_connection = True

    def drip(self) -> None:
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for _ in range(200):
                self.wfile.write(b"X-Slow: 1\r\n")
                time.sleep(0.05)
        except OSError:  # the client has given up
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, allow_private_urls=True, max_file_mb=1, fetch_timeout_s=5)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/", "127.0.0.1.html"),
        ("/page?x=1#part", "page.html"),
        ("/manual.html", "manual.html"),
        ("/a/report", "report.pdf"),
        ("/packed", "packed.html"),
        ("/to//page", "page.html"),
        ("/notes.txt", "notes.txt.html"),
        ("/ärger%20x", "ärger x.html"),
    ],
)
def test_a_page_becomes_a_source(address: str, settings: Settings, path: str, name: str) -> None:
    source = fetch(address + path, settings)
    assert (source.name, source.origin) == (name, address + path)
    assert source.path.read_bytes() == PAGE
    assert source.path.suffix == Path(name).suffix


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing", "404"),
        ("/loop", "redirects"),
        ("/large", "larger"),
        ("/bomb", "larger"),
        ("/to/ftp://x/y", "http"),
    ],
)
def test_refused_with_a_reason(address: str, settings: Settings, path: str, message: str) -> None:
    with pytest.raises(FetchFailed, match=message):
        fetch(address + path, settings)
    assert [path for path in settings.data.rglob("*") if path.is_file()] == []


def test_a_slow_server_is_given_up(address: str, settings: Settings) -> None:
    with pytest.raises(FetchFailed, match=r"within 0\.3 s"):
        fetch(address + "/drip", replace(settings, fetch_timeout_s=0.3))


def test_a_stop_ends_it(address: str, settings: Settings) -> None:
    signal = stopping.StopSignal()
    timer = threading.Timer(0.2, signal.set)
    timer.start()
    with stopping.stoppable(signal), pytest.raises(Stopped):
        fetch(address + "/drip", settings)
    timer.join()


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/x",
        "nonsense",
        "",
        "http://",
        "http://[::1",
        "http://x:99999/",
    ],
)
def test_not_a_web_address(settings: Settings, url: str) -> None:
    with pytest.raises(FetchFailed, match="address"):
        fetch(url, settings)


def test_nobody_there(settings: Settings) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(FetchFailed, match="could not be fetched"):
            fetch(f"http://127.0.0.1:{free.getsockname()[1]}/", settings)
    assert fetch_function is fetch


@pytest.mark.parametrize(
    "path",
    ["/" + "\N{CJK UNIFIED IDEOGRAPH-5831}" * 300 + ".pdf", "/x." + "y" * 300, "/%00%ED%A0%80"],
)
def test_a_file_is_never_stored_under_the_name_of_a_page(
    address: str, settings: Settings, path: str
) -> None:
    source = fetch(address + path, settings)
    assert source.path.read_bytes() == PAGE
    assert len(source.path.name) < 50
    assert source.path.stem.isalnum()
