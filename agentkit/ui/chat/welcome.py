"""What a newcomer sees: the way to documents first, then questions to try."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from agentkit import runs
from agentkit.core.given import find_first, pick_filled
from agentkit.errors import AgentkitError, NotFound
from agentkit.ledger import Chat
from agentkit.retrieval import Collection
from agentkit.ui.chat.followups import to_question
from agentkit.ui.composer import choices, composer
from agentkit.ui.documents import progress
from agentkit.ui.shared import dialogs, kept, state
from agentkit.ui.text import markdown
from agentkit.workspace import SAMPLES, followups

_STARTERS = "Questions to begin with"
_MOST, _LONGEST = 4, 300


def draw_welcome(known: Mapping[str, int], chat: Chat | None = None) -> None:
    """The first useful action: documents when there are none, suggested questions over the samples,
    else a hint. `chat` is one without a question, None for a new one.
    """
    progress.draw_progress()
    ingesting = bool(runs.live(state.owner(), kind="ingest"))
    if any(known.values()):
        _draw_suggestions(known, chat, ingesting=ingesting)
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
    if runs.live(state.owner(), kind="ingest"):  # it was clicked twice
        return
    try:
        progress.watch(state.workspace().ingest_samples(state.owner()))
    except AgentkitError as error:
        st.session_state["samples-problem"] = str(error)


def _draw_suggestions(known: Mapping[str, int], chat: Chat | None, *, ingesting: bool) -> None:
    """Questions to begin with: those that the person set for the collection, else examples."""
    chosen = choices.choice(chat, known)
    there = _find(chosen.collection)
    if there is None or (ingesting and there.name == SAMPLES):  # what answers may still be missing
        return
    asked = list_starters(there)
    name = "the sample documents"
    if there.name != SAMPLES:
        name = f"**{markdown.literal(there.name)}**"
    examples = f"Ask {name}, for example:"
    alone = f"Ask {name} below. Every answer cites its sources; open one to see its place."
    st.markdown(examples if asked else alone)
    with st.container(gap="xsmall"):
        _draw_starters(chat, asked)
        st.button(
            "Change these questions" if asked else "Set questions to begin with",
            key="change-starters",
            icon=":material/edit:",
            type="tertiary",
            on_click=dialogs.ask,
            args=(_STARTERS, there),
        )


def _draw_starters(chat: Chat | None, asked: Sequence[str]) -> None:
    """Buttons, not pills: a chosen pill would ask once more whenever the page is drawn anew."""
    drawn = object()
    for text in asked:
        st.button(
            markdown.literal(text),
            key=f"ask-{text}",
            on_click=composer.ask,
            args=(chat, text, drawn),
        )


def draw_dialog() -> None:
    """The dialog for the questions of a collection, if it is open."""
    match dialogs.read_open():
        case (name, Collection() as there) if name == _STARTERS:
            _change(there)


def list_starters(there: Collection) -> list[str]:
    """The questions with which a chat over a collection may begin.

    Those that were set, those of the samples, else what headings of its documents give.
    """
    if own := _read_own(there):
        return own
    if there.name == SAMPLES:
        return read_suggested_questions(state.workspace().settings.sample_questions)
    return _from_headings(there.id, there.name, there.chunks)


@dialogs.dialog(_STARTERS)
def _change(there: Collection) -> None:
    with st.form("starters", border=False):
        text = st.text_area(
            f"For new chats over {markdown.literal(there.name)}, one a line, up to {_MOST}",
            "\n".join(list_starters(there)[:_MOST]),
            height=160,
            max_chars=_MOST * _LONGEST,
            key=f"starters-{there.id}",
        )
        st.caption("Leave it empty for questions made from headings of the documents.")
        saved = st.form_submit_button("Save", key="save-starters", type="primary")
    if saved and (problem := _save(there, text)):
        st.error(problem)
    elif saved:
        dialogs.close()
        st.rerun()


def _save(there: Collection, text: str) -> str:
    """Keep the questions; gives what is wrong with them."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    asked = list(dict.fromkeys(filter(None, lines)))
    if len(asked) > _MOST:
        return f"These are {len(asked)} questions; up to {_MOST} can be set, one a line."
    every = dict(kept.get(None, "starters") or {})
    every[there.id] = asked
    kept.put(None, "starters", pick_filled(every))
    return ""


def _read_own(there: Collection) -> list[str]:
    """The questions that the person set for a collection."""
    every = kept.get(None, "starters")
    found = []
    if isinstance(every, dict):
        found = every.get(there.id, [])
    return [str(one) for one in found]


def _find(name: str) -> Collection | None:
    """The collection; None for one that is not there yet."""
    known = state.workspace().library.collections(state.owner())
    return find_first(known, lambda one: one.name == name)


@st.cache_data(max_entries=50, show_spinner=False)
def _from_headings(collection_id: str, name: str, chunks: int) -> list[str]:
    """What headings of the documents give, looked up anew when there are more or fewer chunks."""
    library, owner = state.workspace().library, state.owner()
    try:
        found = followups.list_headings(library, owner, name, _MOST)
    except NotFound:  # deleted meanwhile
        return []
    return list(map(to_question, found))


@st.cache_data(show_spinner=False)
def read_suggested_questions(path: Path) -> list[str]:
    """The questions that the samples' list marks as suggested."""
    listed = []
    if path.is_file():
        listed = json.loads(path.read_text(encoding="utf-8"))
    return [entry["question"] for entry in listed if entry.get("suggested")]
