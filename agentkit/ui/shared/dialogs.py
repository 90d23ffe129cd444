"""Which dialog is open. It is kept in the session, so that an ingest that ends meanwhile does not
close it.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

_OPEN = "dialog"


def ask(name: str, subject: object = None) -> None:
    """Open a dialog about something, from the next drawing on."""
    st.session_state[_OPEN] = (name, subject)


def read_open() -> tuple[str, Any]:
    """The name of the open dialog, empty if there is none, and what it is about."""
    found: tuple[str, Any] = st.session_state.get(_OPEN, ("", None))
    return found


def close() -> None:
    """Close the dialog, from the next drawing on."""
    st.session_state.pop(_OPEN, None)


def confirm(key: str, label: str, icon: str = ":material/delete:", other: str = "Keep") -> bool:
    """The two buttons under a question, `label` to do it and `other` to leave it; True when it is
    to be done.
    """
    with st.container(horizontal=True):
        sure = st.button(label, key=key, type="primary", icon=icon)
        st.button(other, key=f"{key}-not", on_click=close)
    if not read_open()[0]:
        st.rerun()
    return sure
