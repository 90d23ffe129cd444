"""Which chat the page's address names: `?chat=ID`, nothing for a new one."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from agentkit.errors import NotFound
from agentkit.teams import Question
from agentkit.ui.shared import state

_CHAT = "chat"
_OPEN = "open-chat"
_WAY = "way-to-chat"


class Way:
    """Where the session is going, until the browser has gone there.

    A callback asks for it first and says where to go last: it may be interrupted then.
    """

    def __init__(self) -> None:
        self.begun: str | None = None
        """The chat that began last in this session."""
        self.sent: Question | None = None
        """What was asked last in this session, as it stood on the page."""
        self.drawn: object = None
        """What the button was drawn with that asked last a text as if it had been typed."""
        self._to: str | None = None
        self._is_told = False

    def go_to(self, chat_id: str | None) -> None:
        """Name this chat, or with None a new one; the address in the browser follows."""
        self._to, self._is_told = chat_id or "", False
        _write(self._to)

    def follow(self) -> None:
        """What the browser sent while the new address was on its way still names the chat before:
        that is put right. Its buttons Back and Forward are obeyed.
        """
        if self._to is None:
            return
        if getattr(get_script_run_ctx(), "is_history_navigation", False):
            self.end()
            return
        if st.query_params.get(_CHAT, "") != self._to:
            _write(self._to)
        elif self._is_told:
            self.end()
        self._is_told = True

    def end(self) -> None:
        """The browser is there, or has gone elsewhere."""
        self._to = None


def way() -> Way:
    """The one of this session."""
    known: Way = st.session_state.setdefault(_WAY, Way())
    return known


def follow() -> None:
    """To be called first on the page.

    Whoever comes from another page by *Chat* finds the chat that was open in this session; not on
    the page itself: there, the browser's way back to a new chat has no chat in its address, too.
    """
    if not state.comes_from_elsewhere():
        way().follow()
        return
    way().end()
    chat_id = st.session_state.get(_OPEN)
    if not chat_id or _CHAT in st.query_params:
        return
    try:
        _write(state.workspace().ledger.chat(state.owner(), chat_id).id)
    except NotFound:  # deleted meanwhile
        st.session_state.pop(_OPEN)


def remember(chat_id: str | None) -> None:
    """The chat that is on the page now."""
    st.session_state[_OPEN] = chat_id


def read_chat() -> str:
    """The chat in the address of the page; empty for a new one, and on other pages."""
    return st.query_params.get(_CHAT, "")


def _write(chat_id: str) -> None:
    if chat_id:
        st.query_params[_CHAT] = chat_id
    else:
        st.query_params.pop(_CHAT, None)
