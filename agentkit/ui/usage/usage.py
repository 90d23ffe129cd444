"""What the model calls took: filters in the address, totals, charts over days."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from agentkit.events import Purpose
from agentkit.ledger import queries
from agentkit.ledger.queries import CallFilter, Totals
from agentkit.ui.shared import charts, state
from agentkit.ui.steps import wording
from agentkit.ui.text import figures, times

if TYPE_CHECKING:
    import pandas

_DAYS = {"Today": 1, "7 days": 7, "30 days": 30, "90 days": 90}
_RANGES = [*_DAYS, "All", "Custom"]
_PURPOSES: dict[str, Literal[""] | Purpose] = {
    "All": "",
    "Chat": "chat",
    "Embedding": "embedding",
    "Reranking": "rerank",
    "Test": "test",
    "Follow-ups": "follow-up",
}
NO_AGENT = "no agent"
"""How calls without an agent, such as embeddings, are named."""


def draw_filters() -> CallFilter:
    """The filters; each is in the address, so that a view can be kept and shared."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="usage-filters"):
        chosen = st.segmented_control(
            "Days",
            _RANGES,
            default="30 days",
            required=True,
            wrap=True,
            key="days",
            bind="query-params",
        )
        since, until = _range(chosen or "30 days")
        purpose = st.segmented_control(
            "Purpose",
            list(_PURPOSES),
            default="All",
            required=True,
            key="purpose",
            bind="query-params",
        )
    with st.container(horizontal=True, vertical_alignment="bottom", key="usage-narrow"):
        models = st.multiselect(
            "Models",
            _known("model"),
            key="model",
            placeholder="All models",
            width=320,
            bind="query-params",
        )
        agents = st.multiselect(
            "Agents",
            _known("agent"),
            format_func=wording.called,
            key="agent",
            placeholder="All agents",
            width=320,
            bind="query-params",
        )
    return CallFilter(
        state.owner(),
        times.begin(since) if since else None,
        times.begin(until + timedelta(days=1)) if until else None,
        models,
        ["" if agent == NO_AGENT else agent for agent in agents],
        _PURPOSES[purpose or "All"],
    )


def draw_totals(calls: CallFilter) -> Totals:
    """The row of figures; the same sums as under the answers."""
    ledger = state.workspace().ledger
    sums = queries.totals(ledger, calls)
    about = "about " if sums.estimated else ""
    with st.grid(4, min_column_width=150, gap="small"):
        st.metric(
            "Calls",
            figures.count(sums.calls),
            help="Every call of a model, also failed ones and each attempt.",
        )
        st.metric("Failed", figures.count(sums.failed))
        estimated = (
            "Some servers do not count tokens; those are our estimate." if sums.estimated else None
        )
        st.metric("Tokens in", f"{about}{figures.count(sums.prompt_tokens)}", help=estimated)
        st.metric("Tokens out", f"{about}{figures.count(sums.completion_tokens)}", help=estimated)
        _draw_cost(sums)
        _draw_latency(calls, sums)
    if sums.unpriced:
        st.caption(
            f"{figures.count(sums.unpriced, 'call')} without a known price: what they cost is not"
            " in these figures."
        )
    return sums


def _draw_cost(sums: Totals) -> None:
    known = figures.dollars(sums.cost) if sums.cost is not None else "unknown"
    about = (
        "In US dollars, from list prices. Models on this machine are free, and so are replies out"
        " of a cache; a price that is not known is not counted as 0."
    )
    st.metric("Known cost" if sums.unpriced else "Cost", known, help=about)


def _draw_latency(calls: CallFilter, sums: Totals) -> None:
    """Times of chat calls, unless embeddings were asked for: mixed, they would say nothing."""
    what = calls.purpose or "chat"
    timed = (
        sums
        if calls.purpose
        else queries.totals(state.workspace().ledger, replace(calls, purpose="chat"))
    )
    help_text = f"Of {what} calls that a model answered, from sending to the last word."
    st.metric("Median time", _seconds(timed.p50_s), help=help_text)
    st.metric("95 % within", _seconds(timed.p95_s), help=help_text)
    st.metric(
        "First word after",
        _seconds(timed.first_token_p50_s),
        help="Median of the chat calls that stream.",
    )


def draw_charts(calls: CallFilter) -> None:
    """Tokens, time and cost over the viewer's days, days without calls included."""
    days = fill_days(queries.grouped(state.workspace().ledger, calls, "day", times.zone()), calls)
    latency = replace(calls, purpose=calls.purpose or "chat")
    timed = fill_days(
        queries.grouped(state.workspace().ledger, latency, "day", times.zone()), calls
    )
    left, right = st.columns(2, gap="large")
    with left:
        charts.draw_tokens(days)
    with right:
        if timed.p50_s.notna().any():
            charts.draw_latency(timed)
    if days.cost.fillna(0).gt(0).any():
        charts.draw_cost(days)


def _range(chosen: str) -> tuple[date | None, date | None]:
    """First and last day, both included."""
    today = times.today()
    if chosen in _DAYS:
        return today - timedelta(days=_DAYS[chosen] - 1), today
    if chosen == "Custom":
        week = (today - timedelta(days=6), today)
        picked: Any = st.date_input(
            "From and to",
            value=week,
            max_value=today,
            key="between",
            bind="query-params",
            width=260,
        )
        return (picked[0], picked[-1]) if picked else (None, None)
    return None, None


def _known(column: Literal["model", "agent"]) -> list[str]:
    return [
        name or NO_AGENT
        for name in queries.known_values(state.workspace().ledger, state.owner(), column)
    ]


def fill_days(frame: pandas.DataFrame, calls: CallFilter) -> pandas.DataFrame:
    """One row for each day from the first to the last of the filter, or else of the calls."""
    import pandas

    earliest = date.fromisoformat(frame.key.min()) if len(frame) else times.today()
    first = times.local(calls.since).date() if calls.since else earliest
    last = times.local(calls.until).date() - timedelta(days=1) if calls.until else times.today()
    names = [day.date().isoformat() for day in pandas.date_range(first, max(first, last))]
    days = frame.set_index("key").reindex(names).rename_axis("day").reset_index()
    sums = ["prompt_tokens", "completion_tokens", "unpriced"]
    return days.assign(**{name: days[name].fillna(0) for name in sums})


def _seconds(value: float | None) -> str:
    return figures.seconds(value) if value is not None else "none yet"
