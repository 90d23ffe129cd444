"""The owners' views as Arrow files without names, made when they are first asked for and kept until
the database changes.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from agentkit import private
from agentkit.core.given import list_missing
from agentkit.errors import StoreError
from agentkit.workspace.usage_sql.views import VIEWS

if TYPE_CHECKING:
    import pyarrow

    from agentkit.database import Database

_OWNERS = 4
"""So many owners' views are kept at a time."""


@dataclass(slots=True)
class _OfOwner:
    """What there is of one owner's views, and of which state of the database."""

    changes: int = -1
    files: dict[str, BinaryIO] = field(default_factory=dict)

    def drop(self) -> None:
        """Close the files; who reads one at the moment goes on."""
        for file in self.files.values():
            file.close()
        self.files = {}


class KeptViews:
    """Gives the views as files; share it between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._folder = database.path.parent / "exports"
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, _OfOwner] = OrderedDict()

    def opened(self, owner: str, names: Sequence[str], stack: ExitStack) -> dict[str, BinaryIO]:
        """The views of these names, all of the same moment; they are closed with the stack.

        Raises StoreError.
        """
        with self._lock:
            kept = self._find(owner)
            missing = list_missing(names, kept.files)
            if missing:
                # What is there may be older than what is made now.
                wanted = {*kept.files, *names}
                kept.drop()
                kept.changes, kept.files = self._make(owner, wanted)
            return {name: stack.enter_context(_duplicate(kept.files[name])) for name in names}

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            for kept in self._owners.values():
                kept.drop()
            self._owners.clear()

    def _find(self, owner: str) -> _OfOwner:
        kept = self._owners.setdefault(owner, _OfOwner())
        self._owners.move_to_end(owner)
        if len(self._owners) > _OWNERS:
            self._owners.popitem(last=False)[1].drop()
        if kept.changes != self._database.changes:
            kept.drop()
        return kept

    def _make(self, owner: str, names: set[str]) -> tuple[int, dict[str, BinaryIO]]:
        """The views as they are now, and after how many changes that is."""
        changes = self._database.changes
        statements = {name: (VIEWS[name].sql, [owner]) for name in sorted(names)}
        try:
            return changes, self._database.read_together(statements, self._write)
        except OSError as error:
            raise _cannot_write(self._folder, error) from error

    def _write(self, batches: pyarrow.RecordBatchReader) -> BinaryIO:
        import pyarrow

        file = open_nameless(self._folder)
        with pyarrow.ipc.new_file(file, batches.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        file.flush()
        return file


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
