"""The jailed process, `python -m agentkit.documents.child MEMORY_MB`: answers requests on its pipes until they close."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, Any

from agentkit.documents import wire
from agentkit.documents.document import Limits
from agentkit.documents.reading import read_here, render_here
from agentkit.errors import AgentkitError


def main() -> None:
    """Confine this process, say hello, serve."""
    requests, replies = _own_pipes()
    _confine(int(sys.argv[1]))
    wire.send(replies, {"hello": os.getpid()})
    while True:
        try:
            header, _ = wire.receive(requests)
        except EOFError:
            return
        if not _serve(header, replies):
            return


def _serve(request: dict[str, Any], replies: IO[bytes]) -> bool:
    """Answer one request; False when memory ran out, which leaves a process that nobody should trust."""
    limits = Limits(**request["limits"])
    _allow_seconds(limits.timeout_s)
    try:
        header, body = _answer(request, limits)
    except AgentkitError as error:
        header, body = {"error": type(error).__name__, "message": str(error)}, b""
    except MemoryError:
        wire.send(replies, {"error": "MemoryError"})
        return False
    wire.send(replies, header, body)
    return True


def _answer(request: dict[str, Any], limits: Limits) -> tuple[dict[str, Any], bytes]:
    path, name = Path(request["path"]), request["name"]
    if request["do"] == "read":
        return wire.pack(read_here(path, name, limits))
    highlight = tuple(request["highlight"]) if request["highlight"] else None
    return {}, render_here(path, name, request["page"], highlight, request["width"], limits)


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes away from stdin and stdout, so that what a library prints goes nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return requests, replies


def _confine(memory_mb: int) -> None:
    sys.modules["numpy"] = None  # type: ignore[assignment]  # openpyxl would load it: 0.1 s and much address space, for nothing
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        if sys.platform != "darwin":  # macOS accepts no useful limit of address space
            resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))


def _allow_seconds(seconds: float) -> None:
    """A limit of CPU time for this request, in case the parent is gone and cannot enforce the timeout."""
    if sys.platform != "win32":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 5, hard))


if __name__ == "__main__":
    main()
