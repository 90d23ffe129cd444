"""Columns of an Arrow table out of Python's values, laid out byte by byte: `pyarrow.array` loads
pandas, which takes a third of a second in each process.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def texts(values: Sequence[str | None]) -> pyarrow.Array:
    """A column of texts; raises UnicodeEncodeError for half surrogate pairs."""
    import pyarrow

    encoded = [(value or "").encode() for value in values]
    ends = _ends(list(map(len, encoded)))
    buffers = [_present(values), pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(encoded))]
    return pyarrow.Array.from_buffers(pyarrow.large_string(), len(values), buffers)


def whole_numbers(values: Sequence[int | None]) -> pyarrow.Array:
    """A column of whole numbers of at most 64 bits."""
    import numpy as np
    import pyarrow

    known = np.array([value or 0 for value in values], dtype=np.int64)
    return _make_fixed(pyarrow.int64(), values, known)


def numbers(values: Sequence[float]) -> pyarrow.Array:
    """A column of numbers."""
    import numpy as np
    import pyarrow

    return _make_fixed(pyarrow.float64(), values, np.array(values, dtype=np.float64))


def times(values: Sequence[datetime]) -> pyarrow.Array:
    """A column of times without a zone, which are UTC."""
    import numpy as np
    import pyarrow

    since = [(value.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND for value in values]
    return _make_fixed(pyarrow.timestamp("us"), values, np.array(since, dtype=np.int64))


def truths(values: np.ndarray) -> pyarrow.Array:
    """A column of what is true and what is not."""
    import numpy as np
    import pyarrow

    bits = pyarrow.py_buffer(np.packbits(values, bitorder="little"))
    return pyarrow.Array.from_buffers(pyarrow.bool_(), len(values), [None, bits])


def lists_of_texts(values: Sequence[Sequence[str]]) -> pyarrow.Array:
    """A column of lists of texts."""
    import pyarrow

    inside = texts([text for value in values for text in value])
    return _lists(pyarrow.large_string(), list(map(len, values)), inside)


def vectors(rows: np.ndarray) -> pyarrow.Array:
    """A column of vectors: the rows of a matrix (n, dimension), as float32."""
    import numpy as np
    import pyarrow

    flat = np.ascontiguousarray(rows, dtype=np.float32).ravel()
    inside = _make_fixed(pyarrow.float32(), (), flat)
    return _lists(pyarrow.float32(), [rows.shape[1]] * len(rows), inside)


def _make_fixed(kind: pyarrow.DataType, values: Sequence[Any], known: np.ndarray) -> pyarrow.Array:
    import pyarrow

    buffers = [_present(values), pyarrow.py_buffer(known)]
    return pyarrow.Array.from_buffers(kind, len(known), buffers)


def _lists(kind: pyarrow.DataType, lengths: Sequence[int], inside: pyarrow.Array) -> pyarrow.Array:
    import pyarrow

    buffers = [None, pyarrow.py_buffer(_ends(lengths))]
    return pyarrow.Array.from_buffers(
        pyarrow.large_list(kind), len(lengths), buffers, children=[inside]
    )


def _ends(lengths: Sequence[int]) -> np.ndarray:
    """Where each begins, and where the last one ends."""
    import numpy as np

    return np.cumsum([0, *lengths], dtype=np.int64)


def _present(values: Sequence[Any]) -> pyarrow.Buffer | None:
    """A bit for each value, whether it is one; None when all are."""
    import numpy as np
    import pyarrow

    if None not in values:
        return None
    present = np.array([value is not None for value in values])
    return pyarrow.py_buffer(np.packbits(present, bitorder="little"))
