"""What a model server sends, as it comes: bytes to JSON values and events, none without an end."""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from agentkit.core.given import is_list_of
from agentkit.core.lenient import find_below
from agentkit.errors import BadModelReply
from agentkit.llm.calls.failures import read_told_error, redact

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
        given = redact(_shown.repr(value), self.key)
        return BadModelReply(
            f"{self.server} sent {given} as {what} of its reply with the model {self.model}; "
            "ask again, or choose another model."
        )

    def read_object(self, value: object, what: str) -> Mapping[str, Any]:
        """The value, which must be an object; raises BadModelReply for anything else."""
        if not isinstance(value, Mapping):
            raise self.refuse(value, what)
        return value

    def read_part(self, parent: Mapping[str, object], key: str, what: str) -> Mapping[str, Any]:
        """The object under a key, empty for null; raises BadModelReply for anything else."""
        value = parent.get(key)
        if value is None:
            return {}
        return self.read_object(value, what)

    def read_list(
        self, parent: Mapping[str, object], key: str, what: str
    ) -> list[Mapping[str, Any]]:
        """The objects in the list under a key, none for null; raises BadModelReply for others."""
        value = parent.get(key)
        if value is None:
            return []
        if not is_list_of(value, Mapping):
            raise self.refuse(value, what)
        return value

    def check_error(self, value: object) -> None:
        """Raise what the server tells as `error` in place of a reply, or of a piece of one."""
        if error := find_below(value, "error"):
            raise read_told_error(error, self.server, self.model, self.key)

    def too_large(self, what: str) -> BadModelReply:
        """The error for a reply that has no end; `what` says which limit it went beyond."""
        return BadModelReply(
            f"{self.server} sent {what} with the model {self.model}, and the rest was not read; "
            "ask for less, or choose another model."
        )


def parse_json(data: bytes, sender: Sender) -> Any:
    """The JSON value in `data`; all of it can be stored. Raises BadModelReply for other bytes."""
    try:
        return _to_storable(json.loads(data), 0)
    except RecursionError:
        why = f"it nests deeper than {_DEEPEST} levels"
    except ValueError as error:  # also a number of thousands of digits, and bytes of no encoding
        why = str(error)
    raise BadModelReply(
        f"{sender.server} sent something that is not JSON ({why}); "
        "check that it is an OpenAI-compatible address."
    )


def _to_storable(value: object, depth: int) -> Any:
    """A copy without halves of characters, endless numbers, and names that Python keeps to
    itself.
    """
    if depth > _DEEPEST:
        raise RecursionError
    return _COPIES.get(type(value), _copy_as_it_is)(value, depth + 1)


def _copy_text(text: str, depth: int) -> str:
    return _LONE.sub("\ufffd", text)


def _copy_number(number: float, depth: int) -> float | None:
    if math.isfinite(number):
        return number
    return None


def _copy_list(values: list[object], depth: int) -> list[object]:
    return list(map(_to_storable, values, repeat(depth)))


def _copy_object(values: Mapping[str, object], depth: int) -> dict[str, object]:
    return {
        _copy_text(key, depth): _to_storable(value, depth)
        for key, value in values.items()
        if not key.startswith("_")
    }


def _copy_as_it_is(value: object, depth: int) -> object:
    return value


_COPIES: Mapping[type, Callable[[Any, int], object]] = {
    str: _copy_text,
    float: _copy_number,
    list: _copy_list,
    dict: _copy_object,
}
"""By the types that JSON is read as."""


def read_value(pieces: Iterable[bytes], sender: Sender) -> Any:
    """The JSON value of a reply that comes in one piece; raises BadModelReply for other bytes."""
    return parse_json(_read_body(pieces, sender), sender)


def _read_body(pieces: Iterable[bytes], sender: Sender) -> bytes:
    """All of a reply in one piece; raises BadModelReply as soon as it is too large."""
    return b"".join(_check_size(pieces, LARGEST_BODY, "more than", sender))


def read_events(pieces: Iterable[bytes], sender: Sender) -> Iterator[tuple[bytes, bool]]:
    """The data of each event of a stream, and whether its end has come, as not always of the last.

    Raises BadModelReply as soon as an event or the stream is too large.
    """
    data: list[bytes] = []
    size = 0
    bounded = _check_size(pieces, LARGEST_STREAM, "a stream of more than", sender)
    for line in _split_lines(bounded, sender):
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


def _check_size(pieces: Iterable[bytes], most: int, what: str, sender: Sender) -> Iterator[bytes]:
    """The pieces as they come, until they have more than so many bytes."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise sender.too_large(f"{what} {most // 1_000_000} MB")
        yield piece


def _split_lines(pieces: Iterable[bytes], sender: Sender) -> Iterator[bytes]:
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
