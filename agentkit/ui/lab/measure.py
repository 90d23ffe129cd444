"""Measuring the search of a collection with a question set: choose the set, choose settings, run,
and compare what it scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError, Stopped
from agentkit.events import Retrieved
from agentkit.retrieval import Collection
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.ingest.versions import VersionStatus
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.questions import Measurement, QuestionSet
from agentkit.ui.documents import progress
from agentkit.ui.lab import drafting, new_sets, parts, questions, results, watch
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown
from agentkit.workspace.measuring import KIND

_WATCHED = "measuring"


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings to measure, and the index version, empty for the one that answers."""

    options: SearchOptions
    version_id: str


def draw_measure(collection: Collection) -> None:
    """The view for this collection: question sets, a run with one or two settings, and what they
    scored.
    """
    known = state.workspace().library.questions.sets(state.owner())
    if not known:
        st.markdown(
            "There are no question sets yet. A question set names, for each question, the documents"
            " that answer it; then every change of the settings can be measured. Begin with one of"
            " these:"
        )
    chosen = None
    if known:
        chosen = questions.draw_choice(known, collection)
    new_sets.draw_adding(collection, first=not known)
    drafting.draw_drafting(collection, chosen)
    if chosen:
        live = watch.draw_notices(collection.name, in_lab=True)
        questions.draw_editor(collection, chosen)
        _draw_trials(collection, chosen, live)
        _draw_ends()
        results.draw_results(chosen)


def _draw_trials(collection: Collection, chosen: QuestionSet, live: list[str]) -> None:
    """The settings to measure, the button that begins, and how far the live runs are."""
    st.subheader("Measure", anchor=False)
    if not chosen.questions:
        st.markdown("This set has no questions yet. Add some above, save them, and measure here.")
        if live:
            _draw_live(live)
        return
    library = state.workspace().library
    listed = library.versions.listed(state.owner(), collection.name)
    of_chats = library.options(state.owner(), collection.name)
    with st.container(horizontal=True, vertical_alignment="center", key="measure-row"):
        two = st.toggle("Measure other settings too", key="measure-two", persist_state="session")
    sides = "AB" if two else "A"
    columns = st.columns(2, gap="large") if two else [st.container()]
    trials = [
        _draw_side(
            column,
            f"measure-{collection.id}-{letter}",
            f"Settings {letter}" if two else "Settings",
            of_chats,
            listed,
        )
        for letter, column in zip(sides, columns, strict=True)
    ]
    asked = figures.count(chosen.questions, "question")
    st.button(
        f"Measure with {asked}",
        key="measure",
        type="primary",
        icon=":material/play_arrow:",
        disabled=bool(live),
        on_click=_begin,
        args=(collection, chosen, trials),
    )
    watch.draw_switch(chosen)
    if live:
        _draw_live(live)


def _draw_side(
    column: Any, key: str, name: str, of_chats: SearchOptions, listed: Sequence[VersionStatus]
) -> Trial:
    with column:
        with st.popover(name, icon=":material/tune:", key=f"{key}-popover"):
            options = parts.draw_options(key, of_chats)
            version_id = parts.draw_version(f"{key}-version", listed)
        st.caption(markdown.literal(parts.in_words(options)))
        st.caption(
            "As in chats." if options == of_chats and not version_id else "Other than in chats."
        )
    return Trial(options, version_id or "")


def _begin(collection: Collection, chosen: QuestionSet, trials: Sequence[Trial]) -> None:
    """Measure all trials in one run, one after the other, so that none slows the other down."""
    workspace, owner = state.workspace(), state.owner()
    if runs.live(owner, kind=KIND):  # the button was clicked twice
        return

    def work() -> list[Measurement]:
        return [
            measure(
                workspace.library,
                owner,
                chosen.id,
                collection.name,
                trial.options,
                trial.version_id,
            )
            for trial in trials
        ]

    run = runs.start(
        work,
        kind=KIND,
        title=f"{chosen.name} on {collection.name}",
        owner=owner,
        ledger=workspace.ledger,
        size=chosen.questions * len(trials),
    )
    results.compare_newest()
    st.session_state[_WATCHED] = run.id


@st.fragment(run_every=progress.POLL_S)
def _draw_live(run_ids: list[str]) -> None:
    """How far the runs are; when one ends, the page is drawn anew."""
    for run_id in run_ids:
        run = state.find_run(run_id)
        if run is None or run.ended:
            dialogs.redraw()
            continue
        done = sum(isinstance(recorded.event, Retrieved) for recorded in run.events())
        with st.container(border=True, key=f"measure-{run.id}", gap="xsmall"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**Measuring {markdown.literal(run.title)}**", width="stretch")
                label, icon = ("Cancelling" if run.stopping else "Cancel"), ":material/stop_circle:"
                st.button(
                    label,
                    key=f"stop-{run.id}",
                    icon=icon,
                    type="tertiary",
                    on_click=run.stop,
                    disabled=run.stopping,
                )
            text = f"{figures.count(done)} of {figures.count(run.size, 'question')}"
            st.progress(min(1.0, done / max(1, run.size)), text=text)


def _draw_ends() -> None:
    """What came of the run that was begun here last, when it failed or was cancelled; results speak
    for themselves.
    """
    run = state.find_run(st.session_state.get(_WATCHED, ""))
    if run is None or not run.ended:
        return
    try:
        run.result()
    except Stopped:
        st.warning("Cancelled: of what was under way nothing is kept.", icon=":material/warning:")
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
    except Exception as error:  # noqa: BLE001 (the log has it; the page must not break)
        st.error(
            f"The measurement broke off ({markdown.literal(str(error))}). Try it again.",
            icon=":material/error:",
        )
