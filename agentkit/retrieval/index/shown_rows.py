"""What hits show of chunks, in an Arrow file that is mapped: ten rows by id in a tenth of a ms.

DuckDB takes some milliseconds for that, longer than the search itself. A cache: the file's name has
the number of the last change in it and its checksum; what came later is held in memory. It catches
up with the database, and is made anew when it is missing, damaged, or of another history.
"""

from __future__ import annotations

import logging
import mmap
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agentkit import private
from agentkit.core.given import list_missing
from agentkit.database import columns, to_array
from agentkit.retrieval.index.index_files import FAR, FAR_SHARE, checksum, publish
from agentkit.retrieval.store.chunk_table import ChunkTable, IndexRow
from agentkit.retrieval.types import IndexVersion

if TYPE_CHECKING:
    import numpy as np
    import pyarrow

log = logging.getLogger(__name__)

_NAME = re.compile(r"passages-(\d+)-([0-9a-f]{8})\.arrow")
_TEMPORARY = "passages.tmp"
_SLICE = 10_000
_MOST_PARTS = 64
"""So many parts that came one after the other stay apart in memory."""
_NEWEST = 64
"""Rows that are compared with the database's when the file is opened."""


@dataclass(frozen=True, slots=True)
class _Held:
    """The rows at one moment, never changed in place: who reads them waits for nobody."""

    parts: Sequence[pyarrow.RecordBatch]
    columns: Sequence[Mapping[str, pyarrow.Array]]
    """Of each part by name."""
    ends: np.ndarray
    """Rows up to the end of each part."""
    ids: np.ndarray
    """Of all rows, rising, removed ones included."""
    removed: frozenset[int]

    def get(self, ids: Sequence[int]) -> dict[int, IndexRow]:
        """Those of the rows that are there."""
        import numpy as np

        wanted = np.array(list_missing(ids, self.removed), dtype=np.int64)
        at = np.searchsorted(self.ids, wanted)
        at, wanted = at[at < len(self.ids)], wanted[at < len(self.ids)]
        at = at[self.ids[at] == wanted]
        parts = np.searchsorted(self.ends, at, side="right")
        places = zip(parts.tolist(), (at - self.ends[parts]).tolist(), strict=True)
        # Arrow's `take` would put the parts together first. The places are from a part's end.
        rows = [
            {name: column[place].as_py() for name, column in self.columns[part].items()}
            for part, place in places
        ]
        return {row["id"]: cast(IndexRow, row) for row in rows}


class ShownRows:
    """The rows of one version by chunk id; share it between threads.

    Who reads them does not wait while others are read from the database or written.
    """

    def __init__(self, chunks: ChunkTable, version: IndexVersion, folder: Path) -> None:
        self._chunks, self._version, self._folder = chunks, version, folder
        self._lock = threading.RLock()
        self.problem = ""
        """Why the file could not be written the last time; empty when all is well."""
        self.change = 0
        """The number of the last change that is contained."""
        self.saved = 0
        """The number of the last change that is in the file."""
        self._held: _Held
        self._begin_anew()
        if (file := self._find_file()) and (found := _read(file)) is not None:
            self._rest_on(file, *found)
            if not self._is_of_this_history():
                self._begin_anew()

    def ids(self) -> set[int]:
        """The ids of all rows, for checks."""
        held = self._held
        return set(held.ids.tolist()) - held.removed

    def get(self, ids: Sequence[int]) -> dict[int, IndexRow]:
        """Those of the rows that are there."""
        return self._held.get(ids)

    def refresh(self, until: int) -> None:
        """Take in what changed in the database up to that number."""
        with self._lock:
            if self.change:
                gone = self._chunks.read_removed(self._version, self.change, until)
                self._held = replace(self._held, removed=self._held.removed.union(gone))
            is_more = True
            while is_more:
                more = self._chunks.read_added_passages(self._version, self.change, until, _SLICE)
                if not more.num_rows:
                    break
                is_more = more.num_rows == _SLICE
                self._append(more)
                if len(self._held.ids) - self._written > max(FAR, FAR_SHARE * self._written):
                    self.save()
            self.change = until

    def save(self) -> None:
        """Write the file, if anything changed. Where that fails the old one stays.

        That is logged and said in `problem`.
        """
        with self._lock:
            if self.change > self.saved:
                try:
                    self._write()
                except OSError as error:
                    self.problem = f"What hits show could not be saved in {self._folder} ({error})."
                    log.warning("%s It is read from the database at the next start.", self.problem)
                    return
            self.problem = ""

    def mend(self) -> None:
        """Read all of the file, and begin anew if it is damaged."""
        with self._lock:
            file = self._find_file()
            if self.saved and not (file and _is_whole(file)):
                self._begin_anew()

    def _begin_anew(self) -> None:
        self.change = self.saved = 0
        self._schema = self._chunks.read_added_passages(self._version, 0, 0, 0).schema
        self._mapped: mmap.mmap | None = None
        self._written: int = 0
        """So many of the rows are in the file."""
        self._held = self._hold([], frozenset())

    def _rest_on(self, file: Path, found: pyarrow.Table, mapped: mmap.mmap) -> None:
        if found.schema == self._schema:
            self._mapped = mapped
            self._written = found.num_rows
            self.change = self.saved = _change_of(file)
            self._held = self._hold(found.to_batches(), frozenset())
            self._release_pages()

    def _is_of_this_history(self) -> bool:
        """Whether the database has what the file says.

        It has not when it was put back to an older state.
        """
        last = self._chunks.last_change(self._version)
        if self.change > last:
            return False
        gone = self._chunks.read_removed(self._version, self.change, last)
        newest = sorted(self.ids() - set(gone))[-_NEWEST:]
        return self._chunks.passages(self._version, newest) == self.get(newest)

    def _hold(self, parts: Sequence[pyarrow.RecordBatch], removed: frozenset[int]) -> _Held:
        """These rows, whose ids rise."""
        import numpy as np

        columns = [dict(zip(self._schema.names, part.columns, strict=True)) for part in parts]
        ends = np.cumsum([part.num_rows for part in parts], dtype=np.int64)
        ids = [to_array(part.column("id")) for part in parts]
        return _Held(
            parts, columns, ends, np.concatenate([np.empty(0, dtype=np.int64), *ids]), removed
        )

    def _append(self, more: pyarrow.Table) -> None:
        import pyarrow

        held = self._held
        written = int((held.ends <= self._written).sum())
        later = pyarrow.Table.from_batches([*held.parts[written:], *more.to_batches()])
        if later.column("id").num_chunks > _MOST_PARTS:
            later = later.combine_chunks()
        parts = [*held.parts[:written], *later.to_batches()]
        self._held = self._hold(parts, held.removed)
        self.change = int(self._held.ids[-1])

    def _write(self) -> None:
        import numpy as np
        import pyarrow

        held = self._held
        removed = np.array(sorted(held.removed), dtype=np.int64)
        temporary = self._folder / _TEMPORARY
        private.make_folder(self._folder)
        try:
            with (
                open(temporary, "wb", opener=private.opener) as file,
                pyarrow.ipc.new_file(file, self._schema) as writer,
            ):
                rows = pyarrow.Table.from_batches(held.parts, self._schema)
                for start in range(0, len(held.ids), _SLICE):
                    stays = np.isin(held.ids[start : start + _SLICE], removed, invert=True)
                    some = rows.slice(start, _SLICE)
                    if not stays.all():
                        some = some.filter(columns.truths(stays))
                    writer.write_table(some.combine_chunks())
                    self._release_pages()
            name = f"passages-{self.change}-{checksum(temporary):08x}.arrow"
            publish(temporary, self._folder / name)
        finally:
            temporary.unlink(missing_ok=True)
        for old in self._folder.glob("passages-*"):
            if old.name != name:
                old.unlink(missing_ok=True)
        self._rest_on(self._folder / name, *_map(self._folder / name))

    def _release_pages(self) -> None:
        """Let the system have what was read of the file: all of it would count as memory."""
        if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def _find_file(self) -> Path | None:
        files = [file for file in self._folder.glob("passages-*") if _NAME.fullmatch(file.name)]
        return max(files, key=_change_of, default=None)


def _change_of(file: Path) -> int:
    """The number in the file's name."""
    return int(file.name.split("-")[1])


def _is_whole(file: Path) -> bool:
    """Whether what is in the file is what was written."""
    with suppress(OSError):
        return f"{checksum(file):08x}" == file.stem.rpartition("-")[2]
    return False


def _map(file: Path) -> tuple[pyarrow.Table, mmap.mmap]:
    """The file's rows, and the file in which they are mapped."""
    import pyarrow

    with file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    return pyarrow.ipc.open_file(pyarrow.py_buffer(mapped)).read_all(), mapped


def _read(file: Path) -> tuple[pyarrow.Table, mmap.mmap] | None:
    """See `_map`; None when it is damaged."""
    import pyarrow

    with suppress(OSError, ValueError, pyarrow.ArrowException):
        return _map(file) if _is_whole(file) else None
    return None
