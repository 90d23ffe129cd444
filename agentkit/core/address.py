"""Addresses of servers, as people may see them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

ON_THIS_MACHINE = (
    r"local|offline|scripted|(localhost|.+\.localhost|127(\.[0-9]+){3}|\[?::1\]?)(:[0-9]+)?"
)
"""A pattern, for Python and for the database, that fits all of a provider that costs nothing.

Those are what runs in this process, and the host, perhaps with a port, of a server at a loopback
address.
"""
_PORTS = {"http": 80, "https": 443}
_LOGIN = re.compile(r"(^|//)[^/@]*@")


def on_this_machine(provider: str) -> bool:
    """Whether a provider of models is this process or a server at a loopback address."""
    return re.fullmatch(ON_THIS_MACHINE, provider) is not None


def without_login(url: str) -> str:
    """The address without user and password, and without its query, where keys stand too."""
    return _LOGIN.sub(r"\1", url.partition("?")[0].rstrip("/"))


def server_of(url: str) -> str:
    """Scheme, host and port of an address: what a key belongs to; the same for all spellings.

    Raises ValueError for a port that cannot be.
    """
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port
    if ":" in str(host):
        host = f"[{host}]"
    if port is None:
        port = _PORTS.get(parts.scheme)
    return f"{parts.scheme}://{host}:{port}"
