"""The chats in the sidebar: a new one, search, open, rename, delete."""

from __future__ import annotations

from math import ceil

import streamlit as st

from agentkit import runs
from agentkit.ledger import Chat
from agentkit.ui.chat.source import open_source
from agentkit.ui.shared import state
from agentkit.ui.text import markdown

PER_PAGE = 20
_DIALOG = "chat-dialog"


def open_chat(chat_id: str | None) -> None:
    """Go to a chat, or with None to a new one; the address in the browser follows."""
    open_source("")
    if chat_id:
        st.query_params["chat"] = chat_id
    else:
        st.query_params.pop("chat", None)


def draw_chat_list(current: str | None) -> None:
    """The list in the sidebar, newest chat first; `current` is the one on the page."""
    ledger, owner = state.workspace().ledger, state.owner()
    with st.sidebar:
        st.button("New chat", icon=":material/edit_square:", key="new-chat", on_click=open_chat, args=(None,), width="stretch")
        search = st.text_input(
            "Search chats", key="chat-search", placeholder="Search chats", label_visibility="collapsed", icon=":material/search:"
        )
        total = ledger.count_chats(owner, search.strip())
        if not total:
            st.caption("No chat has these words." if search.strip() else "Your chats will be listed here.")
            return
        with st.container(gap="xxsmall", key="chat-list"):
            place = st.container(gap="xxsmall")
            pages = ceil(total / PER_PAGE)
            page = st.pagination(pages, key=f"chat-page-{search}", max_visible_pages=5) if pages > 1 else 1
            running = {run.chat_id for run in runs.live(owner, kind="chat")}
            with place:
                for chat in ledger.chats(owner, search.strip(), PER_PAGE, (page - 1) * PER_PAGE):
                    _draw_row(chat, current=chat.id == current, running=chat.id in running)
    _draw_dialog(current)


def _draw_row(chat: Chat, *, current: bool, running: bool) -> None:
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="xxsmall", key=f"chat-row-{chat.id}"):
        title = markdown.literal(chat.title)
        icon = "spinner" if running else ":material/chat_bubble:" if current else None
        label = f"**{title}**" if current else title
        with st.container():  # keeps the title at the left; a button as wide as the row would centre it
            st.button(label, key=f"chat-{chat.id}", type="tertiary", icon=icon, on_click=open_chat, args=(chat.id,), wrap=False)
        menu = f"chat-menu-{chat.id}"

        def chosen() -> None:
            st.session_state[_DIALOG] = (st.session_state[menu], chat)

        name = "Rename or delete this chat"
        st.menu_button(name, ["Rename", "Delete"], key=menu, type="tertiary", help=name, on_click=chosen)


def _draw_dialog(current: str | None) -> None:
    """What was chosen from a chat's menu; kept in the session, so that the end of an answer does not close it."""
    action, chat = st.session_state.get(_DIALOG, ("", None))
    if action == "Rename":
        _rename(chat)
    elif action == "Delete":
        _delete(chat, chat.id == current)


def _close() -> None:
    st.session_state.pop(_DIALOG, None)


@st.dialog("Rename the chat", on_dismiss=_close)
def _rename(chat: Chat) -> None:
    with st.form("rename", border=False):
        title = " ".join(st.text_input("Title", value=chat.title, max_chars=120, key="chat-title").split())
        saved = st.form_submit_button("Rename", type="primary", key="rename-chat")
    if saved and not title:
        st.error("The title is empty; type a name for this chat.")
    elif saved:
        _close()
        state.workspace().ledger.update_chat(state.owner(), chat.id, title=title)
        st.rerun()


@st.dialog("Delete the chat?", on_dismiss=_close)
def _delete(chat: Chat, current: bool) -> None:
    st.markdown(
        f"**{markdown.literal(chat.title)}** goes with its messages and the files attached to it alone. "
        "What its calls cost stays on the Usage page. This cannot be undone."
    )
    with st.container(horizontal=True):
        sure = st.button("Delete", key="delete-chat", type="primary", icon=":material/delete:")
        st.button("Keep", key="keep-chat", on_click=_close)
    if sure:
        _close()
        state.workspace().delete_chat(state.owner(), chat.id)
        if current:
            open_chat(None)
        st.rerun()
    elif _DIALOG not in st.session_state:
        st.rerun()
