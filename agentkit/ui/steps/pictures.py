"""Pictures that go along with a question: small, and whole by a click or by the keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from agentkit.errors import NotFound
from agentkit.llm.calls.pictures import Picture
from agentkit.ui.shared import state
from agentkit.ui.text import markdown
from agentkit.workspace import pictures

_SMALL_PX = 144
TINY_PX = 56


def draw_pictures(shown: Sequence[Picture], key: str) -> None:
    """Each with its name below, beside one another."""
    if not shown:
        return
    with st.container(horizontal=True, gap="small", key=f"pictures-{key}"):
        for number, picture in enumerate(shown):
            with st.container(width="content", gap=None):
                draw_picture(picture, f"{key}-{number}", _SMALL_PX)
                st.caption(markdown.literal(picture.name))


def draw_picture(picture: Picture, key: str, width: int) -> None:
    """One of them, so many pixels wide; what is gone is told."""
    name = markdown.literal(picture.name)
    try:
        content = _read(state.workspace().settings.data, picture)
    except NotFound:
        st.caption(f":material/image_not_supported: {name} is not there any more")
        return
    with st.container(key=f"picture-{key}", width=width, gap=None):
        st.image(content, alt=picture.name, width=width)
        with st.popover(f"Show {name} whole", key=f"whole-{key}", type="tertiary"):
            st.image(content, alt=f"{picture.name}, whole", width="stretch")
            st.caption(f"{name}, {picture.width:,} x {picture.height:,} pixels")


@st.cache_data(max_entries=50, show_spinner=False)
def _read(data: Path, picture: Picture) -> bytes:
    return pictures.read(data, picture)
