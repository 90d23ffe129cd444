"""Calls in a table; a chosen one opens in its run, with what was sent and what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.ledger.usage import calls
from agentkit.ledger.usage.calls import CallOrder
from agentkit.ui.shared import state
from agentkit.ui.text import figures, times
from agentkit.ui.usage import address, exporting, opening, words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

LATEST = 200
ORDERS: dict[CallOrder, str] = {
    "newest": "Newest",
    "slowest": "Slowest",
    "dearest": "Dearest",
    "tokens": "Most tokens",
    "first_word": "Latest first word",
}


def draw_calls(view: View) -> None:
    """The calls that are meant, in an order of the person's choice."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="usage-order"):
        st.segmented_control(
            "Order",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            key=address.key("sort"),
            persist_state="session",
            required=True,
            wrap=True,
        )
        opening.draw_runs_link(view)
    order = address.get("sort")
    draw_table(view, order if order in ORDERS else "newest", LATEST)
    exporting.draw_export(view.calls)


def draw_table(view: View, order: CallOrder, limit: int) -> None:
    """The first calls in this order."""
    frame = calls.list_calls(state.workspace().ledger, view.calls, order, limit)
    shown: Any = st.dataframe(
        _to_table(frame),
        hide_index=True,
        placeholder="unknown",
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key(f"calls-{order}"),
        alt=f"Calls, {ORDERS[order].lower()} first",
        column_order=_ORDER,
        column_config=_columns(view),
    )
    found = calls.count_listed(state.workspace().ledger, view.calls)
    all_of = f"{figures.count(limit)} of {figures.count(found, 'call')}. " * (found > limit)
    st.caption(f"{all_of}Select a call to see what was sent and what came back.")
    opening.open_call(frame, shown)


def _to_table(frame: pandas.DataFrame) -> Any:
    named = frame.assign(
        finished_at=frame.finished_at.dt.tz_localize("UTC"),
        agent=frame.agent.map(lambda agent: agent and words.of_value("agent", agent)),
        team=frame.team.map(lambda team: team and words.of_value("team", team)),
        status=frame.status.map(lambda status: words.of_value("status", status)),
    )
    written: Any = figures.dollars
    return named.style.format(written, na_rep="unknown", subset=["cost"])


_ORDER = [
    "finished_at",
    "model",
    "agent",
    "status",
    "cost",
    "seconds",
    "first_token_s",
    "tokens_in",
    "tokens_out",
    "team",
    "purpose",
    "provider",
    "owner",
    "error",
]


def _columns(view: View) -> dict[str, Any]:
    columns = st.column_config
    return {
        "finished_at": columns.DatetimeColumn("Time", format="localized", timezone=times.zone()),
        "model": "Model",
        "agent": "Agent",
        "status": "Status",
        "cost": columns.NumberColumn("Cost"),
        "seconds": columns.NumberColumn("Time taken", format="%.2f s"),
        "first_token_s": columns.NumberColumn("First word", format="%.2f s"),
        "tokens_in": columns.NumberColumn("Tokens in", format="localized"),
        "tokens_out": columns.NumberColumn("Tokens out", format="localized"),
        "team": "Team",
        "purpose": "Purpose",
        "provider": "Server",
        "owner": "Owner" if view.calls.everyone else None,
        "error": "Error",
    }
