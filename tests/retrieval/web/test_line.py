"""Where a fetch goes: which names are refused, which address is taken, and what a proxy changes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkit.core import stopping
from agentkit.errors import FetchFailed, Stopped
from agentkit.retrieval import fetch
from agentkit.settings import Settings
from tests.servers.raw_server import CERTIFICATE, RawServer, chunked, measured, reply

PAGE = b"<p>Hello from the server.</p>"
Resolve = Callable[..., None]


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, allow_private_urls=True, max_file_mb=1, fetch_timeout_s=20)


@pytest.fixture
def server() -> Iterator[RawServer]:
    with RawServer({"": measured(PAGE)}) as opened:
        yield opened


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Let a name have these addresses, in this order: `resolve("site.test", "127.0.0.2", ...)`."""
    known: dict[str, tuple[str, ...]] = {}
    real = socket.getaddrinfo

    def resolver(host: str, *args: Any, **options: Any) -> list[Any]:
        places = known.get(host, (host,))
        return [found for place in places for found in real(place, *args, **options)]

    def add(host: str, *addresses: str) -> None:
        known[host] = addresses

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return add


@pytest.fixture
def full() -> Iterator[tuple[str, int]]:
    """An address that neither takes nor refuses a connection."""
    with socket.create_server(("127.0.0.3", 0), backlog=0) as busy:
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(busy.getsockname())
        yield busy.getsockname()
        for one in waiting:
            one.close()


# Which hosts


NOT_PUBLIC = """127.0.0.1 localhost LOCALHOST 0.0.0.0 0 [::] [::1] [::ffff:127.0.0.1] 127.1
    [::ffff:7f00:1] 2130706433 017700000001 0177.0.0.1 0x7f.1 0x7f000001 169.254.169.254
    192.0.0.1 192.88.99.1 [3fff::1] [64:ff9b::7f00:1] [2002:7f00:1::] [2001:0:1::] [fe80::1]
    １２７.0.0.1 127。0。0。1 ⑯⑨.254.169.254 user:word@127.0.0.1"""


@pytest.mark.parametrize("host", NOT_PUBLIC.split())
def test_hosts_that_are_not_public_are_refused(settings: Settings, host: str) -> None:
    with pytest.raises(FetchFailed, match="not a public address"):
        fetch(f"http://{host}:9/", replace(settings, allow_private_urls=False))


@pytest.mark.parametrize(
    "host",
    [
        "localhost.",
        "127.0.0.1.",
        "[fe80::1%25lo]",
        "[::1%25lo]",
        "300.300.300.300",
        "a..b",
        "x" * 64,
        "\ud800",
    ],
)
def test_hosts_that_are_none_are_refused_in_words(settings: Settings, host: str) -> None:
    words = r"not known|not a web address|could not be fetched|not a public address"
    with pytest.raises(FetchFailed, match=words):
        fetch(f"http://{host}:9/", replace(settings, allow_private_urls=False))


def test_all_addresses_of_a_name_must_be_public(settings: Settings, resolve: Resolve) -> None:
    resolve("site.test", "93.184.215.14", "10.0.0.1")
    with pytest.raises(FetchFailed, match=r"site.test is at 10\.0\.0\.1, which is not a public"):
        fetch("http://site.test/", replace(settings, allow_private_urls=False))


def test_a_redirect_to_a_private_address_is_refused(
    settings: Settings, resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public name (given here by the resolver) may not lead to this machine at its next hop."""
    resolve("public.test", "93.184.215.14")
    real = socket.socket.connect
    with RawServer({"": measured(PAGE)}) as server:
        server.replies = {
            "": measured(PAGE),
            "/to": measured(b"", f"Location: {server.url('/page')}", status="302 Found"),
        }

        def connect(self: socket.socket, place: tuple[str, int]) -> None:
            assert place == ("93.184.215.14", server.port)
            real(self, ("127.0.0.1", server.port))

        monkeypatch.setattr(socket.socket, "connect", connect)
        public_only = replace(settings, allow_private_urls=False)
        assert fetch(server.url("/page", "public.test"), public_only).name == "page.html"
        with pytest.raises(FetchFailed, match=r"127.0.0.1, which is not a public"):
            fetch(server.url("/to", "public.test"), public_only)


# Which address of several


def test_the_next_address_is_tried_when_one_refuses(
    settings: Settings, server: RawServer, resolve: Resolve
) -> None:
    resolve("site.test", "127.0.0.2", "::1", "127.0.0.1")
    assert fetch(server.url("/page", "site.test"), settings).path.read_bytes() == PAGE
    assert b"\r\nHost: site.test:%d\r\n" % server.port in server.requests[0]


def test_the_next_address_is_tried_when_one_does_not_answer(
    settings: Settings, resolve: Resolve, full: tuple[str, int]
) -> None:
    resolve("site.test", "127.0.0.3", "127.0.0.1")
    with RawServer({"": measured(PAGE)}, port=full[1]) as server:
        source = fetch(server.url("/", "site.test"), replace(settings, fetch_timeout_s=4))
        assert source.path.read_bytes() == PAGE


def test_the_first_address_that_answers_is_the_only_one_asked(
    settings: Settings, server: RawServer, resolve: Resolve
) -> None:
    resolve("site.test", "127.0.0.1", "127.0.0.1")
    fetch(server.url("/", "site.test"), settings)
    assert len(server.requests) == 1


def test_none_of_the_addresses_answers(
    settings: Settings, resolve: Resolve, full: tuple[str, int]
) -> None:
    resolve("site.test", "127.0.0.2", "127.0.0.2")
    with pytest.raises(FetchFailed, match=r"could not be fetched \(.*refused"):
        fetch(f"http://site.test:{full[1]}/", settings)
    resolve("site.test", *["127.0.0.3"] * 20)
    with pytest.raises(FetchFailed, match=r"within 0\.5 s|timed out"):
        fetch(f"http://site.test:{full[1]}/", replace(settings, fetch_timeout_s=0.5))


def test_a_resolver_that_hangs_does_not_hold_the_fetch(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = threading.Event()

    def hang(*given: Any, **named: Any) -> list[Any]:
        answer.wait()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with pytest.raises(FetchFailed, match=r"did not arrive within 0\.2 s"):
        fetch("http://site.test/", replace(settings, fetch_timeout_s=0.2))
    signal = stopping.StopSignal()
    signal.set()
    with stopping.stoppable(signal), pytest.raises(Stopped):
        fetch("http://site.test/", settings)
    answer.set()


def test_a_stop_ends_the_connecting(settings: Settings, full: tuple[str, int]) -> None:
    signal = stopping.StopSignal()
    timer = threading.Timer(0.2, signal.set)
    timer.start()
    with stopping.stoppable(signal), pytest.raises(Stopped):
        fetch(f"http://{full[0]}:{full[1]}/", settings)
    timer.join()


# Encrypted


def test_a_page_comes_encrypted_and_whole(
    settings: Settings, resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve("site.test", "127.0.0.1")
    resolve("site.test.", "127.0.0.1")
    resolve("other.test", "127.0.0.1")
    replies = {"": measured(PAGE), "/chunks": reply(chunked(PAGE), "Transfer-Encoding: chunked")}
    with RawServer(replies, secure=True) as server:
        with pytest.raises(FetchFailed, match=r"could not be fetched .*certificate"):
            fetch(server.url("/", "site.test"), settings)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        for host, target in (("site.test", "/"), ("site.test.", "/"), ("site.test", "/chunks")):
            assert fetch(server.url(target, host), settings).path.read_bytes() == PAGE
        with pytest.raises(FetchFailed, match=r"could not be fetched .*certificate"):
            fetch(server.url("/", "other.test"), settings)


def test_an_end_that_was_not_announced_is_no_end_when_encrypted(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a length only the closing of TLS tells that nothing is missing."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with (
        RawServer({"": reply(PAGE)}, secure=True) as server,
        pytest.raises(FetchFailed, match="did not arrive whole"),
    ):
        fetch(server.url("/"), settings)


# Through a proxy


def test_a_proxy_is_refused_where_addresses_are_checked(
    settings: Settings, server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{server.port}")
    words = r"the proxy http://127\.0\.0\.1:\d+, and.*no_proxy"
    with pytest.raises(FetchFailed, match=words) as told:
        fetch("http://site.test/", replace(settings, allow_private_urls=False))
    assert "secret" not in str(told.value)
    assert not server.requests


def test_a_proxy_is_used_where_private_addresses_are_allowed(
    settings: Settings, server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"me:a%20word@127.0.0.1:{server.port}")
    source = fetch("http://site.test/page?x=1", settings)
    assert (source.name, source.path.read_bytes()) == ("page.html", PAGE)
    head = server.requests[0]
    assert head.startswith(b"GET http://site.test/page?x=1 HTTP/1.1\r\n")
    assert b"\r\nHost: site.test\r\n" in head
    assert b"\r\nProxy-Authorization: Basic bWU6YSB3b3Jk\r\n" in head


def test_an_encrypted_page_is_asked_for_through_a_tunnel(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer({"": measured(b"no", status="403 Forbidden")}) as server:
        monkeypatch.setenv("all_proxy", server.url(""))
        with pytest.raises(FetchFailed, match=r"could not be fetched \(403 Forbidden\)"):
            fetch("https://site.test/", settings)
        assert server.requests[0].startswith(b"CONNECT site.test:443 HTTP/1.1\r\n")
        monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
        with pytest.raises(FetchFailed, match="only http and https proxies"):
            fetch("https://site.test/", settings)


def test_hosts_named_in_no_proxy_are_fetched_straight(
    settings: Settings, server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "example.com,127.0.0.1")
    assert fetch(server.url("/page"), settings).path.read_bytes() == PAGE
    with pytest.raises(FetchFailed, match="not a public address"):
        fetch(server.url("/page"), replace(settings, allow_private_urls=False))
