"""How what somebody says is drawn: folded where it is long, and while it is being written."""

from __future__ import annotations

import streamlit as st

from agentkit.ui.steps.step import Level
from agentkit.ui.text import figures, markdown

_FOLDED: dict[Level, tuple[int, int]] = {
    "answer": (700, 10),
    "calls": (700, 10),
    "everything": (6_000, 80),
}
"""How many characters and lines of a message are shown at first."""
_BUTTON = {
    False: ("Show all {}", ":material/expand_more:"),
    True: ("Show less", ":material/expand_less:"),
}
LIVE = 20_000
"""Characters of a text that are drawn while it is being written; at its end all of it is."""
_STEP = 5_000


def draw_words(text: str, key: str, level: Level) -> None:
    """What somebody said; of a long text the first lines, and a button for all of it.

    The key stands for whether the person wants all of it.
    """
    shown = markdown.cut_to_beginning(text, *_FOLDED[level])
    is_whole = bool(st.session_state.get(key)) or shown == text
    if text:
        st.markdown(markdown.prose(text if is_whole else shown))
    if shown != text:
        label, icon = _BUTTON[is_whole]
        label = label.format(figures.count(len(text), "character"))
        args = (key, not is_whole)
        st.button(label, f"{key}-button", icon=icon, type="tertiary", on_click=_keep, args=args)


def _keep(key: str, whole: bool) -> None:
    st.session_state[key] = whole


def draw_growing(text: str) -> None:
    """The end of a text that is being written, what is whole of it by itself.

    So the browser need not draw that again with each word.
    """
    hidden, shown = lately(text)
    if hidden:
        st.caption(f":material/more_horiz: {figures.count(hidden, 'character')} before this")
    before, growing = markdown.split_finished(shown)
    with st.container(gap="small"):
        for part in (before, growing) if before else (growing,):
            st.markdown(markdown.prose(part))


def lately(text: str) -> tuple[int, str]:
    """The end of a text that is still being written, and how many characters are left out before
    it.

    It begins with a line where one begins nearby, and at the same place for a while as the text
    grows: a browser draws it anew several times a second.
    """
    if len(text) <= LIVE:
        return 0, text
    start = (len(text) - LIVE) // _STEP * _STEP + _STEP
    line = text.find("\n", start, start + _STEP)
    if line >= 0:
        start = line + 1
    return start, text[start:]
