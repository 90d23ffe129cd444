"""Code, arguments and outputs as they stand; what is to run is shown with all that hides in it."""

from __future__ import annotations

import streamlit as st

from agentkit.core.unseen import reveal
from agentkit.ui.text import figures

_LANGUAGES = {
    "python": "Python",
    "py": "Python",
    "sh": "shell",
    "bash": "shell",
    "shell": "shell",
    "json": "JSON",
}


def name_language(language: str) -> str:
    """The name of a language as people write it."""
    return _LANGUAGES.get(language, language)


def draw_text(text: str, language: str | None = None) -> None:
    """A text as it stands; a long one scrolls in itself, so that what is below it stays in
    reach.
    """
    is_long = (
        text.count("\n") > 11 or len(text) > 800
    )  # more than its 300 pixels hold on a wide screen
    st.code(text, language=language, wrap_lines=True, height=300 if is_long else "content")


def draw_runnable(text: str, language: str, *, counted: bool = False) -> None:
    """What ran, or with `counted` is to run: lines are counted where there are several, as they
    may scroll.
    """
    found = reveal(text)
    draw_warning(text)
    if counted and found.lines > 1:
        st.caption(f"{figures.count(found.lines, 'line')} of {name_language(language) or 'text'}")
    draw_text(found.text, language)


def draw_warning(text: str) -> None:
    """How many characters in it are not seen, if there are any."""
    if unseen := reveal(text).unseen:
        st.warning(
            f"This contains {figures.count(unseen, 'invisible character')}. Such characters can"
            " make code look like something else than what runs. Where it is not edited they are"
            " shown by their numbers, like ⟨U+202E⟩.",
            icon=":material/visibility_off:",
        )
