"""The jailed process, which answers requests on its pipes until they close: `python -m
agentkit.documents.child MEMORY_MB`.

A request brings the content of its file, so that the process needs to open none. In a sandbox the
number of the user to become follows, -1 to stay the one that it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import repeat
from typing import IO, Any

from agentkit.documents import wire
from agentkit.documents.assembly import Reading, assemble
from agentkit.documents.decoding import title_from
from agentkit.documents.detection import detect
from agentkit.documents.document import DocumentText, Limits
from agentkit.documents.picturing import make_picture
from agentkit.documents.readers import FORMATS
from agentkit.documents.readers.pdf import Mark, render_pdf
from agentkit.documents.refusals import AGAIN
from agentkit.errors import (
    AgentkitError,
    DamagedDocument,
    EmptyDocument,
    NoTextFound,
    UnknownFormat,
)

LIBRARIES = (
    "charset_normalizer",
    "lxml",
    "openpyxl",
    "PIL",
    "pypdfium2",
    "pypdfium2_raw",
    "striprtf",
)
"""What readers import when they are called."""


def main() -> None:
    """Confine this process, say hello, serve."""
    memory_mb, user = int(sys.argv[1]), None
    if len(sys.argv) > 2:
        user = int(sys.argv[2])
    requests, replies = _take_pipes()
    confine(memory_mb, user)
    if user is not None and not _has_libraries():
        sys.exit("The sandbox does not show the libraries of the readers.")
    wire.send(replies, {"hello": os.getpid()})
    while True:
        try:
            request, data = wire.receive(requests)
        except EOFError:
            return
        if not _serve(request, data, replies):
            return


def _serve(request: dict[str, Any], data: bytes, replies: IO[bytes]) -> bool:
    """Answer one request; False when memory ran out, which leaves a process that nobody should
    trust.
    """
    limits = Limits(**request["limits"])
    _limit_seconds(limits.timeout_s)
    try:
        header, body = _answer(request, data, limits)
    except AgentkitError as error:
        header, body = {"error": type(error).__name__, "message": str(error)}, b""
    except MemoryError:
        wire.send(replies, {"error": "MemoryError"})
        return False
    wire.send(replies, header, body)
    return True


def _answer(request: dict[str, Any], data: bytes, limits: Limits) -> tuple[dict[str, Any], bytes]:
    name = request["name"]
    if request["do"] == "read":
        return wire.pack(read_here(data, name, limits))
    if request["do"] == "picture":
        with _explain_failures(name):
            content, kind, size = make_picture(data, name)
        return {"kind": kind, "size": size}, content
    marks = [(request["highlight"], False), *zip(request["strongly"], repeat(True))]
    known = [(span[0], span[1], strong) for span, strong in marks if span]
    return {}, render_here(data, name, request["page"], known, request["width"])


def read_here(data: bytes, name: str, limits: Limits) -> DocumentText:
    """Read the content of a file that the user calls `name`; every failure is a DocumentError with
    advice.
    """
    with _explain_failures(name):
        chosen = FORMATS[detect(data, name)]
        reading = chosen.reader(data, name, limits)
        document = assemble(reading, name, chosen.media_type, limits)
    if not document.text:
        raise _explain_empty(name, reading)
    if document.title:
        return document
    return replace(document, title=title_from(name))


def render_here(data: bytes, name: str, page: int, marks: Sequence[Mark], width: int) -> bytes:
    """PNG of one page of a PDF; UnknownFormat for files without pages to draw."""
    with _explain_failures(name):
        if detect(data, name) != ".pdf":
            raise UnknownFormat(
                f"{name} is not a PDF; only pages of PDF files can be drawn. Show its text instead."
            )
        return render_pdf(data, name, page, marks, width)


@contextmanager
def _explain_failures(name: str) -> Iterator[None]:
    """Turn what parsers raise on damaged bytes into one sentence for the user."""
    try:
        yield
    except (AgentkitError, MemoryError):
        raise
    except RecursionError as error:
        raise DamagedDocument(
            f"{name} is nested too deeply to be read. Export it in a flatter form or as text."
        ) from error
    except Exception as error:  # each library fails in ways of its own
        raise DamagedDocument(
            f"{name} is damaged: its content is not what files of its kind hold. {AGAIN}"
        ) from error


def _explain_empty(name: str, reading: Reading) -> EmptyDocument | NoTextFound:
    if reading.pictures:
        return NoTextFound(
            f"{name} holds pictures but no text (a scan?). Run OCR on it, for example OCRmyPDF, and"
            " add the result."
        )
    return EmptyDocument(f"{name} holds no text. Check that it was saved, and add it again.")


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes away from stdin and stdout, so that what a library prints goes nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return requests, replies


def confine(memory_mb: int, user: int | None) -> None:
    """Limit what this process may use; `user` as on the command line, None outside of a sandbox."""
    # Openpyxl would load it: 0.1 s and much address space, for nothing.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform != "darwin":  # macOS accepts no useful limit of address space
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb * 2**20, memory_mb * 2**20))
    if user is None:
        return
    if user >= 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))  # what it starts would have memory of its own


def _has_libraries() -> bool:
    """Whether they are where the sandbox shows them, and may be read by its user."""
    for name in LIBRARIES:
        found = find_spec(name)
        if found is None or found.origin is None or not os.access(found.origin, os.R_OK):
            return False
    return True


def _limit_seconds(seconds: float) -> None:
    """A limit of CPU time for this request, in case the parent is gone and cannot enforce the
    timeout.
    """
    if sys.platform != "win32":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 5, hard)
        )


if __name__ == "__main__":
    main()
