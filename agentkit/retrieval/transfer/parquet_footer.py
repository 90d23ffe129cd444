"""Whether the footer of a Parquet file can be looked at: pyarrow ends its process for some that are damaged.

An exception of its C++ part, such as one about statistics that do not fit, is not caught where
columns of the footer are asked for. So another process looks first.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import BinaryIO

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


def can_be_looked_at(file: BinaryIO) -> bool:
    """Whether the columns in the footer can be asked for; raises ValueError for what ends in no footer."""
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
