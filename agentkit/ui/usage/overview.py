"""The overview: what was measured over time, stacked by a group, the hours of the week, and the
sums of each group, within which there may be others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.core.text import shorten
from agentkit.ledger.usage import sums
from agentkit.ledger.usage.sums import OTHERS, By, Measure, Order
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown
from agentkit.ui.usage import address, exporting, opening, plots, words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas
    from pandas.io.formats.style import Styler

_LIMIT = 500
_LEADING: tuple[By, ...] = ("chat", "team", "agent", "model", "owner", "provider")
_ORDERS: dict[Measure, Order] = {
    "cost": "cost",
    "tokens": "tokens",
    "calls": "calls",
    "errors": "failed",
}


def draw_overview(view: View) -> None:
    """The charts and the table."""
    _draw_choice()
    unit, number = words.UNITS[view.measure]
    named = words.MEASURES[view.measure]
    left, right = st.columns([5, 3], gap="medium")
    with left:
        frame = sums.over_time(
            state.workspace().ledger, view.calls, view.measure, view.by, view.zone, view.hours
        )
        title = f"{named} by {view.name_step()} and {words.GROUPS[view.by].lower()}"
        others = words.of_value(view.by, OTHERS)
        plots.draw_bars(view, _with_names(frame, view.by), title, unit, "bars", others, number)
    with right:
        week = sums.by_hour_of_week(state.workspace().ledger, view.calls, view.measure, view.zone)
        plots.draw_week(week, f"{named} by weekday and hour", unit, number)
    if view.measure == "cost" and not frame.value.any():
        _offer_tokens()
    else:
        st.caption("Click a bar, or drag over some, to see only those days.")
    if view.is_narrow:
        _draw_leaders(view)
    _draw_groups(view)
    exporting.draw_export(view.calls)


def _draw_choice() -> None:
    """What is measured, and by what it is grouped."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="usage-choice"):
        st.segmented_control(
            "Measure",
            list(words.MEASURES),
            format_func=words.MEASURES.__getitem__,
            key=address.key("measure"),
            persist_state="session",
            required=True,
            wrap=True,
        )
        st.selectbox(
            "Grouped by",
            list(words.GROUPS),
            format_func=words.GROUPS.__getitem__,
            key=address.key("by"),
            persist_state="session",
            width=160,
        )
        st.selectbox(
            "and within that by",
            ["", *words.GROUPS],
            format_func=lambda group: words.GROUPS.get(group, "nothing"),
            key=address.key("within"),
            persist_state="session",
            width=160,
        )


def _offer_tokens() -> None:
    """Another way out of charts in which nothing stands out: models that cost nothing were asked,
    or such as nobody knows the prices of.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="usage-no-costs"):
        st.caption("No costs to draw here.", width="content")
        st.button(
            "Draw tokens instead",
            key="usage-tokens",
            type="tertiary",
            on_click=address.put,
            args=("measure", "tokens"),
        )


def _draw_leaders(view: View) -> None:
    """What most of it belongs to, each a button that narrows to it."""
    leaders = sums.find_leaders(state.workspace().ledger, view.calls, view.measure, list(_LEADING))
    if not leaders:
        return
    titles = sums.name_chats(state.workspace().ledger, [one.key for one in leaders])
    st.markdown(f"**Where most of the {words.MEASURES[view.measure].lower()} went**")
    with st.container(horizontal=True, gap="small", key="usage-leaders"):
        for one in leaders:
            name = titles.get(one.key) or words.of_value(one.by, one.key)
            share = f"{one.share:.0%}".replace("%", " %")
            st.button(
                f"{words.GROUPS[one.by]}: **{markdown.literal(shorten(name, 50))}** · {share}",
                key=f"usage-leader-{one.by}",
                help=f"The largest of {figures.count(one.groups)}; click to see only its calls.",
                on_click=address.put,
                args=(one.by, [one.key]),
            )


def _with_names(frame: pandas.DataFrame, by: By) -> pandas.DataFrame:
    """With names for people in place of keys; two of the same name are one bar."""
    names = _names(frame.key.unique().tolist(), by)
    named = frame.assign(key=frame.key.map(names))
    return named.groupby(["hour", "key"], as_index=False)[["value"]].sum()


def _names(keys: list[str], by: By) -> dict[str, str]:
    titles = sums.name_chats(state.workspace().ledger, keys) if by == "chat" else {}
    gone = {key: "deleted chat" for key in keys if by == "chat" and key not in ("", OTHERS)}
    return {key: words.of_value(by, key) for key in keys} | gone | titles


def _draw_groups(view: View) -> None:
    within: By | None = address.get("within") or None
    within = None if within == view.by else within
    frame = sums.by_groups(
        state.workspace().ledger,
        view.calls,
        view.by,
        within,
        order=_ORDERS[view.measure],
        limit=_LIMIT,
        times="short",
    )
    shown: Any = st.dataframe(
        _format_costs(_to_table(frame, view.by, within)),
        hide_index=True,
        placeholder="",
        column_config=_columns(view.by, within),
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key(f"groups-{view.by}-{within}"),
        alt=f"Sums of the calls by {view.by}",
    )
    rest = f" The {_LIMIT} largest are shown; the export has all." if len(frame) == _LIMIT else ""
    st.caption(f"Select a row to see only its calls.{rest}")
    rows = shown.selection.rows
    if rows and rows[0] < len(frame):
        _narrow(frame.iloc[rows[0]], view.by, within)
    exporting.draw_groups(view, within)


def _narrow(row: pandas.Series[Any], by: By, within: By | None) -> None:
    """Mean only the calls of this row."""
    opening.forget_choice()
    chosen: dict[str, str] = {by: str(row["first"])}
    if within:
        chosen[within] = str(row["second"])
    address.narrow(chosen)


def _to_table(frame: pandas.DataFrame, by: By, within: By | None) -> pandas.DataFrame:
    """What people read of the sums; an unknown cost is left out."""
    table = frame.assign(
        first=frame["first"].map(_names(frame["first"].unique().tolist(), by)),
        share=frame.cost.fillna(0) / (frame.cost.sum() or 1),
    )
    if within:
        seconds = frame["second"].map(_names(frame["second"].unique().tolist(), within))
        table = table.assign(second=seconds)
    empty = {name for name in _RARE if not frame[name].any()}
    return table[[name for name in _SHOWN if name in table and name not in empty]]


def _format_costs(frame: pandas.DataFrame) -> Styler:
    """Costs in as many digits as they need; they stay numbers, so that they sort as numbers."""
    written: Any = figures.dollars
    return frame.style.format(written, na_rep="", subset=["cost"])


_RARE = ("cached", "unpriced")
"""Columns that are left out where there is nothing in them."""
_SHOWN = [
    "first",
    "second",
    "cost",
    "share",
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "failed",
    "cached",
    "unpriced",
    "p50_s",
    "p95_s",
]


def _columns(by: By, within: By | None) -> dict[str, Any]:
    columns = st.column_config
    named = {
        "first": columns.TextColumn(words.GROUPS[by], width="medium"),
        "cost": columns.NumberColumn(
            "Cost", help="What is known of it, in US dollars.", width="small"
        ),
        "share": columns.ProgressColumn(
            "Share", format="percent", min_value=0, max_value=1, width="small"
        ),
        "calls": columns.NumberColumn("Calls", format="localized", width="small"),
        "prompt_tokens": columns.NumberColumn("Tokens in", format="localized"),
        "completion_tokens": columns.NumberColumn("Tokens out", format="localized"),
        "failed": columns.NumberColumn("Failed", format="localized", width="small"),
        "cached": columns.NumberColumn(
            "Cached", format="localized", help="Answered out of a cache, which costs nothing."
        ),
        "unpriced": columns.NumberColumn(
            "Unknown price", format="localized", help="Calls whose cost is not known."
        ),
        "p50_s": columns.NumberColumn("Median time", format="%.2f s"),
        "p95_s": columns.NumberColumn("95 % within", format="%.2f s"),
    }
    second = {"second": columns.TextColumn(words.GROUPS[within])} if within else {}
    return named | second
