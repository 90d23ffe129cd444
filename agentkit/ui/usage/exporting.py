"""What the usage page shows, as files: all calls that are meant, and any of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import streamlit as st

from agentkit.ledger import Ledger
from agentkit.ledger.export import FileForm, calls_file, table_file
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import sums
from agentkit.ledger.usage.sums import By
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import times
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

_FORMS: dict[str, FileForm] = {"CSV": "csv", "Parquet": "parquet", "Arrow": "arrow"}
_ALL = 10_000_000


def draw_export(calls: CallFilter) -> None:
    """All calls of the filter as CSV, Parquet and Arrow."""
    with st.container(horizontal=True, key="export-calls"):
        for name, form in _FORMS.items():
            made = partial(_export, calls, form)
            file = f"calls-{times.today()}.{form}"
            downloads.draw_link(f"Export the calls as {name}", made, file, key=f"calls-{form}")


def draw_groups(view: View, within: By | None) -> None:
    """All rows of the table of groups, as files."""
    made = partial(_read_groups, state.workspace().ledger, view.calls, view.by, within)
    draw_table(made, "groups")


def draw_table(make: Callable[[], pandas.DataFrame], name: str) -> None:
    """A table as CSV, Parquet and Arrow; `make` gives all of it when a link is followed, outside
    of the session.
    """
    with st.popover("Export the table", icon=":material/download:", key=f"export-{name}"):
        for label, form in _FORMS.items():
            made = partial(_make_table, make, form)
            file = f"{name}-{times.today()}.{form}"
            downloads.draw_link(f"The table as {label}", made, file, key=f"{name}-{form}")


def draw_rows(rows: Sequence[Mapping[str, object]], name: str) -> None:
    """The same for a table that is given row by row."""
    draw_table(partial(_to_frame, rows), name)


def _to_frame(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(rows)


def _export(calls: CallFilter, form: FileForm) -> BinaryIO:
    return calls_file(state.workspace().ledger, calls, form)


def _make_table(make: Callable[[], pandas.DataFrame], form: FileForm) -> BinaryIO:
    return table_file(make(), form)


def _read_groups(
    ledger: Ledger, calls: CallFilter, first: By, second: By | None
) -> pandas.DataFrame:
    frame = sums.by_groups(ledger, calls, first, second, limit=_ALL)
    return frame.rename(columns={"first": first, "second": str(second)})
