"""Which dialog is open. It is kept in the session, so that a page that is drawn anew does not close
it, as long as what it was opened on is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec

import streamlit as st

_OPEN, _DRAWN, _KEEP = "dialog", "dialog-drawn", "dialog-keep"
_WHERE = "dialog-where"
P = ParamSpec("P")


def dialog(
    title: str, *, width: Literal["small", "medium", "large"] = "small"
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """The decorator for a function that draws a dialog which `ask` opens."""

    def decorate(draw: Callable[P, None]) -> Callable[P, None]:
        in_dialog = st.dialog(title, width=width, on_dismiss=close)(draw)

        @wraps(draw)
        def open_dialog(*args: P.args, **kwargs: P.kwargs) -> None:
            st.session_state[_DRAWN] = True
            in_dialog(*args, **kwargs)

        return open_dialog

    return decorate


def is_drawn() -> bool:
    """Whether a dialog is on the page."""
    return _DRAWN in st.session_state


def redraw() -> None:
    """Draw the page anew, as something on it has ended or changed by itself.

    While a dialog is on the page, that is left to the drawing that follows its closing: the browser
    takes a dialog away until it has come again, and the focus and what is typed meanwhile are lost.
    """
    if not is_drawn():
        st.rerun()


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
    st.session_state.pop(_DRAWN, None)


def turn_to(**where: str) -> None:
    """Close the dialog if this names another page, or another chat, than the last drawing did: the
    browser's Back button leads there with the dialog open, whose fields are those of before.

    The page is only now being drawn, so that no dialog is on it yet.
    """
    st.session_state.pop(_DRAWN, None)
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
