"""Which chat the page's address names: `?chat=ID`, nothing for a new one."""

from __future__ import annotations

import streamlit as st

from agentkit.errors import NotFound
from agentkit.ui.shared import state

_CHAT = "chat"
_OPEN = "open-chat"


def go_to(chat_id: str | None) -> None:
    """Name this chat, or with None a new one; the address in the browser follows."""
    if chat_id:
        st.query_params[_CHAT] = chat_id
    else:
        st.query_params.pop(_CHAT, None)


def follow() -> None:
    """To be called first on the page.

    Whoever comes from another page by *Chat* finds the chat that was open in this session; not on
    the page itself: there, the browser's way back to a new chat has no chat in its address, too.
    """
    chat_id = st.session_state.get(_OPEN)
    if not (state.comes_from_elsewhere() and chat_id) or _CHAT in st.query_params:
        return
    try:
        go_to(state.workspace().ledger.chat(state.owner(), chat_id).id)
    except NotFound:  # deleted meanwhile
        st.session_state.pop(_OPEN)


def remember(chat_id: str | None) -> None:
    """The chat that is on the page now."""
    st.session_state[_OPEN] = chat_id


def read_chat() -> str:
    """The chat in the address of the page; empty for a new one, and on other pages."""
    return st.query_params.get(_CHAT, "")
