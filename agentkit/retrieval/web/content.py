"""The content of a reply, unpacked: whole, or refused; within a limit, and in linear time."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentkit.core.given import list_missing

_BLOCK = 1 << 16


class NotWhole(Exception):
    """The packed content breaks off or is damaged; the text says how."""


class TooLarge(Exception):
    """There is more than the limit."""


class UnknownPacking(Exception):
    """The content is packed in a way that was not asked for; the text is its name."""


def unpack(blocks: Iterable[bytes], packing: str, most: int) -> Iterator[bytes]:
    """The content of a body with this Content-Encoding, at most so many bytes of it, in blocks.

    All members of gzip are read, and deflate is understood as it is sent: in zlib's frame or bare.
    Raises NotWhole, TooLarge, UnknownPacking, and what the blocks raise.
    """
    kinds = map(str.strip, packing.lower().split(","))
    match list_missing(kinds, _PLAIN):
        case []:
            yield from _limit(blocks, most)
        case [kind] if kind in _UNPACKERS:
            # Packing adds little to what cannot be made smaller, and parts that hold nothing must
            # end.
            received = _limit(blocks, most + most // 256 + 4_096)
            yield from _limit(_UNPACKERS[kind](received), most)
        case _:
            raise UnknownPacking(packing)


def _limit(blocks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The same blocks; raises TooLarge when they are more than so many bytes."""
    size = 0
    for block in blocks:
        size += len(block)
        if size > most:
            raise TooLarge
        yield block


def _gunzip(blocks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=io.BufferedReader(_Source(blocks)), mode="rb") as opened:
            while piece := opened.read(_BLOCK):
                yield piece
    except EOFError as error:
        raise NotWhole("the end of the gzip data is missing") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise NotWhole(f"its gzip data is damaged: {error}") from error


def _inflate(blocks: Iterator[bytes]) -> Iterator[bytes]:
    source = io.BufferedReader(_Source(blocks))
    packed = source.read(_BLOCK)
    if not packed:
        return
    bits = -zlib.MAX_WBITS
    if _in_zlib_frame(packed):
        bits = zlib.MAX_WBITS
    unpacker = zlib.decompressobj(bits)
    try:
        while packed and not unpacker.eof:
            yield unpacker.decompress(packed, _BLOCK)
            packed = unpacker.unconsumed_tail or source.read(_BLOCK)
        yield unpacker.flush()
    except zlib.error as error:
        raise NotWhole(f"its deflate data is damaged: {error}") from error
    if not unpacker.eof:
        raise NotWhole("the end of the deflate data is missing")
    rest = unpacker.unused_data + packed
    if rest:
        raise NotWhole("something follows the end of the deflate data")


def _in_zlib_frame(packed: bytes) -> bool:
    """Whether a zlib header begins it (RFC 1950); no bare deflate begins with the same bytes."""
    return packed[0] & 0x0F == 8 and int.from_bytes(packed[:2], "big") % 31 == 0


class _Source(io.RawIOBase):
    """Blocks as a file to read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._rest = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


_PLAIN = frozenset({"", "identity"})
_UNPACKERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
}
