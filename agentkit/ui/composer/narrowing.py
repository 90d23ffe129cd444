"""What the next questions of a chat look into: all of the collection, or a part that is chosen
beside the composer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from agentkit.errors import NotFound
from agentkit.retrieval import Collection
from agentkit.retrieval.types import Scope
from agentkit.teams.question import EVERYTHING, scope_from_json, scope_to_json
from agentkit.ui.shared import dialogs, filters, kept, state
from agentkit.ui.text import figures, markdown

_NARROW = "Narrow"


def read_scope(chat_id: str | None, collection: str) -> Scope:
    """What the next question of this chat (None for a new one) looks into."""
    narrowed = _read_narrowing(chat_id)
    if not narrowed:  # as nearly always: nothing need be looked up then
        return EVERYTHING
    there = _collection(collection)
    found = narrowed.get(there.id) if there else None
    return scope_from_json(found["scope"]) if found else EVERYTHING


def follow(chat_id: str) -> None:
    """A new chat has become this one: it stays narrowed, the next new one is not."""
    kept.put(chat_id, "narrowed", kept.get(None, "narrowed"))
    kept.put(None, "narrowed", None)


def forget() -> None:
    """Let the next new chat look into everything."""
    kept.put(None, "narrowed", None)


def find_narrowed(collection: str) -> Mapping[str, object] | None:
    """What narrows the next new chat over this collection, as JSON values; None for nothing."""
    there = _collection(collection)
    return _read_narrowing(None).get(there.id) if there else None


def take_over(collection: str, given: object) -> None:
    """Let what `find_narrowed` gave, here or elsewhere, narrow the next new chat; raises ValueError
    for what it cannot have given.
    """
    there = _collection(collection)
    if there is None or not isinstance(given, Mapping):
        raise ValueError("This narrows nothing.")
    scope = scope_to_json(scope_from_json(given.get("scope", {})))
    fields = filters.check_filled(given.get("fields", {}))
    _keep(None, there.id, {"scope": scope, "fields": fields})


def draw_line(chat_id: str | None, collection: str) -> None:
    """What the next question is narrowed to, and the way to clear it; nothing while it is not."""
    if not _read_narrowing(chat_id):
        return
    there, scope = _collection(collection), read_scope(chat_id, collection)
    if there is None or not (words := filters.in_words(scope)):
        return
    key = _key(chat_id, there)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="narrowed"):
        st.caption(f":material/filter_alt: Only: {words}", width="content")
        st.button(
            "Clear",
            key=f"{key}-clear",
            icon=":material/filter_alt_off:",
            type="tertiary",
            on_click=_clear,
            args=(chat_id, there.id),
        )


def draw_button(chat_id: str | None, collection: str) -> None:
    """Opens the choice, a dialog: its fields look all documents up, which only they who ask for it
    should wait for.
    """
    there = _collection(collection)
    if there is None or not there.documents:
        return
    about = "Let the next questions look only into some documents, file types, tags, days or pages."
    st.button(
        "Narrow",
        icon=":material/filter_alt:",
        type="tertiary",
        key="narrow",
        on_click=_open,
        args=(chat_id, there),
        help=about,
    )
    if dialogs.read_open()[0] == _NARROW:
        _narrow(there, chat_id)


def _open(chat_id: str | None, collection: Collection) -> None:
    """The fields show what narrows the chat now, whichever tab has chosen it."""
    found = _read_narrowing(chat_id).get(collection.id)
    filters.fill(_key(chat_id, collection), filters.check_filled(found and found["fields"]))
    dialogs.ask(_NARROW)


@dialogs.dialog("Narrow the next questions")
def _narrow(collection: Collection, chat_id: str | None) -> None:
    key = _key(chat_id, collection)
    size = figures.count(collection.documents, "document")
    st.caption(
        f"Of **{markdown.literal(collection.name)}** ({size}), this chat looks only into what fits"
        " all of these."
    )
    filters.draw_fields(collection, key)
    dialogs.keep_by(partial(_keep_fields, chat_id, collection))
    with st.container(horizontal=True):
        done = st.button("Done", key="narrow-done", type="primary", on_click=dialogs.close)
        st.button(
            "Clear",
            key="narrow-clear",
            icon=":material/filter_alt_off:",
            type="tertiary",
            on_click=_clear,
            args=(chat_id, collection.id),
        )
    if done:
        st.rerun()


def _keep_fields(chat_id: str | None, collection: Collection) -> None:
    key, narrowed = _key(chat_id, collection), None
    scope = scope_to_json(filters.read_scope(collection, key))
    if scope:
        narrowed = {"scope": scope, "fields": filters.read_fields(key)}
    _keep(chat_id, collection.id, narrowed)


def _clear(chat_id: str | None, collection_id: str) -> None:
    _keep(chat_id, collection_id, None)
    filters.clear(_key_of(chat_id, collection_id))


def _read_narrowing(chat_id: str | None) -> dict[str, Any]:
    """What narrows a chat, by the ids of the collections: the scope, and the fields that gave
    it.
    """
    return dict(kept.get(chat_id, "narrowed") or {})


def _keep(chat_id: str | None, collection_id: str, narrowed: Mapping[str, object] | None) -> None:
    now = dict(_read_narrowing(chat_id))
    now.pop(collection_id, None)
    if narrowed:
        now[collection_id] = narrowed
    kept.put(chat_id, "narrowed", now or None)


def _collection(name: str) -> Collection | None:
    try:
        return state.workspace().library.collection(state.owner(), name)
    except NotFound:
        return None


def _key(chat_id: str | None, collection: Collection) -> str:
    return _key_of(chat_id, collection.id)


def _key_of(chat_id: str | None, collection_id: str) -> str:
    return f"narrow-{chat_id or 'new'}-{collection_id}"
