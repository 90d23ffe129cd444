"""The progress of runs that take documents in or build an index, by document, and what came of
them. It survives a refresh.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import pick
from agentkit.runs import Run
from agentkit.ui.documents.tally import WORDS, Tally, same_content, summary
from agentkit.ui.shared import dialogs, looks, state
from agentkit.ui.steps import draw, wording
from agentkit.ui.text import figures, markdown

POLL_S = 0.5
_FOLLOW_S = 3.0
_DRAWN = "progress-drawn"
"""What had come when the page was drawn last, and when that was."""
_SHOWN = 3  # documents under way that are named
_LISTED = 8  # reasons that are spelled out; the table has all
_NOTED = 100


def watch(run: Run[Any]) -> None:
    """Show the progress of this run, and what came of it, in place of what is shown of runs of its
    kind that have ended.
    """
    live = {known.id for known in runs.live(state.owner(), kind=run.kind)}
    kept = pick(_read_watched(run.kind), live)
    st.session_state[_key(run.kind)] = {**kept, run.id: Tally(run.size)}


def draw_progress(kind: str = "ingest") -> None:
    """All of a kind that is under way for this owner, whoever started it, and the summaries of what
    was watched to its end.
    """
    live = runs.live(state.owner(), kind=kind)
    watched = _read_watched(kind)
    for run in live:
        watched.setdefault(run.id, Tally(run.size))
    ended = {one: found for one in watched if (found := _find_ended(one))}
    for run_id, done in ended.items():
        _read_anew(watched[run_id])
        watched[run_id].follow(done)
        _draw_summary(done, watched[run_id])
    going_on = [run.id for run in live if run.id not in ended]
    if going_on:
        st.session_state[_DRAWN] = (_count_moves(watched), time.monotonic())
        _draw_live(kind, going_on)


@st.fragment(run_every=POLL_S)
def _draw_live(kind: str, run_ids: list[str]) -> None:
    """The one part of the page that looks again and again; when a run ends, the page is drawn
    anew.
    """
    live = [run for run_id in run_ids if (run := state.find_run(run_id))]
    if len(live) < len(run_ids):
        dialogs.redraw()
    with looks.drawing(lambda: looks.state_of(*live)):
        for run in live:
            tally = _read_watched(kind).setdefault(run.id, Tally(run.size))
            if run.ended:
                _read_anew(tally)
            tally.follow(run)
            _draw_run(run, tally)
        _draw_page_again(_read_watched(kind))


def _draw_page_again(watched: Mapping[str, Tally]) -> None:
    """Let the tables of the page follow: at once when the first comes, then every few seconds in
    which something has come.
    """
    moved, at = st.session_state.get(_DRAWN, (0, 0.0))
    if _count_moves(watched) != moved and (not moved or time.monotonic() - at >= _FOLLOW_S):
        dialogs.redraw()


def _count_moves(watched: Mapping[str, Tally]) -> int:
    """A number that grows with each document that begins or ends."""
    return sum(2 * tally.done + len(tally.under_way) for tally in watched.values())


def _read_anew(tally: Tally) -> None:
    """Draw the page once more after the end: what stands on it already may have been read before
    that.
    """
    if not tally.shown_since and not dialogs.is_drawn():
        tally.shown_since = True
        st.rerun()


def _draw_run(run: Run[Any], tally: Tally) -> None:
    with st.container(border=True, key=f"ingest-{run.id}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(
                f"**{WORDS[run.kind].doing} {markdown.literal(run.title)}**", width="stretch"
            )
            label = "Cancelling" if run.stopping else "Cancel"
            icon = ":material/stop_circle:"
            st.button(
                label,
                key=f"stop-{run.id}",
                icon=icon,
                type="tertiary",
                on_click=run.stop,
                disabled=run.stopping,
            )
        st.progress(tally.fraction, text=_so_far(tally))
        if tally.waits and (left := tally.waits[1] - time.time()) > 0:
            st.caption(f":material/hourglass_top: {wording.of_retry(tally.waits[0], left)}")
        for event in list(tally.under_way.values())[-_SHOWN:]:
            st.caption(draw.describe(event))
        if len(tally.under_way) > _SHOWN:
            st.caption(f"and {figures.count(len(tally.under_way) - _SHOWN)} more")


def _so_far(tally: Tally) -> str:
    if not (size := max(tally.size, tally.done)):
        return (
            "Under way"  # with nothing to count, as when an index only takes the place of another
        )
    parts = [f"{figures.count(tally.done)} of {figures.count(size, 'document')}"]
    if failed := tally.counts["failed"]:
        parts.append(f"{figures.count(failed)} failed")
    if tally.left_s is not None:
        parts.append(
            f"about {figures.seconds(round(tally.left_s) or 1)} left".replace(".0 s", " s")
        )
    return " · ".join(parts)


def _draw_summary(run: Run[Any], tally: Tally) -> None:
    with st.container(key=f"ingested-{run.id}", gap="xsmall"):
        with st.container(horizontal=True, wrap=False, vertical_alignment="center"):
            text = summary(run.title, tally, run.kind)
            if tally.problem:
                st.error(f"{text} {markdown.literal(tally.problem)}", icon=":material/error:")
            elif tally.failed or tally.stopped:
                st.warning(text, icon=":material/warning:")
            else:
                st.success(text, icon=":material/check_circle:")
            icon, about = ":material/close:", "Close this summary"
            gone = (run.kind, run.id)
            st.button(
                f"*{about}*",
                key=f"dismiss-{run.id}",
                icon=icon,
                help=about,
                type="tertiary",
                on_click=_forget,
                args=gone,
            )
        for one in tally.failed[:_LISTED]:
            st.markdown(
                f"- **{markdown.literal(one.document)}**  \n  {markdown.literal(one.error)}"
            )
        if len(tally.failed) > _LISTED:
            where = ""
            if run.kind == "ingest":
                where = "; the table below has every reason"
            st.caption(f"and {figures.count(len(tally.failed) - _LISTED)} more{where}.")
        unchanged = [(one.document, one.note) for one in tally.unchanged if one.note]
        _draw_listed(f"unchanged-{run.id}", "Unchanged", unchanged)
        copies = [(one.document, same_content(one.same_as)) for one in tally.copies]
        _draw_listed(f"copies-{run.id}", "Same content", copies)


def _draw_listed(key: str, label: str, notes: Sequence[tuple[str, str]]) -> None:
    """What is to be said of documents, by name, that came to a good end; nothing is drawn without
    any.
    """
    if notes:
        with st.expander(f"{label} ({figures.count(len(notes))})", type="compact", key=key):
            for document, note in notes[:_NOTED]:
                st.caption(f"{markdown.literal(document)}: {markdown.literal(note)}")
            if len(notes) > _NOTED:
                st.caption(f"and {figures.count(len(notes) - _NOTED)} more.")


def _key(kind: str) -> str:
    return f"watched-{kind}"


def _read_watched(kind: str) -> dict[str, Tally]:
    found: dict[str, Tally] = st.session_state.setdefault(_key(kind), {})
    return found


def _find_ended(run_id: str) -> Run[Any] | None:
    """The run when it is over; None while it goes on, or when this process does not know it."""
    run = state.find_run(run_id)
    return run if run is not None and run.ended else None


def _forget(kind: str, run_id: str) -> None:
    _read_watched(kind).pop(run_id, None)
