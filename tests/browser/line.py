"""The line between a page and its server, which a test can hold up."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.sync_api import Page, WebSocketRoute
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class Line:
    """The line between a page and its server; both ways can be held up."""

    def __init__(self, page: Page) -> None:
        self.is_held = False
        self._page = page
        self._down: list[bytes] = []
        self._up: list[str | bytes] = []
        page.route_web_socket(lambda url: "_stcore/stream" in url, self._route)

    def _route(self, browser: WebSocketRoute) -> None:
        self._browser, self._server = browser, browser.connect_to_server()
        browser.on_message(self._send)
        self._server.on_message(self._hear)

    def _send(self, message: str | bytes) -> None:
        if self.is_held:
            self._up.append(message)
        else:
            self._server.send(message)

    def _hear(self, message: str | bytes) -> None:
        if self.is_held:
            self._down.append(bytes(message) if isinstance(message, bytes) else message.encode())
        else:
            self._browser.send(message)

    def send_held(self) -> None:
        """What the page has to say goes out."""
        for message in self._up:
            self._server.send(message)
        self._up.clear()

    def send_until(self, *kinds: str) -> None:
        """What the page has to say goes out, until messages of these kinds wait, one behind the
        other, to be heard.
        """
        while not self._waits(kinds):
            self._page.wait_for_timeout(20)  # ms
            self.send_held()

    def _waits(self, kinds: Sequence[str]) -> bool:
        told = iter([ForwardMsg.FromString(one).WhichOneof("type") for one in self._down])
        return all(kind in told for kind in kinds)

    def release(self) -> None:
        """First the page hears what it did not, then its server."""
        self.is_held = False
        for message in self._down:
            self._browser.send(message)
        self.send_held()
