"""What goes over the pipe between the jail and its child: a JSON header and a body of bytes, both with their lengths in front.

No pickle: a child that a hostile file has taken over can only answer with text.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

from agentkit.documents.document import DocumentText, Section

_LENGTHS = struct.Struct(">QQ")


def send(stream: IO[bytes], header: dict[str, Any], body: bytes = b"") -> None:
    """Write one message and flush."""
    packed = json.dumps(header, separators=(",", ":")).encode()
    stream.write(_LENGTHS.pack(len(packed), len(body)) + packed)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read one message; EOFError when the other side ended before or within it."""
    header, body = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    content = json.loads(_exactly(stream, header))
    return content, _exactly(stream, body)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the other side of the pipe has gone")
    return data


def pack(document: DocumentText) -> tuple[dict[str, Any], bytes]:
    """A document as header and body."""
    sections = [(s.start, s.end, s.heading, s.page, s.place) for s in document.sections]
    header = {"media_type": document.media_type, "title": document.title, "pages": document.pages, "sections": sections}
    return header, document.text.encode()


def unpack(header: dict[str, Any], body: bytes) -> DocumentText:
    """The document that `pack` was given."""
    text = body.decode()
    sections = tuple(Section(text[start:end], start, end, *rest) for start, end, *rest in header["sections"])
    return DocumentText(text, sections, header["media_type"], header["title"], header["pages"])
