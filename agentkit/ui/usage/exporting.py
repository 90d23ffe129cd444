"""All calls that are meant, as files."""

from __future__ import annotations

from functools import partial
from typing import BinaryIO

import streamlit as st

from agentkit.ledger.export import FileForm, calls_file
from agentkit.ledger.queries import CallFilter
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import times

_FORMS: dict[str, FileForm] = {"CSV": "csv", "Parquet": "parquet"}


def draw_export(calls: CallFilter) -> None:
    """All calls of the filter as CSV and as Parquet."""
    with st.container(horizontal=True, key="export-calls"):
        for name, form in _FORMS.items():
            made = partial(_exported, calls, form)
            file = f"calls-{times.today()}.{form}"
            downloads.draw_link(f"Export the calls as {name}", made, file, key=f"calls-{form}")


def _exported(calls: CallFilter, form: FileForm) -> BinaryIO:
    return calls_file(state.workspace().ledger, calls, form)
