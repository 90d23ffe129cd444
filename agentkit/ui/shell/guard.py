"""Who may talk to the app, and what a page of it may load: middleware around every route.

A browser that was lured to a foreign page must not reach the documents through a name that
points here, and whoever is not at this machine must not reach them at all unless that was
said. What a page may load is said by a Content-Security-Policy; its directives are explained
in https://www.w3.org/TR/CSP3/.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_POLICY = {
    "default-src": "'self'",
    "connect-src": "'self' ws: wss:",
    "img-src": "'self' data: blob:",
    "media-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "style-src": "'self' 'unsafe-inline'",
    "script-src": "'self' blob: 'wasm-unsafe-eval'",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'self'",
}


def content_security_policy(index_page: Path) -> str:
    """The policy for an app whose first page is that file: its inline scripts run, no others."""
    scripts = _INLINE_SCRIPT.findall(index_page.read_text(encoding="utf-8"))
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    policy = {**_POLICY, "script-src": " ".join([_POLICY["script-src"], *hashes])}
    return "; ".join(f"{directive} {sources}" for directive, sources in policy.items())


class SecurityHeaders:
    """Adds to each response what a browser shall hold to."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        self.app = app
        self._headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",  # addresses of chats are nobody else's business
            "Cross-Origin-Resource-Policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; raises nothing of its own."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self.app(scope, receive, send_guarded if scope["type"] == "http" else send)


class Doorkeeper:
    """Refuses requests from other machines unless `is_open`, and under other names than `hosts`.

    A WebSocket is opened only for the app's own pages and those of `origins`. All three are
    asked for at each request, as settings may be read after the app was made. A name is a host
    without port, `*.example.com` or `*`. An empty list means the loopback names.
    """

    def __init__(
        self,
        app: ASGIApp,
        is_open: Callable[[], bool],
        hosts: Callable[[], Sequence[str]],
        origins: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.app = app
        self._is_open, self._hosts, self._origins = is_open, hosts, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with 403 and what to do."""
        if scope["type"] in ("http", "websocket") and (reason := self._refusal(scope)):
            await PlainTextResponse(reason, 403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> str:
        ends = scope.get("client"), scope.get("server")
        if not (all(map(is_here, ends)) or self._is_open()):
            return (
                "agentkit serves this machine only: it has no login, so whoever reaches it could "
                "read and delete everything in it. To serve others all the same, start it with "
                "AGENTKIT_OPEN=1, behind something that asks who they are."
            )
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if not is_allowed(host, self._hosts() or LOOPBACK_NAMES):
            return (
                f"agentkit does not answer under the name {host!r}. If it is one of its own, add "
                "it to server.allowedHosts in .streamlit/config.toml, or to "
                "STREAMLIT_SERVER_ALLOWED_HOSTS in the environment."
            )
        # Streamlit lets pages of every other server of this machine in.
        foreign = origin and urlsplit(origin).netloc != host and origin not in self._origins()
        if scope["type"] == "websocket" and foreign:
            return f"A page of {origin} may not open the app; see server.corsAllowedOrigins."
        return ""


def is_here(address: tuple[str, int | None] | None) -> bool:
    """Whether one end of a connection is this machine itself: loopback, or a Unix socket."""
    if address is None:
        return True
    try:
        found = ipaddress.ip_address(address[0].partition("%")[0])
    except ValueError:
        return address[1] is None  # the path of a socket
    inside = None
    if isinstance(found, ipaddress.IPv6Address):
        inside = found.ipv4_mapped
    return (inside or found).is_loopback


def is_allowed(host: str, names: Sequence[str]) -> bool:
    """Whether the Host header (name, perhaps with a port) is one of the names."""
    name = _read_name(host)
    if not name:
        return False
    for pattern in names:
        plain = pattern.strip().lower().rstrip(".").strip("[]")
        if plain in ("*", name):
            return True
        if plain.startswith("*.") and name.endswith(plain[1:]):
            return True
    return False


def _read_name(host: str) -> str:
    """The name in a `Host` header, without its port; empty when it is not a name."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises unless it is a number
    except ValueError:
        return ""
    if parts.netloc != host or "@" in host:
        return ""
    return (parts.hostname or "").rstrip(".")
