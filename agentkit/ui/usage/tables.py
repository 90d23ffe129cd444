"""What the model calls took, in tables: by model, agent, chat and day, and the calls themselves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import streamlit as st

from agentkit.errors import NotFound
from agentkit.ledger import queries
from agentkit.ledger.export import FileForm, calls_file
from agentkit.ledger.queries import CallFilter, Group
from agentkit.ui.shared import downloads, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.steps import wording
from agentkit.ui.text import figures, markdown, times
from agentkit.ui.usage.usage import NO_AGENT

if TYPE_CHECKING:
    import pandas
    from pandas.io.formats.style import Styler

LATEST = 200
_TABLES: dict[str, Group] = {
    "By model": "model",
    "By agent": "agent",
    "By chat": "chat",
    "By day": "day",
}


def draw_tables(calls: CallFilter) -> None:
    """The sums by model, agent, chat or day, and the latest calls."""
    for name, tab in zip(
        [*_TABLES, "Calls"],
        st.tabs([*_TABLES, "Calls"], key="usage-tables", on_change="rerun"),
        strict=True,
    ):
        if tab.open:
            with tab:
                if name in _TABLES:
                    _draw_group(calls, _TABLES[name])
                else:
                    _draw_calls(calls)


def draw_export(calls: CallFilter) -> None:
    """All calls of the filter as CSV and as Parquet."""
    forms: dict[str, FileForm] = {"CSV": "csv", "Parquet": "parquet"}
    with st.container(horizontal=True, key="export-calls"):
        for name, form in forms.items():
            made = partial(_exported, calls, form)
            file = f"calls-{times.today()}.{form}"
            downloads.draw_link(f"Export the calls as {name}", made, file, key=f"calls-{form}")


def _exported(calls: CallFilter, form: FileForm) -> BinaryIO:
    return calls_file(state.workspace().ledger, calls, form)


def _draw_group(calls: CallFilter, by: Group) -> None:
    frame = queries.grouped(state.workspace().ledger, calls, by, times.zone())
    if by == "agent":
        frame["title"] = frame.title.replace("", NO_AGENT).map(wording.called)
    if by == "day":
        frame = frame.iloc[::-1]
    keys = [str(key) for key in frame.key]
    shown: Any = st.dataframe(
        _with_dollars(_readable(frame)),
        hide_index=True,
        placeholder="",
        column_config=_columns(by.capitalize()),
        on_select="rerun" if by == "chat" else "ignore",
        selection_mode="single-row",
        key=f"usage-{by}",
        alt=f"Sums of the calls by {by}",
    )
    if by == "chat":
        _draw_chat_link(frame, keys, shown.selection.rows)


def _draw_chat_link(frame: pandas.DataFrame, keys: list[str], rows: list[int]) -> None:
    row = rows[0] if rows and rows[0] < len(keys) else None
    if row is None:
        st.caption("Select a chat to open it.")
    elif not _is_there(keys[row]):
        st.caption("These calls belong to no chat, or to one that was deleted.")
    else:
        label = f"Open {markdown.literal(str(frame.title.iloc[row]))}"
        st.page_link(
            PAGES / "chat.py",
            label=label,
            icon=":material/forum:",
            query_params={"chat": keys[row]},
        )


def _is_there(chat_id: str) -> bool:
    try:
        state.workspace().ledger.chat(state.owner(), chat_id)
    except NotFound:
        return False
    return True


def _draw_calls(calls: CallFilter) -> None:
    frame = queries.calls(state.workspace().ledger, calls, LATEST)
    frame["finished_at"] = frame.finished_at.dt.tz_localize("UTC")
    frame["agent"] = [agent and wording.called(agent) for agent in frame.agent]
    frame["tokens_in"] = frame.input_tokens + frame.cache_read_tokens + frame.cache_write_tokens
    frame["tokens_out"] = frame.output_tokens + frame.reasoning_tokens
    frame["first_word"] = [
        "" if seconds != seconds else f"{seconds:.2f} s" for seconds in frame.first_token_s
    ]  # NaN: no stream
    columns = st.column_config
    shown: Any = st.dataframe(
        _with_dollars(frame, "unknown"),
        hide_index=True,
        placeholder="unknown",
        on_select="rerun",
        selection_mode="single-row",
        key="usage-calls",
        alt="The latest calls, newest first",
        column_order=[
            "finished_at",
            "model",
            "agent",
            "purpose",
            "status",
            "tokens_in",
            "tokens_out",
            "cost",
            "seconds",
            "first_word",
            "chat",
            "error",
        ],
        column_config={
            "finished_at": columns.DatetimeColumn(
                "Time", format="localized", timezone=times.zone()
            ),
            "model": "Model",
            "agent": "Agent",
            "purpose": "Purpose",
            "status": "Status",
            "chat": "Chat",
            "error": "Error",
            "tokens_in": columns.NumberColumn("Tokens in", format="localized"),
            "tokens_out": columns.NumberColumn("Tokens out", format="localized"),
            "cost": columns.NumberColumn("Cost"),
            "seconds": columns.NumberColumn("Seconds", format="%.2f s"),
            "first_word": columns.TextColumn("First word", alignment="right"),
        },
    )
    _draw_run_link(frame, shown.selection.rows)
    if len(frame) == LATEST:
        st.caption(f"The latest {figures.count(LATEST)}; the export has all.")


def _draw_run_link(frame: pandas.DataFrame, rows: list[int]) -> None:
    """The way to the run of a chosen call, where the call is open."""
    if not rows or rows[0] >= len(frame):
        st.caption("Select a call to see it in its run, with what was sent.")
        return
    call = frame.iloc[rows[0]]
    if not isinstance(call.run_id, str):
        st.caption("This call belongs to no run: it was made in the retrieval lab or the settings.")
        return
    st.page_link(
        PAGES / "runs.py",
        label="Open this call in its run",
        icon=":material/timeline:",
        query_params={"run": call.run_id, "step": str(call.id)},
    )


def _readable(frame: pandas.DataFrame) -> pandas.DataFrame:
    """What people read of the sums; an unknown cost is none, and the calls of unknown price are
    counted beside.
    """
    return frame[
        [
            "title",
            "calls",
            "failed",
            "cached",
            "prompt_tokens",
            "completion_tokens",
            "cost",
            "unpriced",
            "p50_s",
            "p95_s",
        ]
    ]


def _with_dollars(frame: pandas.DataFrame, unknown: str = "") -> Styler:
    """The table with costs in as many digits as they need; they stay numbers, so that they sort as
    numbers.
    """
    written: Any = figures.dollars
    return frame.style.format(written, na_rep=unknown, subset=["cost"])


def _columns(title: str) -> dict[str, Any]:
    columns = st.column_config
    return {
        "title": columns.TextColumn(title, width="medium"),
        "calls": columns.NumberColumn("Calls", format="localized"),
        "failed": columns.NumberColumn("Failed", format="localized"),
        "cached": columns.NumberColumn(
            "Cached", format="localized", help="Answered out of a cache, which costs nothing."
        ),
        "prompt_tokens": columns.NumberColumn("Tokens in", format="localized"),
        "completion_tokens": columns.NumberColumn("Tokens out", format="localized"),
        "cost": columns.NumberColumn("Cost", help="What is known of it, in US dollars."),
        "unpriced": columns.NumberColumn(
            "Unknown price", format="localized", help="Calls whose cost is not known."
        ),
        "p50_s": columns.NumberColumn("Median time", format="%.2f s"),
        "p95_s": columns.NumberColumn("95 % within", format="%.2f s"),
    }
