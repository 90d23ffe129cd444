"""HTTP connections that are kept open and used again: each serves one request at a time, which a
stop can cut at any moment.

Outside of requests they are kept for `KEPT_S`, by server, for the whole process; a process that was
forked makes its own.
"""

from __future__ import annotations

import atexit
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from agentkit.core import stopping
from agentkit.core.address import server_of
from agentkit.core.given import coalesce, list_missing
from agentkit.errors import Stopped

if TYPE_CHECKING:
    import ssl

    import httpx2

KEPT_S = 4.0
"""Seconds; many servers close what was idle for 5 s, and a request that goes out meanwhile is
lost.
"""
_MOST_KEPT = 32
"""Of all servers together."""
_DRAINED_S = 0.5
_MOST_DRAINED = 65_536  # bytes

Key = tuple[object, ...]


class _Open:
    """A client that holds at most one connection, and its sockets: the one of the request that it
    serves.
    """

    def __init__(self, key: Key, *, secure: bool, trust_env: bool) -> None:
        import httpx2

        self.key = key
        self.sockets: list[socket.socket] = []
        self.idle_since = 0.0
        limits = httpx2.Limits(
            max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_S
        )
        verify = _certificates() if secure else False
        self.http = httpx2.Client(verify=verify, trust_env=trust_env, limits=limits)


class Line:
    """What one request goes over. Cutting it wakes whoever waits for data, which closing does
    not.
    """

    def __init__(self, http: httpx2.Client, sockets: list[socket.socket] | None = None) -> None:
        """Without `sockets`, as for a client of somebody else, nothing can be cut: what comes is
        awaited.
        """
        self.http = http
        self.is_cut = False
        """Whether `cut` was called while the request was under way."""
        self._sockets = [] if sockets is None else sockets
        self._is_over = False
        self._lock = threading.Lock()

    def cut(self) -> None:
        """End the request now, from any thread; does nothing when it is over."""
        with self._lock:
            self.is_cut = self.is_cut or not self._is_over
        self._hang_up()

    def drain(self, pieces: Iterator[bytes]) -> None:
        """Read what still comes after a reply, a little and not for long, so that the connection
        can be used again.
        """
        if not self._sockets:  # nothing could end it
            return
        late = threading.Timer(_DRAINED_S, self._hang_up)
        late.daemon = True
        late.start()
        try:
            size = 0
            for piece in pieces:
                size += len(piece)
                if size > _MOST_DRAINED:
                    break
        except Exception:  # noqa: BLE001  # the reply is whole; what comes after it is not
            self._hang_up()
        finally:
            late.cancel()

    def over(self) -> None:
        """The request is over; from now on nobody cuts it."""
        with self._lock:
            self._is_over = True

    def watch(self, request: httpx2.Request) -> None:
        """For the client: tells of new sockets."""
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        is_new = event.endswith("connect_tcp.complete")
        is_encrypted = event.endswith("start_tls.complete")
        if not (is_new or is_encrypted):
            return
        with self._lock:
            if is_new:
                self._sockets.clear()
            stream = info["return_value"]
            self._sockets.append(stream.get_extra_info("socket"))
        if self.is_cut:
            self._hang_up()

    def _hang_up(self) -> None:
        with self._lock:
            if self._is_over:
                return
            for one in self._sockets:
                _shut_down(one)


@contextmanager
def line(
    address: str,
    *,
    connect_s: float,
    silence_s: float,
    sends: Callable[[httpx2.Request], None] | None = None,
    answers: Callable[[httpx2.Response], None] | None = None,
) -> Iterator[Line]:
    """A connection to the server of this address for the requests of the block, one after the
    other.

    One that is open and idle is taken first. `sends` is called before each request goes out,
    `answers` when the head of the reply has come. Proxies of the environment hold for other
    machines only. When the enclosing run is stopped, the connection is cut, and the block ends with
    Stopped. Also raises what httpx2 raises.
    """
    import httpx2

    opened = _take(address)
    held = Line(opened.http, opened.sockets)
    opened.http.timeout = httpx2.Timeout(silence_s, connect=connect_s)
    opened.http.event_hooks = {
        "request": list(filter(None, (held.watch, sends))),
        "response": list(filter(None, (answers,))),
    }
    is_whole = False
    try:
        with stoppable(held):
            yield held
        is_whole = True
    finally:
        held.over()
        opened.http.cookies.clear()
        if is_whole:
            _keep(opened)
        else:  # after an error nobody knows what still comes
            opened.http.close()


@contextmanager
def stoppable(held: Line) -> Iterator[Line]:
    """While the block runs, a stop of the enclosing run cuts the line; the block ends with Stopped
    then.
    """
    try:
        with stopping.current().on_stop(held.cut):
            yield held
    except Exception:
        if held.is_cut:  # whatever came of it
            raise Stopped("stopped by the user") from None
        raise
    if held.is_cut:
        raise Stopped("stopped by the user")


def is_loopback(address: str) -> bool:
    """Whether the address is on this machine."""
    host = coalesce(urlsplit(address).hostname, "")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return f".{host}".endswith(".localhost")


def close_idle() -> None:
    """Close all that serve nobody at the moment."""
    with _lock:
        found, _idle[:] = list(_idle), []
    _close_all(found)
    _sweep()


_idle: list[_Open] = []
"""Longest idle first."""
_sweeper: threading.Timer | None = None
"""Comes by while something is idle."""
_lock = threading.Lock()


def _take(address: str) -> _Open:
    """The one that was used last for this server, or a new one."""
    trust_env = not is_loopback(address)
    proxies: tuple[tuple[str, str], ...] = ()
    if trust_env:
        proxies = tuple(sorted(getproxies().items()))
    key = (_find_server(address), proxies)
    with _lock:
        old = _take_outdated()
        found = {one.key: one for one in _idle}.get(key)
        if found:
            _idle.remove(found)
    _close_all(old)
    if found:
        return found
    is_secure = address.startswith("https")
    return _Open(key, secure=is_secure, trust_env=trust_env)


def _keep(opened: _Open) -> None:
    opened.idle_since = time.monotonic()
    with _lock:
        _idle.append(opened)
    _sweep()


def _sweep() -> None:
    """Close what has been idle for too long, now and while something is kept."""
    global _sweeper
    with _lock:
        old = _take_outdated()
        if _sweeper is not None and (threading.current_thread() is _sweeper or not _idle):
            _sweeper.cancel()
            _sweeper = None
        if _sweeper is None and _idle:
            _sweeper = threading.Timer(KEPT_S, _sweep)
            _sweeper.daemon = True
            _sweeper.start()
    _close_all(old)


def _take_outdated() -> list[_Open]:
    """Take out, and return, what has been idle for too long or is too many."""
    last = time.monotonic() - KEPT_S
    kept = [one for one in _idle if one.idle_since >= last][-_MOST_KEPT:]
    old = list_missing(_idle, kept)
    _idle[:] = kept
    return old


def _close_all(opened: Iterable[_Open]) -> None:
    for one in opened:
        one.http.close()


def _find_server(address: str) -> object:
    try:
        return server_of(address)
    except ValueError:  # no address of a server; asking it will tell
        return address


def _forget() -> None:
    """The connections are those of the parent process: here they are only let go, which it does not
    notice.
    """
    global _lock, _sweeper
    _lock, _sweeper = threading.Lock(), None
    close_idle()


def _shut_down(opened: socket.socket) -> None:
    try:
        opened.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster, or TLS took the socket over


@cache
def _certificates() -> ssl.SSLContext:
    """Loaded once: that takes longer than the rest of a connection."""
    import httpx2

    return httpx2.create_ssl_context()


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
