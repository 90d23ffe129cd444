"""Which dialog is open. It is kept in the session, so that an ingest that ends meanwhile does not
close it, as long as what it was opened on is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

_OPEN, _KEEP, _WHERE = "dialog", "dialog-keep", "dialog-where"


def ask(name: str, subject: object = None) -> None:
    """Open a dialog about something, from the next drawing on."""
    st.session_state.pop(_KEEP, None)
    st.session_state[_OPEN] = (name, subject)


def read_open() -> tuple[str, Any]:
    """The name of the open dialog, empty if there is none, and what it is about."""
    found: tuple[str, Any] = st.session_state.get(_OPEN, ("", None))
    return found


def close() -> None:
    """Close the dialog, from the next drawing on."""
    keep: Callable[[], None] | None = st.session_state.pop(_KEEP, None)
    if keep:
        keep()
    st.session_state.pop(_OPEN, None)


def turn_to(**where: str) -> None:
    """Close the dialog if this names another page, or another chat, than the last drawing did: the
    browser's Back button leads there with the dialog open, whose fields are those of before.
    """
    before: dict[str, str] = st.session_state.get(_WHERE, {})
    if any(before.get(name, value) != value for name, value in where.items()):
        close()
    st.session_state[_WHERE] = {**before, **where}


def keep_by(keep: Callable[[], None]) -> None:
    """How what stands in the fields of the open dialog is kept.

    It is done once more when the dialog closes: what was typed last comes together with that, and
    the dialog may not be drawn again. Where it is, the page shows what was kept.
    """
    keep()
    if not read_open()[0]:
        st.rerun()
    st.session_state[_KEEP] = keep


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
