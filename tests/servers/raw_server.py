"""A server on this machine that sends exactly these bytes: what no library would send."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""Of localhost, site.test and 127.0.0.1, with its key; SSL_CERT_FILE lets it be trusted."""


class RawServer:
    """Answers each target with its bytes, or with those of ""; `requests` has the heads asked."""

    def __init__(
        self, replies: Mapping[str, bytes], *, secure: bool = False, port: int = 0
    ) -> None:
        self.replies, self.requests = replies, list[bytes]()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if secure else None
        if self._context:
            self._context.load_cert_chain(CERTIFICATE)
        self._listening = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> RawServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def url(self, target: str, host: str = "127.0.0.1") -> str:
        """The address of this target."""
        return f"{'https' if self._context else 'http'}://{host}:{self.port}{target}"

    def _serve(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:  # closed
                return
            with connected:
                try:
                    self._answer(connected)
                except OSError:  # whoever asked has gone, or does not trust the certificate
                    continue

    def _answer(self, connected: socket.socket) -> None:
        used = connected
        if self._context:
            used = self._context.wrap_socket(connected, server_side=True)
        with used:
            asked = b""
            while b"\r\n\r\n" not in asked and (block := used.recv(65_536)):
                asked += block
            if not asked:
                return
            self.requests.append(asked)
            target = asked.split(b" ")[1].decode()
            used.sendall(self.replies[target if target in self.replies else ""])
            used.shutdown(socket.SHUT_WR)  # below TLS, without its own closing
            while used.recv(65_536):  # until the other side closes too: nothing sent gets lost
                continue


def reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer with these headers and this body; its length is not added."""
    head = "\r\n".join((f"HTTP/1.1 {status}", "Content-Type: text/html", *headers))
    return f"{head}\r\n\r\n".encode() + body


def measured(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """The same, with its length."""
    return reply(body, f"Content-Length: {len(body)}", *headers, status=status)


def chunked(*chunks: bytes) -> bytes:
    """A body in chunks, with its end."""
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))
