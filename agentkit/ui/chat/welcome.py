"""What a newcomer sees: the way to documents first, then questions to try."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError
from agentkit.ui.chat import choices, composer, narrowing
from agentkit.ui.documents import progress
from agentkit.ui.shared import state
from agentkit.ui.text import markdown
from agentkit.workspace import SAMPLES


def draw_welcome(known: Mapping[str, int]) -> None:
    """The first useful action: documents when there are none, suggested questions over the samples,
    else a hint.
    """
    progress.draw_progress()
    ingesting = bool(runs.live(state.owner(), kind="ingest"))
    if any(known.values()):
        _draw_suggestions(known, ingesting)
    elif not ingesting:
        _draw_first_steps()


def _draw_first_steps() -> None:
    st.markdown(
        "There are no documents yet. Load a few samples to see how it works, add documents of your"
        " own, or attach files to a question below: those are used in that chat only."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        icon = ":material/library_add:"
        st.button(
            "Load the sample documents",
            type="primary",
            icon=icon,
            key="load-samples",
            on_click=_load_samples,
        )
        st.page_link(
            state.PAGES / "documents.py", label="Add your documents", icon=":material/upload_file:"
        )
    if problem := st.session_state.get("samples-problem"):
        st.error(markdown.literal(problem), icon=":material/error:")


def _load_samples() -> None:
    st.session_state.pop("samples-problem", None)
    try:
        progress.watch(state.workspace().ingest_samples(state.owner()))
    except AgentkitError as error:
        st.session_state["samples-problem"] = str(error)


def _draw_suggestions(known: Mapping[str, int], ingesting: bool) -> None:
    chosen = choices.choice(None, known)
    if chosen.collection != SAMPLES:
        name = markdown.literal(chosen.collection)
        st.markdown(
            f"Ask **{name}** below. Every answer cites its sources; open one to see its place."
        )
        return
    if ingesting:  # what answers may still be missing
        return
    st.markdown("Ask the sample documents, for example:")
    with st.container(
        gap="xsmall"
    ):  # buttons, not pills: a chosen pill would ask once more whenever the page is drawn anew
        scope = narrowing.chosen(None, chosen.collection)
        for text in suggested_questions(state.workspace().settings.sample_questions):
            question = replace(chosen, text=text, scope=scope)
            st.button(
                markdown.literal(text), key=f"ask-{text}", on_click=composer.send, args=(question,)
            )


@st.cache_data(show_spinner=False)
def suggested_questions(path: Path) -> list[str]:
    """The questions that the samples' list marks as suggested."""
    listed = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [entry["question"] for entry in listed if entry.get("suggested")]
