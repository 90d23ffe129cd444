"""The ledger's figures as files for other programs."""

from __future__ import annotations

import io
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from agentkit import private
from agentkit.errors import StoreError
from agentkit.ledger.queries import CallFilter, every_call
from agentkit.ledger.store import Ledger

if TYPE_CHECKING:
    import pandas
    import pyarrow

FileForm = Literal["csv", "parquet", "arrow"]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TEXTS = ("agent", "provider", "model", "error", "error_type", "chat")
"""Columns of the calls in which somebody else's words may stand."""


def calls_file(ledger: Ledger, chosen: CallFilter, form: FileForm) -> BinaryIO:
    """Every call that the filter means, newest first, one column per field, as an open file.

    Times are UTC, costs US dollars. The file is private and has no name any more: it is gone when
    it is closed. However many calls there are, they are not in memory. Raises StoreError.
    """
    sql, values = every_call(chosen)
    if form == "csv":
        sql = f"select * replace ({', '.join(map(_escape_formula_sql, _TEXTS))}) from ({sql})"
    folder = ledger.database.path.parent / "exports"
    try:
        private.make_folder(folder)
        with tempfile.TemporaryDirectory(prefix=".calls-", dir=folder) as made:
            path = Path(made) / f"calls.{form}"
            path.touch(private.FILE)
            if form == "arrow":
                ledger.database.read_together({"calls": (sql, values)}, partial(_write_arrow, path))
            else:
                ledger.database.copy_to(path, form, sql, values)
            return path.open("rb")
    except OSError as error:
        why = f"The calls cannot be written in {folder} ({error.strerror})"
        raise StoreError(f"{why}; make room there, or let this user write there.") from error


def _write_arrow(path: Path, batches: pyarrow.RecordBatchReader) -> None:
    """Write a stream of Arrow, batch by batch."""
    import pyarrow

    with path.open("wb") as file, pyarrow.ipc.new_stream(file, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def table_file(frame: pandas.DataFrame, form: FileForm) -> BinaryIO:
    """A table that is at hand, such as sums, as an open file."""
    import pyarrow

    if form == "csv":
        return io.BytesIO(table_csv(frame).encode())
    table, made = pyarrow.Table.from_pandas(frame, preserve_index=False), io.BytesIO()
    if form == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, made)
    else:
        with pyarrow.ipc.new_stream(made, table.schema) as writer:
            writer.write_table(table)
    made.seek(0)
    return made


def table_csv(frame: pandas.DataFrame) -> str:
    """The table as CSV with a header; a text that a spreadsheet would run as a formula gets an
    apostrophe in front.
    """
    return frame.map(_escape_formula).to_csv(index=False, lineterminator="\n")


def _escape_formula(cell: object) -> object:
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return cell


def _escape_formula_sql(column: str) -> str:
    return f"""regexp_replace({column}, '^[=+@\\t\\r-]', '''\\0') as {column}"""
