"""How fast models answered: percentiles over time and by group, and the slowest calls."""

from __future__ import annotations

from typing import Any

import streamlit as st

from agentkit.ledger.usage import sums
from agentkit.ui.shared import state
from agentkit.ui.usage import address, call_table, exporting, opening, plots, words
from agentkit.ui.usage.view import View

_LINES = {"p50_s": "Median", "p95_s": "95 % within", "p99_s": "99 % within"}
_FIRST = {"first_token_p50_s": "Median", "first_token_p95_s": "95 % within"}
_ABOUT = "Of chat calls that a model answered to the end, and not out of a cache."
_SLOWEST = 20


def draw_speed(view: View) -> None:
    """Percentiles, the slowest calls, and the same by group."""
    ledger = state.workspace().ledger
    frame = sums.totals_over_time(ledger, view.calls, view.zone, view.hours)
    st.caption(_ABOUT)
    left, right = st.columns(2, gap="medium")
    with left:
        plots.draw_lines(view, frame, _LINES, f"Time of a call by {view.name_step()}")
    with right:
        plots.draw_lines(view, frame, _FIRST, f"Time to the first word by {view.name_step()}")
    st.subheader("Slowest calls", anchor=False)
    call_table.draw_table(view, "slowest", _SLOWEST)
    st.subheader(f"By {words.GROUPS[view.by].lower()}", anchor=False)
    _draw_groups(view)


def _draw_groups(view: View) -> None:
    frame = sums.by_groups(state.workspace().ledger, view.calls, view.by, order="p95_s")
    columns = st.column_config
    times = {name: columns.NumberColumn(label, format="%.2f s") for name, label in _TIMES.items()}
    shown: Any = st.dataframe(
        frame.assign(first=frame["first"].map(lambda key: words.of_value(view.by, key))),
        hide_index=True,
        placeholder="",
        column_order=["first", "calls", *_TIMES, "tokens_per_s"],
        column_config={
            "first": columns.TextColumn(words.GROUPS[view.by], width="medium"),
            "calls": columns.NumberColumn("Calls", format="localized"),
            "tokens_per_s": columns.NumberColumn(
                "Tokens a second",
                format="%.1f",
                help="Median of the tokens that came out, from sending to the last word.",
            ),
            **times,
        },
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key(f"speed-{view.by}"),
        alt=f"Times of the calls by {view.by}",
    )
    rows = shown.selection.rows
    if rows and rows[0] < len(frame):
        opening.forget_choice()
        address.narrow({view.by: str(frame.iloc[rows[0]]["first"])})
    exporting.draw_table(frame.copy, "speed")


_TIMES = {
    "p50_s": "Median",
    "p95_s": "95 % within",
    "p99_s": "99 % within",
    "first_token_p50_s": "First word, median",
    "first_token_p95_s": "First word, 95 %",
}
