"""Texts of a step, to read, copy and take away."""

from __future__ import annotations

import io
from functools import partial
from typing import BinaryIO

import streamlit as st

from agentkit.ui.shared import downloads
from agentkit.ui.steps import request
from agentkit.ui.text import figures

SHOWN = request.MOST_CHARACTERS
"""Characters of a text that are shown; all of it is in its file."""


def draw_text(label: str, text: str, key: str, language: str | None = None) -> None:
    """A text under its label, to copy; of a long one the beginning, and all of it as a file."""
    if not text:
        return
    with st.container(gap="xsmall"):
        st.caption(f"**{label}** · {figures.count(len(text), 'character')}")
        request.draw_cut(text, language)
        if len(text) > SHOWN:
            make = partial(_file, text)
            downloads.draw_link("Download all of it", make, f"{key}.txt", key=key)


def _file(text: str) -> BinaryIO:
    return io.BytesIO(text.encode("utf-8", "replace"))
