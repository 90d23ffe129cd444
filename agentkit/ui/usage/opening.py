"""The ways from a row of a table to what is behind it: a narrower view, a run, a call."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import markdown, times
from agentkit.ui.usage import address
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

_TIMES = "usage-opened"
NO_RUN = "This call belongs to no run: it was made in the retrieval lab or the settings."


def table_key(name: str) -> str:
    """The key of a table whose rows lead away: nothing is chosen in it after the way back."""
    return f"{name}-{st.session_state.get(_TIMES, 0)}"


def forget_choice() -> None:
    """Let no row of any table be chosen, from the next drawing on."""
    st.session_state[_TIMES] = st.session_state.get(_TIMES, 0) + 1


def open_call(frame: pandas.DataFrame, shown: Any, without: str = NO_RUN) -> None:
    """Go to the call or step of the chosen row, where it is open in its run, with what was sent;
    where there is none, `without` is said.
    """
    rows = shown.selection.rows
    if not rows or rows[0] >= len(frame):
        return
    call = frame.iloc[rows[0]]
    forget_choice()
    owner = call.get("owner")  # no text where there is none
    if isinstance(owner, str) and owner != state.owner():
        st.toast(f"Only {markdown.literal(owner)} can look into this.")
        return
    if isinstance(call.run_id, str) and call.run_id:
        address.leave()
        place = {"run": call.run_id, "step": str(call.id)}
        st.switch_page(PAGES / "runs.py", query_params=place)
    st.toast(without)


def draw_runs_link(view: View) -> None:
    """The way to the runs in which these calls were made."""
    st.page_link(
        PAGES / "runs.py",
        label="The runs behind these",
        icon=":material/timeline:",
        query_params=_runs_address(view),
    )


def _runs_address(view: View) -> dict[str, Any]:
    """The filters of the runs page that mean the same, as far as it has them."""
    calls, ends = view.calls, view.last - timedelta(seconds=1)
    days = {"from": times.local(view.first).date(), "to": times.local(ends).date()}
    named = {
        "team": calls.teams,
        "model": calls.models,
        "agent": calls.agents,
        "server": calls.providers,
        "call": calls.statuses,
        "chat": calls.chats,
    }
    kept = {name: list(values) for name, values in named.items() if values}
    return kept | {name: day.isoformat() for name, day in days.items()}
