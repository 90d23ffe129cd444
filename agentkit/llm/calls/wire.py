"""What a model server sends, as it comes: bytes to JSON values and events, none without an end."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentkit.errors import BadModelReply, ModelError
from agentkit.llm.calls.failures import redacted, told_by_server

LARGEST_BODY = 32_000_000
"""Bytes of a reply that comes in one piece, or of one event of a stream."""
LARGEST_STREAM = 300_000_000
"""Bytes of a whole stream: every few letters come with some hundred bytes around them."""
_DEEPEST = (
    60  # levels of a JSON value; what nests deeper can be neither copied nor stored everywhere
)
_LONE = re.compile("[\ud800-\udfff]")  # halves of a character, which no UTF-8 can hold
_shown = reprlib.Repr()  # what was sent, in short: it may be anything of any size
_shown.maxlevel, _shown.maxstring, _shown.maxother, _shown.maxlong = 2, 100, 100, 40


@dataclass(frozen=True, slots=True)
class Sender:
    """The server that is asked, for what is told about what it sends."""

    server: str
    """Its address, as people may see it."""
    model: str
    key: str = field(default="", repr=False)
    """Left out wherever the server is quoted."""

    def refuse(self, value: object, what: str) -> BadModelReply:
        """The error for a value that cannot be what stands there."""
        given = redacted(_shown.repr(value), self.key)
        return BadModelReply(
            f"{self.server} sent {given} as {what} of its reply with the model {self.model}; "
            "ask again, or choose another model."
        )

    def too_large(self, what: str) -> BadModelReply:
        """The error for a reply that has no end; `what` says which limit it went beyond."""
        return BadModelReply(
            f"{self.server} sent {what} with the model {self.model}, and the rest was not read; "
            "ask for less, or choose another model."
        )

    def problem(self, error: object) -> ModelError:
        """The error that the server tells in place of a reply."""
        return told_by_server(error, self.server, self.model, self.key)


def decoded(data: bytes | bytearray, sender: Sender) -> Any:
    """The JSON value in `data`; all of it can be stored. Raises BadModelReply for what is none."""
    try:
        return _storable(json.loads(data), 0)
    except RecursionError:
        why = f"it nests deeper than {_DEEPEST} levels"
    except ValueError as error:  # also a number of thousands of digits, and bytes that are no text
        why = str(error)
    raise BadModelReply(
        f"{sender.server} sent something that is not JSON ({why}); "
        "check that it is an OpenAI-compatible address."
    )


def _storable(value: object, depth: int) -> Any:
    """A copy without halves of characters, endless numbers, and names that Python keeps to
    itself.
    """
    if depth > _DEEPEST:
        raise RecursionError
    match value:
        case str():
            return _LONE.sub("\ufffd", value)
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_storable(each, depth + 1) for each in value]
        case dict():
            kept = {
                _LONE.sub("\ufffd", key): each
                for key, each in value.items()
                if not key.startswith("_")
            }
            return {key: _storable(each, depth + 1) for key, each in kept.items()}
        case _:
            return value


def body(pieces: Iterable[bytes], sender: Sender) -> bytearray:
    """All of a reply in one piece; raises BadModelReply as soon as it is too large."""
    whole = bytearray()
    for piece in pieces:
        whole += piece
        if len(whole) > LARGEST_BODY:
            raise sender.too_large(f"more than {LARGEST_BODY // 1_000_000} MB")
    return whole


def events(pieces: Iterable[bytes], sender: Sender) -> Iterator[tuple[bytes, bool]]:
    """The data of each event of a stream, and whether its end has come, as not always of the last.

    Raises BadModelReply as soon as an event or the stream is too large.
    """
    data: list[bytes] = []
    size = 0
    for line in _lines(_counted(pieces, sender), sender):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
            size += len(line)
            if size > LARGEST_BODY:
                raise sender.too_large(f"an event of more than {LARGEST_BODY // 1_000_000} MB")
        elif not line and data:
            yield b"\n".join(data), True
            data, size = [], 0
    if data:
        yield b"\n".join(data), False


def _counted(pieces: Iterable[bytes], sender: Sender) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > LARGEST_STREAM:
            raise sender.too_large(f"a stream of more than {LARGEST_STREAM // 1_000_000} MB")
        yield piece


def _lines(pieces: Iterable[bytes], sender: Sender) -> Iterator[bytes]:
    held = bytearray()
    for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for part in ended:
            held += part
            yield bytes(held).rstrip(b"\r")
            held.clear()
        held += rest
        if len(held) > LARGEST_BODY:
            raise sender.too_large(f"an event of more than {LARGEST_BODY // 1_000_000} MB")
    if held:
        yield bytes(held).rstrip(b"\r")
