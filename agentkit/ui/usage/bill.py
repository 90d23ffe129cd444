"""The bill: where the tokens and the money went, what caches saved, and whether it is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from agentkit.ledger import queries
from agentkit.ledger.bill import buckets
from agentkit.ledger.bill.buckets import Buckets, Cost, Mismatch, Saved
from agentkit.ledger.queries import CallFilter, Totals
from agentkit.llm.calls.usage import to_usage
from agentkit.llm.prices import find_rates, price
from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import figures, markdown, times
from agentkit.ui.usage import exporting
from agentkit.ui.usage.view import View

_NAMES = {
    "input": "Uncached input",
    "cache_read": "Cache read",
    "cache_write": "Cache write",
    "output": "Output",
    "reasoning": "Reasoning",
    "embedding": "Embedding",
    "rerank": "Reranking",
}
_MOST = 200
_WORTH = "At the prices of the days"
_SAME = 0.01
"""The share by which two sums may differ, as prices by length and rounding make them."""


def draw_bill(view: View) -> None:
    """The bill of the calls that are shown."""
    ledger, calls = state.workspace().ledger, view.calls
    tokens = buckets.sum_buckets(ledger, calls)
    saved = buckets.find_saved(ledger, calls, find_rates, price, to_usage)
    costs = {
        "Per question": buckets.cost_questions(ledger, calls),
        "Per cited answer": buckets.cost_evidence(ledger, calls),
        "Per document": buckets.cost_documents(ledger, calls),
    }
    with st.grid(5, min_column_width=150, gap="small", key="bill-figures"):
        for name, cost in costs.items():
            st.metric(name, _describe_each(cost), help=_describe_all(cost), border=True)
        st.metric("Cache hit rate", _describe_hits(tokens), help=_ABOUT_HITS, border=True)
        st.metric("Caches saved", _describe_saved(saved), help=_explain_saved(saved), border=True)
    worth = buckets.price_buckets(ledger, calls, find_rates)
    _draw_buckets(tokens, worth)
    _draw_difference(queries.totals(ledger, calls), worth)
    _draw_check(calls)


def _describe_each(cost: Cost) -> str:
    if not cost.number:
        return "none yet"
    if cost.each is None:
        return "unknown"
    return figures.dollars(cost.each)


def _describe_all(cost: Cost) -> str:
    """How many they were, what they cost together, and what is not known of that."""
    told = f"{figures.count(cost.number)} of them, {figures.dollars(cost.known)} together."
    if not cost.unpriced:
        return told
    return f"{told} {figures.count(cost.unpriced, 'call')} of unknown price not counted."


_ABOUT_HITS = "The share of all prompt tokens that a provider's cache served, at a lower price."


def _describe_hits(tokens: Buckets) -> str:
    prompt = tokens.input + tokens.cache_read + tokens.cache_write
    return f"{tokens.cache_read / prompt:.1%}" if prompt else "none yet"


def _describe_saved(saved: Saved) -> str:
    dollars = saved.by_providers + saved.by_replies
    if dollars < 0:
        return f"−{figures.dollars(-dollars)}"
    return figures.dollars(dollars)


def _explain_saved(saved: Saved) -> str:
    about = (
        f"Providers' caches {figures.dollars(max(saved.by_providers, 0.0))}, at the prices of the"
        f" day, and {figures.dollars(saved.by_replies)} by"
        f" {figures.count(saved.replies)} replies out of the cache here."
    )
    if not saved.unknown:
        return about
    return f"{about} {figures.count(saved.unknown, 'call')} of unknown price not counted."


def _draw_buckets(tokens: Buckets, costs: Buckets) -> None:
    """Each bucket with its tokens and what they cost; they are all there is, and none is twice."""
    import pandas

    total = tokens.total or 1
    rows = [
        {
            "Tokens of": label,
            "Tokens": int(getattr(tokens, name)),
            _WORTH: getattr(costs, name),
            "Share": 100 * getattr(tokens, name) / total,
        }
        for name, label in _NAMES.items()
    ]
    rows.append(
        {"Tokens of": "All", "Tokens": int(tokens.total), _WORTH: costs.total, "Share": 100.0}
    )
    columns = st.column_config
    written: Any = figures.dollars
    st.dataframe(
        pandas.DataFrame(rows).style.format(written, subset=[_WORTH]),
        hide_index=True,
        key="bill-buckets",
        alt="Tokens by bucket, with what they cost",
        column_config={
            "Tokens of": columns.TextColumn(width=130),
            "Tokens": columns.NumberColumn(format="localized"),
            "Share": columns.ProgressColumn(format="%.1f %%", min_value=0, max_value=100),
            _WORTH: columns.NumberColumn(
                help="At the prices of their days. Prices that rise with the length of a prompt"
                " are in the costs of the calls alone.",
            ),
        },
    )
    exporting.draw_rows(rows, "bill")


def _draw_difference(booked: Totals, worth: Buckets) -> None:
    """What the calls were booked at, where that is not what they are worth."""
    known = booked.cost or 0.0
    if abs(known - worth.total) <= _SAME * max(known, worth.total):
        return
    unknown = (
        f", and {figures.count(booked.unpriced, 'call')} of unknown price"
        if booked.unpriced
        else ""
    )
    st.caption(
        markdown.literal(
            f"The calls are booked at {figures.dollars(known)}{unknown}: each at the price that was"
            " known when it was made. Price old calls anew on the Settings page to change that."
        )
    )


def _draw_check(calls: CallFilter) -> None:
    """Whether the buckets are what the servers said; the calls where they are not."""
    ledger = state.workspace().ledger
    wrong = buckets.find_mismatches(ledger, calls, _MOST)
    checked = buckets.count_checked(ledger, calls)
    if not wrong:
        if checked:
            st.caption(
                f":material/check_circle: The buckets of {figures.count(checked, 'call')} add up to"
                " what their servers said."
            )
        return
    more = " or more" if len(wrong) == _MOST else ""
    with st.expander(
        f"{figures.count(len(wrong), 'call')}{more} whose buckets do not add up",
        icon=":material/rule:",
        key="bill-check",
    ):
        _draw_wrong(wrong)


def _draw_wrong(wrong: Sequence[Mismatch]) -> None:
    st.caption("What the server said beside what is counted. Select a call to see it in its run.")
    columns = st.column_config
    shown: Any = st.dataframe(
        [
            {"Time": times.local(one.at), "Model": one.model, "Said": one.said, "Is": one.counted}
            for one in wrong
        ],
        hide_index=True,
        key="bill-wrong",
        on_select="rerun",
        selection_mode="single-row",
        alt="Calls whose buckets are not what their servers said",
        column_config={
            "Time": columns.DatetimeColumn(format="localized", timezone=times.zone()),
            "Said": columns.NumberColumn("The server's tokens", format="localized"),
            "Is": columns.NumberColumn("Counted tokens", format="localized"),
        },
    )
    rows: list[int] = shown.selection.rows
    if not rows or rows[0] >= len(wrong):
        return
    chosen = wrong[rows[0]]
    if chosen.run_id is None:
        st.caption("This call belongs to no run: it was made in the retrieval lab or the settings.")
        return
    st.page_link(
        PAGES / "runs.py",
        label="Open this call in its run",
        icon=":material/timeline:",
        query_params={"run": chosen.run_id, "step": chosen.call_id},
    )
