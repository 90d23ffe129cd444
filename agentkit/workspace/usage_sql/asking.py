"""Answers to what people ask of their usage in SQL: over the owner's views and nothing else."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from agentkit import private
from agentkit.database.asked import Answers, Form, Limits, Written, read_select
from agentkit.errors import ConfigError, NotFound
from agentkit.workspace.usage_sql.kept import MOST_KEPT, KeptViews, open_nameless
from agentkit.workspace.usage_sql.shown import ShownRows, are_worth_it
from agentkit.workspace.usage_sql.views import VIEWS

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from agentkit.database import Database

EXPORT_S = 60.0
"""How long a statement may take whose whole result is written into a file."""


class UsageSql:
    """Answers SELECTs over `VIEWS`; each owner sees their own rows."""

    def __init__(self, database: Database, most_kept: int = MOST_KEPT) -> None:
        """`most_kept` bytes of an owner's views stay from one statement to the next at most."""
        self._kept = KeptViews(database, most_kept)
        self._answers = Answers()
        self._shown = ShownRows(database, self._kept, self._answers)
        self._folder = database.path.parent / "exports"

    def views(self, owner: str) -> UsageViews:
        """The owner's views, to be asked from Python."""
        return UsageViews(self, owner)

    def close(self) -> None:
        """Let go of what is kept of the views, and end the process that waits for SQL."""
        self._answers.close()
        self.forget()

    def bytes(self) -> int:
        """How much is kept of all owners' views."""
        return self._kept.bytes()

    def forget(self) -> None:
        """Let go of what is kept of the views; they are read anew when they are asked for."""
        self._kept.close()

    def write(
        self,
        owner: str,
        sql: str,
        path: Path,
        form: Form = "csv",
        limits: Limits | None = None,
    ) -> Written:
        """Write the result into a file, by default all of it; one that is there stays as it is
        until there is a result.

        Raises SqlRefused, StoreError, and ConfigError when the file cannot be written.
        """
        made, written = self.ask(owner, sql, form, limits or _WHOLE)
        try:
            with made, path.open("wb") as file:
                shutil.copyfileobj(made, file)
        except OSError as error:
            why = f"{path} cannot be written ({error.strerror})"
            raise ConfigError(f"{why}; give another file.") from error
        return written

    def open(self, owner: str, sql: str, form: Form, limits: Limits | None = None) -> BinaryIO:
        """The result as an open file, by default all of it; it has no name, and ends when it is
        closed.

        Raises SqlRefused and StoreError.
        """
        return self.ask(owner, sql, form, limits or _WHOLE)[0]

    def ask(
        self, owner: str, sql: str, form: Form = "arrow", limits: Limits | None = None
    ) -> tuple[BinaryIO, Written]:
        """The same, by default its first rows, with how many there are."""
        made = open_nameless(self._folder)
        try:
            written = self._answer(owner, sql, made, form, limits or Limits())
        except BaseException:
            made.close()
            raise
        made.seek(0)
        return made, written

    def _answer(self, owner: str, sql: str, out: BinaryIO, form: Form, limits: Limits) -> Written:
        asked = read_select(sql, _COLUMNS)
        self._answers.start()  # it loads its libraries while the views are read
        if asked.rows is not None and are_worth_it(asked.rows, asked.columns, limits):
            written = self._shown.answer(owner, asked.rows, out, form, limits)
            if written is not None:
                return written
        with ExitStack() as stack:
            files = self._kept.open_views(owner, asked.columns, stack)
            return self._answers.answer(sql, files, out, form, limits)


class UsageViews:
    """What one owner's usage consists of, for scripts and notebooks; `VIEWS` says what is in it."""

    def __init__(self, usage: UsageSql, owner: str) -> None:
        self._usage, self._owner = usage, owner

    @property
    def names(self) -> Sequence[str]:
        """The views that there are."""
        return list(VIEWS)

    def sql(self, sql: str, limits: Limits | None = None) -> pyarrow.Table:
        """The result of a SELECT over the views, all of it; raises SqlRefused."""
        import pyarrow

        with tempfile.TemporaryDirectory(prefix="agentkit-") as folder:
            path = Path(folder) / "result.arrow"
            path.touch(private.FILE)
            self._usage.write(self._owner, sql, path, "arrow", limits)
            with path.open("rb") as file, pyarrow.ipc.open_stream(file) as reader:
                return reader.read_all()

    def arrow(self, name: str) -> pyarrow.Table:
        """All rows of a view; raises NotFound."""
        if name not in VIEWS:
            raise NotFound(f"There is no view {name!r}; there are {', '.join(VIEWS)}.")
        return self.sql(f"select * from {name}")

    def pandas(self, sql: str, limits: Limits | None = None) -> pandas.DataFrame:
        """The result of a SELECT as a pandas table; raises SqlRefused."""
        frame: pandas.DataFrame = self.sql(sql, limits).to_pandas()
        return frame

    def write(self, sql: str, path: Path, form: Form = "csv") -> Written:
        """Write the result of a SELECT into a file; raises SqlRefused and ConfigError."""
        return self._usage.write(self._owner, sql, path, form)


_COLUMNS = {view.name: [one.name for one in view.columns] for view in VIEWS.values()}
_WHOLE = replace(Limits(), seconds=EXPORT_S, rows=None)
