"""Addresses of servers, as people may see them."""

from __future__ import annotations

import re

_LOGIN = re.compile(r"(^|//)[^/@]*@")


def without_login(url: str) -> str:
    """The address without user and password, and without its query, where keys stand too."""
    return _LOGIN.sub(r"\1", url.partition("?")[0].rstrip("/"))
