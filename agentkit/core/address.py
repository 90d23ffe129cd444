"""Addresses of servers, as people may see them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
_LOGIN = re.compile(r"(^|//)[^/@]*@")


def without_login(url: str) -> str:
    """The address without user and password, and without its query, where keys stand too."""
    return _LOGIN.sub(r"\1", url.partition("?")[0].rstrip("/"))


def server_of(url: str) -> str:
    """Scheme, host and port of an address: what a key belongs to; the same for all spellings.

    Raises ValueError for a port that is none.
    """
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = _PORTS.get(parts.scheme) if parts.port is None else parts.port
    return f"{parts.scheme}://{host}:{port}"
