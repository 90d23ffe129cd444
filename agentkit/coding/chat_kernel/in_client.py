"""Speaks Jupyter's protocol with a kernel, in a sandbox of its own: what the kernel's code can send
is first taken apart here, where there is nothing to be had.

Started as a file inside of the sandbox: `python in_client.py CONNECTION_FILE LIMITS`. It reads a
JSON object a line, `{"code": ..., "silent": ...}`, and answers each by lines with a `kind`: those
of Jupyter's messages, at last `done`. The first line of all is `ready`.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import time
from typing import Any

import zmq

MESSAGE_BYTES = 64 << 20
"""A longer message of the kernel ends its connection."""
PIECE = 1 << 15
_AFTER_REPLY_S = 2.0


class Client:
    """Our end of the kernel's channels."""

    def __init__(self, connection: str, limits: dict[str, Any]) -> None:
        from jupyter_client.blocking.client import BlockingKernelClient

        while not _is_bound(connection):
            time.sleep(0.005)
        context: Any = zmq.Context()
        context.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES)
        self._limits = limits
        self._client: Any = BlockingKernelClient(context=context)
        self._client.load_connection_file(connection)
        self._client.start_channels(stdin=False, hb=False, control=False)
        self._poller = zmq.Poller()
        self._iopub, self._shell = self._client.iopub_channel, self._client.shell_channel
        for channel in (self._iopub, self._shell):
            self._poller.register(channel.socket, zmq.POLLIN)
        self._room = self._left_out = 0

    def begin(self) -> None:
        """Wait until the kernel answers, and is heard."""
        heard: set[str] = set()
        while len(heard) < 2:
            self._client.kernel_info()
            heard |= {name for name, _ in self._receive(0.05)}
        while list(self._receive(0.05)):
            pass

    def run(self, code: str, silent: bool) -> dict[str, Any]:
        """Run a cell and tell what comes of it; the last line about it, which says its status."""
        self._room, self._left_out = self._limits["text"], 0
        options = {"store_history": not silent, "allow_stdin": False, "stop_on_error": False}
        request = self._client.execute(code, silent=silent, **options)
        status, end = "", float("inf")
        idle = False
        while not (idle and status) and time.monotonic() < end:
            for name, message in self._receive(0.2):
                if message["parent_header"].get("msg_id") != request:
                    continue
                if name == "shell":
                    status = str(message["content"].get("status"))
                    end = time.monotonic() + _AFTER_REPLY_S  # floods make the rest get lost
                elif message["msg_type"] == "status":
                    idle = message["content"]["execution_state"] == "idle"
                else:
                    self._tell(message["msg_type"], message["content"])
        if self._left_out:
            send({"kind": "left_out", "count": self._left_out})
        if not idle:
            send({"kind": "lost"})
        return {"kind": "done", "status": status}

    def _receive(self, seconds: float) -> list[tuple[str, Any]]:
        """The next message of each channel that has one."""
        ready = dict(self._poller.poll(int(seconds * 1000)))
        found = []
        for name, channel in (("iopub", self._iopub), ("shell", self._shell)):
            if channel.socket in ready:
                try:
                    found.append((name, channel.get_msg(timeout=0)))
                except (ValueError, TypeError, KeyError, RecursionError, queue.Empty):
                    continue  # another program's message
        return found

    def _tell(self, kind: str, content: Any) -> None:
        if kind == "stream":
            self._tell_text(str(content["name"]), content["text"])
        elif kind in ("display_data", "execute_result"):
            send({"kind": "display", "data": self._choose(content["data"])})
        elif kind == "error":
            most = self._limits["traceback"]
            lines = "\n".join(content["traceback"])[-most:]
            named = {"name": content["ename"][:200], "message": content["evalue"][:most]}
            send({"kind": "error", **named, "traceback": lines})

    def _tell_text(self, name: str, text: str) -> None:
        kept = text[: self._room]
        self._room -= len(kept)
        self._left_out += len(text) - len(kept)
        for at in range(0, len(kept), PIECE):
            send({"kind": "stream", "name": name, "text": kept[at : at + PIECE]})

    def _choose(self, data: dict[str, Any]) -> dict[str, Any]:
        """What is shown of it; of what is too large, only its size."""
        for form, most in self._limits["forms"].items():
            if form in data:
                return _cut_form(form, data[form], most)
        return {}


def _cut_form(form: str, shown: Any, most: int) -> dict[str, Any]:
    """Data of one form, if it is not too large; of text the beginning."""
    text = shown if isinstance(shown, str) else json.dumps(shown)
    size = len(text)
    if form == "text/plain":
        return {form: text[:most], "count": max(size - most, 0)}
    if size > most:
        return {"too large": form, "count": size}
    return {form: shown}


def _is_bound(connection: str) -> bool:
    with open(connection, encoding="utf-8") as file:
        info = json.load(file)
    return all(os.path.exists(f"{info['ip']}-{info[name]}") for name in ("shell_port", "hb_port"))


def send(line: dict[str, Any]) -> None:
    """Give a line to who started us."""
    sys.stdout.buffer.write(json.dumps(line).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Serve until our input ends."""
    client = Client(sys.argv[1], json.loads(sys.argv[2]))
    client.begin()
    send({"kind": "ready"})
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        send(client.run(asked["code"], asked["silent"]))


if __name__ == "__main__":
    main()
