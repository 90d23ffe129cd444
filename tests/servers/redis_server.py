"""A real local server that speaks enough of Redis's protocol for a cache: HELLO, CLIENT, SELECT,
GET and SET.
"""

from __future__ import annotations

import socketserver
import threading
from typing import Self


class RedisServer:
    """Serves `values` at `url` while the block runs."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.values = self.values
        self.url = f"redis://127.0.0.1:{self._server.server_address[1]}/0"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    values: dict[bytes, bytes]


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while line := self.rfile.readline():
            self.wfile.write(self._answer([self._argument() for _ in range(int(line[1:]))]))

    def _argument(self) -> bytes:
        length = int(self.rfile.readline()[1:])
        return self.rfile.read(length + 2)[:-2]

    def _answer(self, command: list[bytes]) -> bytes:
        # Socketserver types it as the base class.
        values: dict[bytes, bytes] = getattr(self.server, "values")  # noqa: B009
        match [command[0].upper(), *command[1:]]:
            case [b"HELLO", *_]:
                return b"%1\r\n$5\r\nproto\r\n:3\r\n"
            case [b"GET", key]:
                return _bulk(values.get(key))
            case [b"SET", key, value]:
                values[key] = value
                return b"+OK\r\n"
            case [b"CLIENT" | b"SELECT", *_]:
                return b"+OK\r\n"
        return b"-ERR unknown command\r\n"


def _bulk(value: bytes | None) -> bytes:
    return b"_\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
