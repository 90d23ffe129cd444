"""What is looked at before pyarrow reads a Parquet file: its footer, and the pages of its columns.

For some damaged footers pyarrow ends its process: an exception of its C++ part, such as one about
statistics that do not fit, is not caught where columns of the footer are asked for. So another
process looks first.

Pages say how they are coded and what they unpack to. A file's footer says so too, but a reader
unpacks by what stands before each page, and whoever forges a file can let the footer say something
else. So this is what counts before a page is read.

The headers are Thrift structs in the compact protocol:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_LONGEST_HEADER = 1_024
_DATA_PAGE = 0
_PLAIN, _RLE = 0, 3
_DEEPEST, _LAST_FIELD, _LARGEST = 4, 100, 2**31
"""Beyond them readers may take another number for the same bytes."""


class OddPage(ValueError):
    """A page that no exporter of ours writes; the text says what is odd."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of plain values, with levels in runs."""

    unpacked: int
    """Bytes of the values and levels in memory."""
    values: int
    """Nulls and empty lists are counted."""


def pages(file: BinaryIO, start: int, size: int) -> Iterator[Page]:
    """The pages that stand in so many bytes of the file from `start` on. Raises OddPage."""
    place, end = start, start + size
    while place < end:
        file.seek(place)
        header = _Header(file.read(min(_LONGEST_HEADER, end - place)))
        fields = header.struct()
        data = _struct(fields, 5)
        coded = [_number(fields, 1), *(_number(data, each) for each in (2, 3, 4))]
        if coded != [_DATA_PAGE, _PLAIN, _RLE, _RLE]:
            raise OddPage("a page is not coded in the plain way")
        unpacked, packed, values = _number(fields, 2), _number(fields, 3), _number(data, 1)
        sizes = sorted((unpacked, packed, values))
        if sizes[0] < 0 or sizes[-1] >= _LARGEST:
            raise OddPage("a page has an impossible size")
        yield Page(unpacked, values)
        place += header.place + packed
    if place != end:
        raise OddPage("a page goes on beyond its column")


Field = int | bytes | dict[int, "Field"]


class _Header:
    """A Thrift struct of numbers, bytes and structs, read from the beginning of some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0
        """Behind what was read."""

    def struct(self, depth: int = 0) -> dict[int, Field]:
        """Its fields by number."""
        if depth > _DEEPEST:
            raise OddPage("the header of a page is nested too deep")
        fields: dict[int, Field] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            if not 0 < number <= _LAST_FIELD:
                raise OddPage(f"the header of a page has a field {number}")
            fields[number] = self._value(head & 0x0F, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Field:
        match kind:
            case 1 | 2:  # true, false
                return 2 - kind
            case 4 | 5 | 6:  # numbers of 16, 32 and 64 bits
                return self._zigzag()
            case 8:
                return self._bytes()
            case 12:
                return self.struct(depth + 1)
        raise OddPage(f"the header of a page has a field of kind {kind}")

    def _byte(self) -> int:
        if self.place >= len(self._data):
            raise OddPage("the header of a page is cut")
        self.place += 1
        return self._data[self.place - 1]

    def _bytes(self) -> bytes:
        size = self._varint()
        self.place += size
        return self._data[self.place - size : self.place]

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7

    def _zigzag(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)


def _struct(fields: dict[int, Field], number: int) -> dict[int, Field]:
    found = fields.get(number)
    if not isinstance(found, dict):
        raise OddPage("a page does not hold values")
    return found


def _number(fields: dict[int, Field], number: int) -> int:
    found = fields.get(number)
    if not isinstance(found, int):
        raise OddPage("the header of a page lacks a number")
    return found


_LOOK = """
import io, sys
import pyarrow.parquet
footer = pyarrow.parquet.read_metadata(io.BytesIO(sys.stdin.buffer.read()))
for number in range(footer.num_row_groups):
    group = footer.row_group(number)
    for column in range(group.num_columns):
        group.column(column).to_dict()
"""
_MAGIC = b"PAR1"
_TIMEOUT_S = 120.0


def is_readable(file: BinaryIO) -> bool:
    """Whether the columns in the footer can be asked for; raises ValueError for what ends in no
    footer.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > size - 8:
        raise ValueError("it does not end like a Parquet file")
    file.seek(size - 8 - length)
    return _survives(file.read(length + 8))


@functools.lru_cache(maxsize=4)
def _survives(footer: bytes) -> bool:
    command = [sys.executable, "-P", "-W", "ignore", "-c", _LOOK]
    try:
        ended = subprocess.run(
            command,
            input=_MAGIC + footer,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0
