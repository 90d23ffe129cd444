"""What the app stands on: the data folder and its health, the versions."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown

_PACKAGES = ("streamlit", "duckdb", "torch", "hnswlib", "tantivy", "openai", "pypdfium2")


def draw_store() -> None:
    """The data folder, its size, and whether database and indexes agree."""
    workspace = state.workspace()
    st.markdown(f"Data folder: **{markdown.literal(str(workspace.settings.data.resolve()))}**")
    st.caption(
        f"Database {figures.size(workspace.database.bytes())} · embedder {markdown.literal(workspace.library.embedder.name)} · "
        "the folder is chosen with the environment variable AGENTKIT\\_DATA"
    )
    with st.spinner("Checking the store"):
        try:
            problems = workspace.library.check()
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
    if not problems:
        st.success("The database, the indexes and the originals agree.", icon=":material/check_circle:")
    for problem in problems:
        st.error(f"{markdown.literal(problem.what)} **{markdown.literal(problem.advice)}**", icon=":material/error:")


def draw_versions() -> None:
    """What is installed."""
    found = [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in _PACKAGES)]
    st.caption(" · ".join(found))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
