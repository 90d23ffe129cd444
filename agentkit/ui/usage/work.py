"""What runs did beside asking models: the tabs of tools, look-ups, compression and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.ledger.usage import work
from agentkit.ui.shared import state
from agentkit.ui.text import figures
from agentkit.ui.usage import exporting, opening, plots, words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

_NARROWED = ("models", "providers", "statuses", "purposes")
Numbers = Sequence[tuple[str, str, str]]
"""Figures with their names and what is to be known of them."""


def draw_tools(view: View) -> None:
    """How often tools ran, how many failed, and how long they took."""
    ledger = state.workspace().ledger
    frame = work.tools(ledger, view.calls)
    if _draw_none(frame, view, "No tool ran in these days."):
        return
    calls, failed = int(frame.calls.sum()), int(frame.failed.sum())
    _draw_numbers(
        [
            ("Tool calls", figures.count(calls), "Tools, and blocks of code that agents ran."),
            ("Failed", f"{figures.count(failed)} · {_share(failed, calls)}", "And their share."),
            ("Time", figures.seconds(float(frame.seconds.sum())), "All together."),
        ]
    )
    done = work.over_time(ledger, view.calls, work.TOOLS, view.zone, view.hours)
    bars = _split(done, "went well", "failed")
    plots.draw_bars(view, bars, f"Tool calls by {view.name_step()}", "Calls", "tools")
    _draw_table(
        frame.assign(share=frame.failed / frame.calls),
        {"name": "Tool", "kind": "Kind", "calls": "Calls", "failed": "Failed"} | _TIMES,
        "tools",
        "Select a tool to see the latest of its calls that failed.",
    )


def draw_lookups(view: View) -> None:
    """How often was looked up, what found nothing, and how well what was found fits."""
    ledger = state.workspace().ledger
    frame = work.lookups(ledger, view.calls)
    if _draw_none(frame, view, "Nothing was looked up in these days."):
        return
    calls, empty = int(frame.calls.sum()), int(frame["empty"].sum())
    best = work.find_best_score(ledger, view.calls)
    _draw_numbers(
        [
            ("Look-ups", figures.count(calls), "Searches that agents made."),
            (
                "Found nothing",
                f"{figures.count(empty)} · {_share(empty, calls)}",
                "And their share.",
            ),
            (
                "Best score",
                "none" if best is None else f"{best:.2f}",
                "Median of the first passage's score, from 0 to 1, where any was found.",
            ),
        ]
    )
    done = work.over_time(ledger, view.calls, ["search"], view.zone, view.hours)
    left, right = st.columns(2, gap="medium")
    with left:
        bars = _split(done, "found something", "found nothing")
        plots.draw_bars(view, bars, f"Look-ups by {view.name_step()}", "Look-ups", "lookups")
    with right:
        lines = {"best": "Median", "low": "Lowest tenth"}
        plots.draw_lines(view, done, lines, f"Best score by {view.name_step()}", "Score")
    labels = {"collection": "Collection", "calls": "Look-ups", "empty": "Found nothing"}
    scores = {"share": "Share", "found": "Passages each", "best": "Best score"}
    _draw_table(
        frame.assign(
            share=frame["empty"] / frame.calls,
            collection=frame.collection.map(lambda name: words.of_value("collection", name)),
        ),
        labels | scores | _TIMES,
        "lookups",
        "Select a collection to see its latest look-up that found nothing.",
    )


def draw_compression(view: View) -> None:
    """What making histories shorter saved, and what it took."""
    frame = work.compression(state.workspace().ledger, view.calls)
    if _draw_none(frame, view, "No history was made shorter in these days."):
        return
    saved, spent = int(frame.saved.sum()), int(frame.spent.sum())
    cost = figures.dollars(float(frame.cost.sum()))
    _draw_numbers(
        [
            ("Tokens saved", figures.short(saved), "In the request that was made shorter."),
            ("Tokens spent", figures.short(spent), "By the calls that made summaries."),
            ("Cost of it", cost, "What is known of it, in US dollars."),
        ]
    )
    tokens = {"tokens_before": "Tokens before", "tokens_after": "after", "saved": "Saved"}
    took = {"spent": "Spent", "cost": "Cost"}
    labels = {"name": "How", "calls": "Times", "failed": "Failed"}
    _draw_table(
        frame,
        labels | tokens | took | _TIMES,
        "compression",
        "Select a row to see the latest that failed.",
    )


def draw_people(view: View) -> None:
    """How long runs waited for people, and what these decided."""
    frame = work.people(state.workspace().ledger, view.calls)
    if _draw_none(frame, view, "No run waited for a person in these days."):
        return
    asked, approved = int(frame.asked.sum()), int(frame.approved.sum())
    _draw_numbers(
        [
            ("Asked", figures.count(asked), "Questions of agents to people."),
            ("Approved as it was", _share(approved, asked), "Of all that was asked."),
            ("Waited", figures.seconds(float(frame.seconds.sum())), "All together."),
        ]
    )
    decided = {name: name.replace("_", " ").capitalize() for name in _DECIDED}
    _draw_table(
        frame.assign(agent=frame.agent.map(lambda name: words.of_value("agent", name))),
        {"agent": "Agent", "asked": "Asked"} | decided | _WAITS,
        "people",
        "Select an agent to see the longest wait.",
    )


_DECIDED = ("approved", "changed", "rejected", "in_words", "unanswered")
_TIMES = {"p50_s": "Median time", "p95_s": "95 % within", "seconds": "All together (s)"}
_WAITS = {"p50_s": "Median wait", "p95_s": "95 % within", "seconds": "All together (s)"}
_FORMATS = {
    "share": "percent",
    "p50_s": "%.2f s",
    "p95_s": "%.2f s",
    "seconds": "localized",
    "found": "%.1f",
    "best": "%.2f",
    "cost": "$%.4f",
}


def _draw_none(frame: pandas.DataFrame, view: View, text: str) -> bool:
    """Whether there is nothing to draw, which is said; and which filters mean nothing here."""
    if any(getattr(view.calls, name) for name in _NARROWED):
        st.caption(
            "Model, server, status and purpose belong to calls of models: they narrow nothing here."
        )
    if not len(frame):
        st.info(text, icon=":material/filter_alt_off:")
    return not len(frame)


def _draw_numbers(numbers: Numbers) -> None:
    with st.grid(3, min_column_width=165, gap="small"):
        for label, text, about in numbers:
            st.metric(label, text, help=about, border=True)


def _draw_table(frame: pandas.DataFrame, labels: Mapping[str, str], key: str, caption: str) -> None:
    """The columns of these names; a chosen row leads to the step that it names."""
    columns: dict[str, Any] = {
        name: st.column_config.NumberColumn(label, format=_FORMATS.get(name, "localized"))
        if frame[name].dtype.kind in "iuf"
        else label
        for name, label in labels.items()
    }
    shown: Any = st.dataframe(
        frame.round({"seconds": 1}),
        hide_index=True,
        placeholder="",
        column_order=[*labels],
        column_config=columns,
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key(f"work-{key}"),
        alt=f"Sums of {key}",
    )
    st.caption(caption)
    opening.open_call(frame, shown, "There is none.")
    exporting.draw_table(frame.copy, key)


def _split(frame: pandas.DataFrame, well: str, failed: str) -> pandas.DataFrame:
    """Two rows for each step, of what went well and what did not."""
    import pandas

    parts = {well: frame.calls - frame.failed, failed: frame.failed}
    return pandas.concat(
        [
            frame[["hour"]].assign(key=name, value=values.astype(float))
            for name, values in parts.items()
        ]
    )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}".replace("%", " %")
