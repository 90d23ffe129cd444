"""The owners' views as files without names, made when they are first asked for and kept until the
database changes; of each there are the columns that were asked for.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from agentkit import private
from agentkit.database.asked import ROW
from agentkit.errors import StoreError
from agentkit.workspace.usage_sql.views import VIEWS

if TYPE_CHECKING:
    import pyarrow

    from agentkit.database import Database

_OWNERS = 4
"""So many owners' views are kept at a time."""
MOST_KEPT = 50_000_000
"""Bytes that are kept of an owner's views; more are let go of as soon as they were handed over."""
_SEEN_TIMES = 4
"""How often a text stands in a batch on average for it to be worth a number."""
_NONE: frozenset[str] = frozenset()
_TOLD_APART = {f"rows of {name}": view.with_rows() for name, view in VIEWS.items() if view.row}
_KEPT = {**VIEWS, **_TOLD_APART}


@dataclass(slots=True)
class _OfOwner:
    """What there is of one owner's views, and of which state of the database."""

    changes: int = -1
    files: dict[str, BinaryIO] = field(default_factory=dict)
    columns: dict[str, frozenset[str]] = field(default_factory=dict)

    def drop(self) -> None:
        """Close the files; who reads one at the moment goes on."""
        for file in self.files.values():
            file.close()
        self.files, self.columns = {}, {}

    def bytes(self) -> int:
        """How large the files are."""
        return sum(os.fstat(file.fileno()).st_size for file in self.files.values())

    def has(self, wanted: Mapping[str, Collection[str]]) -> bool:
        """Whether all these columns of these views are there."""
        return all(self.columns.get(name, _NONE).issuperset(wanted[name]) for name in wanted)

    def with_kept(self, wanted: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
        """These columns, and those that are there."""
        names = sorted({*self.columns, *wanted})
        return {name: self.columns.get(name, _NONE).union(wanted.get(name, ())) for name in names}


class KeptViews:
    """Gives the views as files; share it between threads."""

    def __init__(self, database: Database, most_bytes: int = MOST_KEPT) -> None:
        self._database, self._most_bytes = database, most_bytes
        self._folder = database.path.parent / "exports"
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, _OfOwner] = OrderedDict()

    def open_views(
        self, owner: str, wanted: Mapping[str, Collection[str]], stack: ExitStack
    ) -> dict[str, BinaryIO]:
        """The views of these names with at least these columns, as streams of Arrow, all of the
        same moment; they are closed with the stack.

        Raises StoreError.
        """
        with self._lock:
            kept = self._find(owner)
            if not kept.has(wanted):
                # What is there may be older than what is made now.
                columns = kept.with_kept(wanted)
                kept.drop()
                kept.changes, kept.files = self._make(owner, columns)
                kept.columns = columns
            opened = {name: stack.enter_context(_duplicate(kept.files[name])) for name in wanted}
            if kept.bytes() > self._most_bytes:
                kept.drop()
            return opened

    def open_rows(
        self, owner: str, name: str, columns: Sequence[str], stack: ExitStack
    ) -> BinaryIO:
        """The same of one view with these columns alone and the numbers of its rows."""
        key = f"rows of {name}"
        return self.open_views(owner, {key: [*columns, ROW]}, stack)[key]

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            for kept in self._owners.values():
                kept.drop()
            self._owners.clear()

    def bytes(self) -> int:
        """How large all files are."""
        with self._lock:
            return sum(kept.bytes() for kept in self._owners.values())

    def _find(self, owner: str) -> _OfOwner:
        kept = self._owners.setdefault(owner, _OfOwner())
        self._owners.move_to_end(owner)
        if len(self._owners) > _OWNERS:
            self._owners.popitem(last=False)[1].drop()
        if kept.changes != self._database.changes:
            kept.drop()
        return kept

    def _make(
        self, owner: str, wanted: Mapping[str, Collection[str]]
    ) -> tuple[int, dict[str, BinaryIO]]:
        """The views as they are now, and after how many changes that is."""
        changes = self._database.changes
        statements = {
            name: (_KEPT[name].select(columns), [owner]) for name, columns in wanted.items()
        }
        try:
            return changes, self._database.read_together(statements, self._write)
        except OSError as error:
            raise _cannot_write(self._folder, error) from error

    def _write(self, batches: pyarrow.RecordBatchReader) -> BinaryIO:
        file = open_nameless(self._folder)
        write_narrow(batches, file)
        file.flush()
        return file


def write_narrow(batches: pyarrow.RecordBatchReader, file: BinaryIO) -> None:
    """Write a stream of Arrow in which texts that come again and again stand once a batch."""
    import pyarrow

    first = next(batches, None)
    if first is None:
        pyarrow.ipc.new_stream(file, batches.schema).close()
        return
    repeated = _find_repeated(first)
    told = _narrow(first, repeated)
    with pyarrow.ipc.new_stream(file, told.schema) as writer:
        writer.write_batch(told)
        for batch in batches:
            writer.write_batch(_narrow(batch, repeated))


def _find_repeated(batch: pyarrow.RecordBatch) -> list[int]:
    """The columns whose texts are mostly the same ones."""
    import pyarrow

    texts = [n for n, field in enumerate(batch.schema) if pyarrow.types.is_string(field.type)]
    most = len(batch) / _SEEN_TIMES
    return [n for n in texts if len(batch.column(n).unique()) <= most]


def _narrow(batch: pyarrow.RecordBatch, repeated: Iterable[int]) -> pyarrow.RecordBatch:
    """The batch with numbers of texts in place of these texts."""
    import pyarrow

    columns = list(batch.columns)
    for n in repeated:
        told = columns[n].dictionary_encode()
        # A batch has no more rows than such numbers can tell apart.
        numbers = told.indices.cast(pyarrow.uint16())
        columns[n] = pyarrow.DictionaryArray.from_arrays(numbers, told.dictionary)
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def open_nameless(folder: Path) -> BinaryIO:
    """A new private file without a name, to be written and read; it is gone when it is closed.

    Raises StoreError.
    """
    try:
        private.make_folder(folder)
        descriptor, name = tempfile.mkstemp(dir=folder)
        os.unlink(name)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return os.fdopen(descriptor, "w+b")


def _cannot_write(folder: Path, error: OSError) -> StoreError:
    why = f"Nothing can be written in {folder} ({error.strerror})"
    return StoreError(f"{why}; make room there, or let this user write there.")


def _duplicate(file: BinaryIO) -> BinaryIO:
    """The same file once more: what is kept may be closed while somebody still reads."""
    return os.fdopen(os.dup(file.fileno()), "rb")
