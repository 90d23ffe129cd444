"""The rows that a SELECT shows, out of a wide view of which it filters and sorts by few columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from agentkit.database.asked import ROW, Answers, Form, Limits, RowsAsked, Written
from agentkit.workspace.usage_sql.kept import KeptViews, open_nameless
from agentkit.workspace.usage_sql.views import VIEWS

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow

    from agentkit.database import Database

_MOST_ROWS = 20_000
"""Of more rows all columns are handed over at once."""
_SPARED = 6
"""So many columns have to be spared for it to be worth a second statement."""
_ATTEMPTS = 3


class ShownRows:
    """Answers SELECTs that show rows of one view as they are, by their first rows."""

    def __init__(self, database: Database, kept: KeptViews, answers: Answers) -> None:
        self._database, self._kept, self._answers = database, kept, answers
        self._folder: Path = database.path.parent / "exports"

    def answer(
        self, owner: str, asked: RowsAsked, out: BinaryIO, form: Form, limits: Limits
    ) -> Written | None:
        """Write these rows; None when they change all the time.

        Raises SqlRefused and StoreError.
        """
        for _ in range(_ATTEMPTS):
            before = self._database.changes
            numbers, more = self._find(owner, asked, limits)
            rows = self._read(owner, asked.table, numbers)
            if self._database.changes == before:
                written = self._show(asked, rows, out, form, limits)
                return replace(written, more=more)
        return None

    def _find(self, owner: str, asked: RowsAsked, limits: Limits) -> tuple[pyarrow.Array, bool]:
        """The numbers of the rows, in the order in which they are shown, and whether there are
        more.
        """
        import pyarrow

        with ExitStack() as stack:
            file = self._kept.open_rows(owner, asked.table, asked.read, stack)
            found = stack.enter_context(open_nameless(self._folder))
            told = self._answers.answer(asked.find, {asked.table: file}, found, "arrow", limits)
            found.seek(0)
            with pyarrow.ipc.open_stream(found) as reader:
                return reader.read_all().column(ROW).combine_chunks(), told.more

    def _read(self, owner: str, name: str, numbers: pyarrow.Array) -> pyarrow.Table:
        """These rows of the owner with all their columns, in this order."""
        import pyarrow.compute

        view = VIEWS[name].with_rows()
        every = view.select([one.name for one in view.columns])
        sql = f"{every} and {view.row} in (select unnest(?))"
        values: Sequence[object] = [owner, numbers.to_pylist()]
        read = self._database.read_together({name: (sql, values)}, lambda rows: rows.read_all())
        places = pyarrow.compute.index_in(numbers, value_set=read[name].column(ROW))
        return read[name].take(places.drop_null()).drop_columns([ROW])

    def _show(
        self, asked: RowsAsked, rows: pyarrow.Table, out: BinaryIO, form: Form, limits: Limits
    ) -> Written:
        import pyarrow

        with open_nameless(self._folder) as file:
            with pyarrow.ipc.new_stream(file, rows.schema) as writer:
                writer.write_table(rows)
            file.flush()
            return self._answers.answer(asked.show, {asked.table: file}, out, form, limits)


def are_worth_it(asked: RowsAsked, columns: Mapping[str, Sequence[str]], limits: Limits) -> bool:
    """Whether it takes less to look for the rows first than to hand over these columns."""
    are_few = limits.rows is not None and limits.rows <= _MOST_ROWS
    spared = len(columns[asked.table]) - len(asked.read)
    return bool(VIEWS[asked.table].row) and are_few and spared >= _SPARED
