"""Choosing a collection, and making, renaming, exporting, importing and deleting one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.retrieval import Collection
from agentkit.ui.documents import transfer
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

_CHOSEN, _NEXT = "collection", "collection-next"
_ACTIONS = {
    "New collection": ":material/create_new_folder:",
    "Rename": ":material/edit:",
    transfer.EXPORT: ":material/archive:",
    transfer.IMPORT: ":material/unarchive:",
    "Delete": ":material/delete:",
}


def choose(name: str) -> None:
    """Look at this collection from the next drawing on, or from when it is there."""
    st.session_state[_NEXT] = name


def draw_select(known: Sequence[Collection]) -> Collection:
    """The collection to look at (there is at least one), as `?collection=` in the address."""
    by_size = sorted(known, key=lambda one: -one.documents)
    by_name = {one.name: one for one in by_size}
    names = list(by_name)  # the first is shown until one is chosen
    if st.session_state.get(_NEXT) in names:
        st.session_state[_CHOSEN] = st.session_state.pop(_NEXT)
    elif st.session_state.get(_CHOSEN, names[0]) not in names:
        del st.session_state[_CHOSEN]
    name = st.selectbox("Collection", names, key=_CHOSEN, bind="query-params", width=360)
    return by_name[name]


def draw_choice(known: Sequence[Collection]) -> Collection:
    """`draw_select`, with what can be done with the collection."""
    for arrived in transfer.take_arrived():
        choose(arrived)
    with st.container(horizontal=True, vertical_alignment="bottom", key="collection-row"):
        chosen = draw_select(known)

        def manage() -> None:
            dialogs.ask(st.session_state["collection-menu"], chosen)

        st.menu_button(
            "Manage",
            list(_ACTIONS),
            format_func=lambda action: f"{_ACTIONS[action]} {action}",
            on_click=manage,
            key="collection-menu",
            icon=":material/folder_managed:",
            help="Make or import a collection; rename, export or delete this one",
        )
    _draw_dialog()
    return chosen


def draw_size(collection: Collection) -> None:
    """How much is in it, and the way to look into what is found in it."""
    with st.container(horizontal=True, vertical_alignment="center", key="collection-size"):
        size = (
            f"{figures.count(collection.documents, 'document')},"
            f" {figures.count(collection.chunks, 'chunk')}"
        )
        st.caption(size, width="content")
        st.page_link(
            state.PAGES / "retrieval_lab.py",
            label="Try it in the retrieval lab",
            icon=":material/science:",
            query_params={"collection": collection.name},
        )


def draw_import() -> None:
    """The way to a collection while there is none."""
    about = "A collection that was exported here or elsewhere, as one file"
    st.button(
        "Import a collection",
        key="import-first",
        icon=":material/unarchive:",
        on_click=dialogs.ask,
        args=(transfer.IMPORT,),
        help=about,
    )
    transfer.draw_dialog()


def _draw_dialog() -> None:
    match dialogs.read_open():
        case ("New collection", _):
            _create()
        case ("Rename", Collection() as chosen):
            _rename(chosen)
        case ("Delete", Collection() as chosen):
            _delete(chosen)
        case _:
            transfer.draw_dialog()


@dialogs.dialog("New collection")
def _create() -> None:
    with st.form("create-collection", border=False):
        name = st.text_input(
            "Name", max_chars=120, placeholder="Contracts 2026", key="collection-name"
        )
        st.caption("Documents of a collection are searched together; a chat asks one collection.")
        made = st.form_submit_button("Create", type="primary", key="create")
    if made:
        _change_named(lambda: state.workspace().library.create_collection(state.owner(), name))


@dialogs.dialog("Rename the collection")
def _rename(collection: Collection) -> None:
    with st.form("rename-collection", border=False):
        name = st.text_input(
            "Name", value=collection.name, max_chars=120, key="collection-new-name"
        )
        saved = st.form_submit_button("Rename", type="primary", key="rename")
    if saved:
        _change_named(
            lambda: state.workspace().library.rename_collection(
                state.owner(), collection.name, name
            )
        )


def _change_named(change: Callable[[], Collection]) -> None:
    """Make the change and look at the collection, or say why it cannot be made."""
    try:
        choose(change().name)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)))
        return
    dialogs.close()
    st.rerun()


@dialogs.dialog("Delete the collection?")
def _delete(collection: Collection) -> None:
    st.markdown(
        f"**{markdown.literal(collection.name)}** goes with"
        f" {figures.count(collection.documents, 'document')} and"
        f" {figures.count(collection.chunks, 'chunk')}: no answer will use them any more. Chats"
        " stay, and keep the passages they cited. This cannot be undone."
    )
    if dialogs.confirm("delete-collection", "Delete"):
        try:
            state.workspace().library.delete_collection(state.owner(), collection.name)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)))
            return
        dialogs.close()
        st.rerun()
