"""The way to a server: its name is looked up, its addresses are checked, one is connected to.

What is connected to is an address that was checked, so that a name cannot resolve to another one
in between. Framing and TLS are httpcore's; a body that ends before it should is an error there.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import httpcore2

from agentkit.errors import FetchFailed
from agentkit.retrieval.web.networks import is_public

LOST = (
    OSError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
)
"""What a connection, or an answer that breaks the rules of HTTP, can end in."""
_SHORTEST_TRY_S, _LONGEST_TRY_S = 0.05, 4.0
"""For connecting to one address while there are others to try."""
_LONGEST_REASON = 200
Address = tuple[int, int, int, str, tuple[Any, ...]]
"""What `socket.getaddrinfo` gives of one address."""


@dataclass(frozen=True)
class Reply:
    """What a server answers; the names of the headers are in small letters."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: Iterable[bytes]
    """The body without the framing of HTTP, still packed; raises one of LOST when it breaks off."""


class Line(httpcore2.NetworkBackend):
    """Connects for one fetch, within its time; `end` breaks it off from another thread."""

    def __init__(self, timeout_s: float, allow_private: bool) -> None:
        self._timeout_s, self._allow_private = timeout_s, allow_private
        self._deadline = time.monotonic() + timeout_s
        self._held: socket.socket | None = None
        self._ended = False
        self._lock = threading.Lock()
        self._news: queue.SimpleQueue[Sequence[Address] | Exception | None] = queue.SimpleQueue()
        """What a look-up found; None when the line was ended."""

    def end(self) -> None:
        """Whoever connects, writes or reads gets an error, or the end."""
        with self._lock:
            self._ended = True
            if self._held is not None and self._held.fileno() >= 0:
                _shut(self._held)
        self._news.put(None)

    def check(self) -> None:
        """Raise OSError when it was ended: what looked like the end of a body was not."""
        if self._ended:
            raise OSError("the connection was ended")

    @contextmanager
    def get(
        self, parts: SplitResult, target: str, headers: Mapping[str, str], proxy: str = ""
    ) -> Iterator[Reply]:
        """Ask for the target, straight or through the proxy. Raises FetchFailed, or one of LOST."""
        host, named = _encode_host(parts)
        url = httpcore2.URL(
            scheme=parts.scheme.encode(), host=host, port=parts.port, target=target.encode()
        )
        sent = [(b"Host", named)]
        sent += [(name.encode(), value.encode()) for name, value in headers.items()]
        limits = dict.fromkeys(("connect", "read", "write"), self._timeout_s)
        extensions = {"timeout": limits, "sni_hostname": host.decode().rstrip(".")}
        with (
            self._pool(parts.scheme == "https", proxy) as pool,
            pool.stream("GET", url, headers=sent, extensions=extensions) as response,
        ):
            joined = _join_headers(response.headers)
            reason = _text(response.extensions.get("reason_phrase", b""))[:_LONGEST_REASON]
            yield Reply(response.status, reason, joined, response.iter_stream())

    def _pool(self, secure: bool, proxy: str) -> httpcore2.ConnectionPool:
        context = ssl.create_default_context() if secure else None
        if not proxy:
            return httpcore2.ConnectionPool(ssl_context=context, network_backend=self)
        at = urlsplit(proxy)
        login = None
        if at.username:
            login = (unquote(at.username), unquote(at.password or ""))
        return httpcore2.HTTPProxy(
            proxy_url=proxy, proxy_auth=login, ssl_context=context, network_backend=self
        )

    # What httpcore asks for

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: object = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that answers; none is tried before all are allowed."""
        addresses = self._addresses(host, port)
        failed: OSError | None = None
        for number, address in enumerate(addresses):
            try:
                return _Stream(self, self._connect(address, len(addresses) - number))
            except OSError as error:
                self.check()
                failed = error
        raise failed or OSError(f"the host {host!r} has no address")

    def _connect(self, address: Address, tries: int) -> socket.socket:
        """Connect to the address, within its share of the time that is left for so many tries."""
        left_s = max(_SHORTEST_TRY_S, self._deadline - time.monotonic())
        timeout_s = left_s
        if tries != 1:
            timeout_s = min(left_s / tries, _LONGEST_TRY_S)
        family, kind, protocol, _, place = address
        made = socket.socket(family, kind, protocol)
        try:
            self.hold(made)
            made.settimeout(timeout_s)
            made.connect(place)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            made.close()
            raise
        return made

    def _addresses(self, host: str, port: int) -> Sequence[Address]:
        """All addresses of the host, best first; raises FetchFailed unless all are allowed."""
        found = self._look_up(host, port)
        if isinstance(found, Exception):
            raise FetchFailed(
                f"The host {host!r} is not known ({found}); check the address and the network."
            ) from found
        for *_, place in found:
            if not self._allow_private and not is_public(str(place[0])):
                raise FetchFailed(
                    f"{host} is at {place[0]}, which is not a public address; "
                    "such pages are not fetched unless AGENTKIT_ALLOW_PRIVATE_URLS is true."
                )
        return found

    def _look_up(self, host: str, port: int) -> Sequence[Address] | Exception:
        """What is known of the host, or why nothing is; raises OSError when it was ended meanwhile.

        A resolver cannot be interrupted, and may wait for longer than the fetch.
        """

        def look_up() -> None:
            try:
                self._news.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError) as error:
                self._news.put(error)

        threading.Thread(target=look_up, name="agentkit-look-up", daemon=True).start()
        found = self._news.get()
        self.check()
        return found or ()

    def hold(self, used: socket.socket) -> None:
        """This is what `end` has to shut from now on; raises OSError when it was ended already."""
        with self._lock:
            self._held = used
        self.check()


class _Stream(httpcore2.NetworkStream):
    """A connected socket, as httpcore uses it."""

    def __init__(self, line: Line, used: socket.socket) -> None:
        self._line, self._socket = line, used

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes; none at the end."""
        self._socket.settimeout(timeout)
        return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all bytes."""
        self._socket.settimeout(timeout)
        self._socket.sendall(buffer)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """Go on encrypted; the certificate must be that of the name."""
        self._socket.settimeout(timeout)
        # An end without TLS's own closing does not count: RFC 9112, section 9.8.
        wrapped = ssl_context.wrap_socket(
            self._socket, server_hostname=server_hostname, suppress_ragged_eofs=False
        )
        self._line.hold(wrapped)
        return _Stream(self._line, wrapped)


def _encode_host(parts: SplitResult) -> tuple[bytes, bytes]:
    """The host that is connected to, and as the Host header has it: with brackets and port."""
    hostname = parts.hostname or ""
    if ":" in hostname:
        host = hostname.encode("ascii")
        named = b"[%b]" % host
    else:
        host = named = hostname.encode("idna")
    if parts.port:
        named += b":%d" % parts.port
    return host, named


def _join_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers by their names in small letters, those of one name joined."""
    known: dict[str, list[str]] = defaultdict(list)
    for name, value in headers:
        known[name.decode().lower()].append(_text(value))
    return {name: ", ".join(values) for name, values in known.items()}


def _shut(used: socket.socket) -> None:
    try:
        # Below TLS: the reading thread is inside of its state.
        socket.socket.shutdown(used, socket.SHUT_RDWR)
    except OSError:  # it has ended by itself meanwhile
        return


def _text(value: bytes) -> str:
    """A header's value: UTF-8 as most send it, or else Latin-1, which it is by the letter."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
