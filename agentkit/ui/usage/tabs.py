"""The tabs of the usage page, a line each: only the one that is open asks the database."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from agentkit.ledger.queries import CallFilter
from agentkit.ui.usage import tables, usage

OPEN = "tab"
"""Which tab is open, in the session and in the address."""


def _draw_overview(calls: CallFilter) -> None:
    usage.draw_charts(calls)
    tables.draw_tables(calls)
    tables.draw_export(calls)


TABS: dict[str, Callable[[CallFilter], None]] = {
    "Overview": _draw_overview,
}
"""Each with what draws it, given which calls are meant."""


def draw_tabs(calls: CallFilter) -> None:
    """All tabs, and what is in the open one."""
    drawn = st.tabs([*TABS], key=OPEN, on_change="rerun", bind="query-params")
    for tab, draw in zip(drawn, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(calls)
