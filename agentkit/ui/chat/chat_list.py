"""The chats in the sidebar: a new one, search, open, rename, delete; which answer, wait, or are
done.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal

import streamlit as st

from agentkit import runs
from agentkit.ledger import Chat
from agentkit.ui.chat import address, live
from agentkit.ui.chat.source import open_source
from agentkit.ui.shared import components, state
from agentkit.ui.text import markdown

Mark = Literal["", "answering", "waiting", "finished"]
"""What stands out of a chat: an answer is on its way, it waits for the person, or one has ended
that was not looked at since.
"""

PER_PAGE = 20
POLL_S = 2.0
_DIALOG = "chat-dialog"
_GOING_ON = "chats-going-on"
_MARKS: dict[Mark, tuple[str, str]] = {
    "answering": ("spinner", "Answering"),
    "waiting": (":material/contact_support:", "Waiting for you"),
    "finished": (":material/mark_chat_unread:", "Has finished"),
}


def open_chat(chat_id: str | None) -> None:
    """Go to a chat, or with None to a new one; the address in the browser follows."""
    open_source("")
    address.way().go_to(chat_id)


def draw_chat_list(current: str | None) -> None:
    """The list in the sidebar, newest chat first; `current` is the one on the page."""
    ledger, owner = state.workspace().ledger, state.owner()
    address.remember(current)
    with st.sidebar:
        st.button(
            "New chat",
            icon=":material/edit_square:",
            key="new-chat",
            on_click=open_chat,
            args=(None,),
            width="stretch",
        )
        search = st.text_input(
            "Search chats",
            key="chat-search",
            placeholder="Search chats",
            label_visibility="collapsed",
            icon=":material/search:",
        ).strip()
        total = ledger.count_chats(owner, search)
        if not total:
            st.caption("No chat has these words." if search else "Your chats will be listed here.")
        with st.container(gap="xxsmall", key="chat-list"):
            place = st.container(gap="xxsmall")
            pages = ceil(total / PER_PAGE)
            page = (
                st.pagination(pages, key=f"chat-page-{search}", max_visible_pages=5)
                if pages > 1
                else 1
            )
            listed = _listed(search, page, current)
            with place:
                for chat, mark in listed:
                    _draw_row(chat, mark, current=chat.id == current)
        goes_on = any(mark in ("answering", "waiting") for _, mark in listed)
        every = live.pace_looks(POLL_S) if goes_on else None
        st.fragment(_watch, run_every=every)(listed, search, page, current)
    _draw_dialog(current)


def _watch(drawn: Sequence[tuple[Chat, Mark]], search: str, page: int, current: str | None) -> None:
    """Draw the page anew when the list is no longer what was `drawn`.

    It looks while a chat goes on, and whenever somebody comes back to the browser's tab: another
    one may have begun a chat meanwhile.
    """
    components.looked_at("chat-list-watch")
    if _shown(_listed(search, page, current)) != _shown(drawn):
        st.rerun()


def _shown(listed: Sequence[tuple[Chat, Mark]]) -> list[tuple[str, str, Mark]]:
    return [(chat.id, chat.title, mark) for chat, mark in listed]


def _listed(search: str, page: int, current: str | None) -> list[tuple[Chat, Mark]]:
    """The chats of this page of the list, with what stands out of them."""
    owner = state.owner()
    going_on = {run.chat_id: run for run in runs.live(owner, kind="chat")}
    ended = st.session_state.get(_GOING_ON, set()) - {current} - going_on.keys()
    st.session_state[_GOING_ON] = ended | going_on.keys()

    def mark(chat_id: str) -> Mark:
        if run := going_on.get(chat_id):
            return "waiting" if run.waiting_for else "answering"
        return "finished" if chat_id in ended else ""

    chats = state.workspace().ledger.chats(owner, search, PER_PAGE, (page - 1) * PER_PAGE)
    return [(chat, mark(chat.id)) for chat in chats]


def _draw_row(chat: Chat, mark: Mark, *, current: bool) -> None:
    with st.container(
        horizontal=True,
        wrap=False,
        vertical_alignment="center",
        gap="xxsmall",
        key=f"chat-row-{chat.id}",
    ):
        title = markdown.literal(chat.title)
        label = f"**{title}**" if current else title
        icon, told = _MARKS.get(mark, (":material/chat_bubble:" if current else None, ""))
        with st.container():  # keeps the title at the left; one as wide as the row is centred
            st.button(
                f"{label} :small[{told.lower()}]" if told else label,  # seen by screen readers only
                key=f"chat-{chat.id}",
                type="tertiary",
                icon=icon,
                help=f"{told}: {title}" if told else None,
                on_click=open_chat,
                args=(chat.id,),
                wrap=False,
            )
        menu = f"chat-menu-{chat.id}"

        def chosen() -> None:
            st.session_state[_DIALOG] = (st.session_state[menu], chat)

        st.menu_button(
            f"Rename or delete {title}",  # seen by screen readers only
            ["Rename", "Delete"],
            key=menu,
            type="tertiary",
            help="Rename or delete this chat",
            on_click=chosen,
        )


def _draw_dialog(current: str | None) -> None:
    """What was chosen from a chat's menu; kept in the session, so that the end of an answer does
    not close it.
    """
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
        title = " ".join(
            st.text_input("Title", value=chat.title, max_chars=120, key="chat-title").split()
        )
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
        f"**{markdown.literal(chat.title)}** goes with its messages and the files attached to it"
        " alone. What its calls cost stays on the Usage page. This cannot be undone."
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
