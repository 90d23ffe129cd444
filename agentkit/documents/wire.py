"""What goes over the pipe between the jail and its child: a JSON header and a body of bytes, both
with their lengths in front.

No pickle: a child that a hostile file has taken over can only answer with text, which is checked.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping
from operator import attrgetter
from typing import IO, Any

from agentkit.documents.decoding import clean
from agentkit.documents.document import DocumentText, Section

_LENGTHS = struct.Struct(">QQ")


def send(stream: IO[bytes], header: Mapping[str, object], body: bytes = b"") -> None:
    """Write one message and flush."""
    packed = json.dumps(header, separators=(",", ":")).encode()
    stream.write(_LENGTHS.pack(len(packed), len(body)) + packed)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes], most: int = sys.maxsize) -> tuple[dict[str, Any], bytes]:
    """Read one message. EOFError when the other side ended before or within it, ValueError when it
    is of another form.

    `most` bytes of header, and of body, are taken.
    """
    header, body = _LENGTHS.unpack(_read_exactly(stream, _LENGTHS.size))
    if max(header, body) > most:
        raise ValueError(f"a message of {header:,} and {body:,} bytes is more than {most:,}")
    try:
        content = json.loads(_read_exactly(stream, header))
    except RecursionError as error:
        raise ValueError("a header is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError("a message begins with an object")
    return content, _read_exactly(stream, body)


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the other side of the pipe has gone")
    return data


def pack(document: DocumentText) -> tuple[dict[str, Any], bytes]:
    """A document as header and body."""
    sections = list(map(attrgetter("start", "end", "heading", "page", "place"), document.sections))
    header = {
        "media_type": document.media_type,
        "title": document.title,
        "pages": document.pages,
        "sections": sections,
    }
    return header, document.text.encode()


def unpack(header: dict[str, Any], body: bytes) -> DocumentText:
    """The document that `pack` was given; ValueError for anything else."""
    text = _read_text(body.decode())
    try:
        sections = tuple(_read_section(text, *values) for values in header["sections"])
        media_type, title, pages = (
            _read_text(header["media_type"]),
            _read_text(header["title"]),
            _read_number(header["pages"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("this is not a document") from error
    return DocumentText(text, sections, media_type, title, pages)


def _read_section(
    text: str, start: object, end: object, heading: object, page: object, place: object
) -> Section:
    begin, finish = _read_whole(start), _read_whole(end)
    if not 0 <= begin <= finish <= len(text):
        raise ValueError(f"{start!r}-{end!r} is not a span of {len(text):,} characters")
    return Section(
        text[begin:finish],
        begin,
        finish,
        _read_text(heading),
        _read_number(page),
        _read_text(place),
    )


def _read_text(value: object) -> str:
    if not isinstance(value, str) or clean(value) != value:
        raise ValueError("this is not a cleaned text")
    return value


def _read_number(value: object) -> int | None:
    if value is None:
        return None
    return _read_whole(value)


def _read_whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a number")
    return value
