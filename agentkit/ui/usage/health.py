"""The tab of documents: what was found, cited, or never of use, and what no document answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.core.text import shorten
from agentkit.ledger.store import utc_now
from agentkit.ledger.usage import health
from agentkit.ledger.usage.health import Counts, Unanswered
from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import figures, markdown, times
from agentkit.ui.usage import address, exporting, opening
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

ALIKE = 0.5
"""The cosine from which two questions are about the same: with the packaged model, what is asked of
one thing is nearer (0.5 to 0.95), of different things below 0.3.
"""
_SHOWN = 20
_LONGEST = 120  # characters of a question
_NARROWED = ("models", "agents", "teams", "chats", "providers", "statuses", "purposes")
_NAMES = {
    "number": ("Documents", "All that can be found, but for what is attached to single chats."),
    "cited": ("Cited", "By answers of these days."),
    "uncited": ("Never cited", "Look-ups found them, and no answer cites them."),
    "unfound": ("Never found", "By any look-up of these days."),
    "stale": ("Stale", "Taken in more than half a year ago, and not since."),
    "twice": ("Held twice", "With the same content as another document."),
}
_COLUMNS = {
    "name": "Document",
    "collection": "Collection",
    "cited": "Cited",
    "found": "Found",
    "last_used": "Last of use",
    "updated_at": "Taken in",
}


def draw_health(view: View) -> None:
    """How the documents do, and the questions without evidence."""
    if any(getattr(view.calls, name) for name in _NARROWED):
        st.caption("Documents are narrowed by days and collections alone.")
    counts = health.count(state.workspace().ledger, view.calls, utc_now() - health.STALE_AFTER)
    if counts.number:
        _draw_documents(view, counts)
    else:
        st.info("No documents are here to be found.", icon=":material/filter_alt_off:")
    _draw_unanswered(health.list_unanswered(state.workspace().ledger, view.calls))


def _draw_documents(view: View, counts: Counts) -> None:
    with st.grid(6, min_column_width=130, gap="small"):
        for name, (label, about) in _NAMES.items():
            st.metric(label, figures.count(getattr(counts, name)), help=about, border=True)
    which = st.segmented_control(
        "Which documents",
        [*_NAMES],
        default="number",
        required=True,
        format_func=lambda name: "All" if name == "number" else _NAMES[name][0],
        key="usage-which-documents",
        wrap=True,
    )
    before, meant = utc_now() - health.STALE_AFTER, which or "number"
    read = partial(health.list_documents, state.workspace().ledger, view.calls, before, meant)
    _draw_table(read, which == "twice")


def _draw_table(read: Callable[..., pandas.DataFrame], twice: bool) -> None:
    frame = read()
    if not len(frame):
        st.caption("There is none of them.")
        return
    columns = _COLUMNS | ({"same_as": "Same as"} if twice else {})
    dated: Any = partial(
        st.column_config.DatetimeColumn, format="YYYY-MM-DD", timezone=times.zone()
    )
    moments = ("last_used", "updated_at")
    shown: Any = st.dataframe(
        frame.assign(**{name: frame[name].dt.tz_localize("UTC") for name in moments}),
        hide_index=True,
        placeholder="",
        column_order=[*columns],
        column_config={
            **columns,
            "last_used": dated(columns["last_used"]),
            "updated_at": dated(columns["updated_at"]),
        },
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key("health"),
        alt="Documents and what was done with them",
    )
    rest = ""
    if len(frame) == health.MOST_DOCUMENTS:
        rest = f" The first {len(frame):,} are shown; the export has all."
    st.caption(f"Select a document to see the runs that found or cited it.{rest}")
    _open_runs(frame, shown)
    exporting.draw_table(partial(read, most=None), "health")


def _open_runs(frame: pandas.DataFrame, shown: Any) -> None:
    """Go to the runs of the chosen document."""
    rows = shown.selection.rows
    if not rows or rows[0] >= len(frame):
        return
    document_id = str(frame.iloc[rows[0]]["id"])
    opening.forget_choice()
    address.leave()
    st.switch_page(PAGES / "runs.py", query_params={"document": document_id})


def _draw_unanswered(questions: list[Unanswered]) -> None:
    st.subheader("Questions without evidence", anchor=False)
    if not questions:
        st.caption("Each answer of these days that looked something up cites a passage.")
        return
    groups = health.group_by_topic(questions, _measure_nearness(questions), ALIKE)
    number, topics = figures.count(len(questions), "question"), figures.count(len(groups), "topic")
    st.caption(
        f"{number}, {topics}: looked up, and answered without citing a passage. Documents about"
        " them are missing, or are not found: try them in the retrieval lab."
    )
    for group in groups[:_SHOWN]:
        _draw_topic(group)
    if len(groups) > _SHOWN:
        st.caption(f"{figures.count(len(groups) - _SHOWN)} more that few asked are not shown.")


def _measure_nearness(questions: list[Unanswered]) -> list[list[float]]:
    """How near each two questions are in meaning."""
    return _compare(tuple(one.text for one in questions))


@st.cache_data(max_entries=8, show_spinner="Grouping questions by what they are about")
def _compare(texts: tuple[str, ...]) -> list[list[float]]:
    vectors = state.workspace().library.embedder.embed(texts)
    nearness: list[list[float]] = (vectors @ vectors.T).tolist()
    return nearness


def _draw_topic(group: list[Unanswered]) -> None:
    """A topic with its questions to unfold; each leads to the lab and to its run."""
    first = markdown.literal(shorten(group[0].text, _LONGEST))
    label = f"{first} · {figures.count(len(group), 'question')}"
    with st.expander(label, icon=":material/help:", type="compact"):
        for one in group[:_SHOWN]:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(markdown.literal(shorten(one.text, _LONGEST)), width="stretch")
                st.page_link(
                    PAGES / "retrieval_lab.py",
                    label="Try in the lab",
                    icon=":material/science:",
                    query_params={"collection": one.collection.split(", ")[0], "q": one.text},
                )
                st.page_link(
                    PAGES / "runs.py",
                    label="Its run",
                    icon=":material/timeline:",
                    query_params={"run": one.run_id},
                )
