"""What failed, where, since when, and the latest of each; retries and waits."""

from __future__ import annotations

from typing import Any

import streamlit as st

from agentkit.ledger.usage import calls
from agentkit.ui.shared import state
from agentkit.ui.text import figures, times
from agentkit.ui.usage import exporting, opening, plots
from agentkit.ui.usage.view import View


def draw_errors(view: View) -> None:
    """Errors by kind and server, over time and in a table."""
    ledger = state.workspace().ledger
    _draw_waits(calls.waits(ledger, view.calls))
    frame = calls.failures(ledger, view.calls)
    if not len(frame):
        st.success("No call failed.", icon=":material/check_circle:")
        return
    over_time = calls.failures_over_time(ledger, view.calls, view.zone, view.hours)
    title = f"Failed calls by {view.name_step()}, kind and server"
    plots.draw_bars(view, over_time, title, "Failed calls", "errors")
    shown: Any = st.dataframe(
        frame.assign(
            first=frame["first"].dt.tz_localize("UTC"),
            last=frame["last"].dt.tz_localize("UTC"),
            share=frame.failed / frame.asked,
        ),
        hide_index=True,
        placeholder="",
        column_order=list(_LABELS),
        column_config=_columns(),
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key("failures"),
        alt="Failed calls by kind and server",
    )
    st.caption("Select a row to see its latest call in its run, with what was sent.")
    opening.open_call(frame, shown)
    exporting.draw_table(frame.copy, "failures")


def _draw_waits(waits: dict[str, float]) -> None:
    with st.grid(3, min_column_width=165, gap="small"):
        st.metric(
            "Tried again",
            figures.count(int(waits["retries"])),
            help="Calls that were a second attempt, or a later one.",
            border=True,
        )
        st.metric(
            "Turned away",
            figures.count(int(waits["limited"])),
            help="How often a server took no more requests (a rate limit).",
            border=True,
        )
        st.metric(
            "Waited in between",
            figures.seconds(waits["waited_s"]),
            help="From a failed attempt to the next, all together.",
            border=True,
        )


_LABELS = {
    "error_type": "Error",
    "provider": "Server",
    "failed": "Failed",
    "share": "Of its calls",
    "first": "Since",
    "last": "Latest",
    "error": "What the latest says",
    "model": "Its model",
}


def _columns() -> dict[str, Any]:
    columns, zone = st.column_config, times.zone()
    return _LABELS | {
        "failed": columns.NumberColumn("Failed", format="localized"),
        "share": columns.NumberColumn("Of its calls", format="percent"),
        "first": columns.DatetimeColumn("Since", format="localized", timezone=zone),
        "last": columns.DatetimeColumn("Latest", format="localized", timezone=zone),
        "error": columns.TextColumn("What the latest says", width="large"),
    }
