"""The style rules of our own, in the one HTML page that Streamlit sends.

Drawn by the script, they would come by WebSocket with a piece that the browser loads late: until
then a page stands there without them, for a second or more on a slow machine, and moves when they
come.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_UNWANTED = (b"if-none-match", b"if-modified-since", b"accept-encoding")
"""What a request does not ask for: a page that was kept, or one that is compressed already."""


def draw_style() -> str:
    """The rules as an HTML element, with the colours of the theme as variables."""
    colours = [
        f"--{kind}-{name}: {st.get_option(f'theme.{kind}.{option}')};"
        for kind in ("light", "dark")
        for name, option in (("ground", "backgroundColor"), ("link", "linkColor"))
    ]
    rules = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return f"<style>:root {{ {' '.join(colours)} }}\n{rules}</style>"


class StyledPage:
    """Adds the style rules to the app's page, wherever Streamlit answers with it.

    They stand at the end of its body, behind what Streamlit puts into the head, so that they win
    over rules that are as specific. The page is asked for anew each time: what a browser kept of
    it may hold older rules.
    """

    def __init__(self, app: ASGIApp, index_page: Path) -> None:
        self.app = app
        self._plain = index_page.read_bytes()

    @cached_property
    def _styled(self) -> bytes:
        """Made at the first request: the app is made before its settings are read."""
        return self._plain.replace(b"</body>", draw_style().encode() + b"</body>")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; raises nothing of its own."""
        if scope["type"] != "http" or scope["method"] != "GET" or not _wants_page(scope):
            await self.app(scope, receive, send)
            return
        asked = [pair for pair in scope["headers"] if pair[0] not in _UNWANTED]
        await self.app({**scope, "headers": asked}, receive, _Answer(self, send).send)

    def style(self, body: bytes) -> bytes:
        """The page with its rules; whatever else stays as it is."""
        return self._styled if body == self._plain else body


def _wants_page(scope: Scope) -> bool:
    accepted = (value for name, value in scope["headers"] if name == b"accept")
    return any(b"text/html" in value for value in accepted)


class _Answer:
    """One answer on its way: a page of HTML is held back until it is whole, all else passes."""

    def __init__(self, page: StyledPage, send: Send) -> None:
        self._page, self._send = page, send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif message["type"] == "http.response.body" and self._start is not None:
            await self._collect(self._start, message)
        else:
            await self._send(message)

    async def _collect(self, start: Message, message: Message) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        body = self._page.style(self._body)
        headers = MutableHeaders(scope=start)
        headers["Content-Length"] = str(len(body))
        if body != self._body:
            del headers["ETag"]
            del headers["Last-Modified"]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    return start["status"] == 200 and headers.get("content-type", "").startswith("text/html")
