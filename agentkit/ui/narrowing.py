"""What the next questions of a chat look into: all of the collection, or a part that is chosen beside the composer."""

from __future__ import annotations

import streamlit as st

from agentkit.errors import NotFound
from agentkit.retrieval import Collection
from agentkit.retrieval.types import Scope
from agentkit.ui import dialogs, figures, lab_filters, markdown, state
from agentkit.workspace import EVERYTHING

_NARROW = "Narrow"


def chosen(chat_id: str | None, collection: str) -> Scope:
    """What the next question of this chat (None for a new one) looks into."""
    there = _collection(collection)
    found: Scope = st.session_state.get(_scope_key(_key(chat_id, there)), EVERYTHING) if there else EVERYTHING
    return found


def follow(chat_id: str, collection: str) -> None:
    """A new chat has become this one: it stays narrowed, the next new one is not."""
    there = _collection(collection)
    if there is None:
        return
    before, now = _key(None, there), _key(chat_id, there)
    st.session_state[_scope_key(now)] = st.session_state.pop(_scope_key(before), EVERYTHING)
    lab_filters.move(before, now)


def draw_line(chat_id: str | None, collection: str) -> None:
    """What the next question is narrowed to, and the way to clear it; nothing while it is not."""
    there, scope = _collection(collection), chosen(chat_id, collection)
    if there is None or not (words := lab_filters.in_words(scope)):
        return
    key = _key(chat_id, there)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="narrowed"):
        st.caption(f":material/filter_alt: Only: {words}", width="content")
        st.button("Clear", key=f"{key}-clear", icon=":material/filter_alt_off:", type="tertiary", on_click=_clear, args=(key,))


def draw_button(chat_id: str | None, collection: str) -> None:
    """Opens the choice, a dialog: its fields look all documents up, which only they who ask for it should wait for."""
    there = _collection(collection)
    if there is None or not there.documents:
        return
    about = "Let the next questions look only into some documents, file types, tags, days or pages."
    st.button(
        "Narrow",
        icon=":material/filter_alt:",
        type="tertiary",
        key="narrow",
        on_click=dialogs.ask,
        args=(_NARROW, None),
        help=about,
    )
    if dialogs.asked()[0] == _NARROW:
        _narrow(there, _key(chat_id, there))


@st.dialog("Narrow the next questions", on_dismiss=dialogs.close)
def _narrow(collection: Collection, key: str) -> None:
    size = figures.count(collection.documents, "document")
    st.caption(f"Of **{markdown.literal(collection.name)}** ({size}), this chat looks only into what fits all of these.")
    st.session_state[_scope_key(key)] = lab_filters.draw_fields(collection, key)
    with st.container(horizontal=True):
        done = st.button("Done", key="narrow-done", type="primary", on_click=dialogs.close)
        st.button("Clear", key="narrow-clear", icon=":material/filter_alt_off:", type="tertiary", on_click=_clear, args=(key,))
    if done:
        st.rerun()


def _clear(key: str) -> None:
    st.session_state.pop(_scope_key(key), None)
    lab_filters.clear(key)


def _collection(name: str) -> Collection | None:
    try:
        return state.workspace().library.collection(state.owner(), name)
    except NotFound:
        return None


def _key(chat_id: str | None, collection: Collection) -> str:
    return f"narrow-{chat_id or 'new'}-{collection.id}"


def _scope_key(key: str) -> str:
    return f"{key}-scope"
