"""What the app stands on: the data folder and its health, the limits in force, the versions."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ui import figures, markdown, state

_PACKAGES = ("streamlit", "duckdb", "torch", "hnswlib", "tantivy", "openai", "pypdfium2")
_LIMITS = {
    "max_file_mb": ("Largest file", "MB"),
    "max_chars": ("Most text of a document", "characters"),
    "max_pages": ("Most pages of a document", "pages"),
    "read_timeout_s": ("Longest time to read a file", "s"),
    "read_memory_mb": ("Memory to read a file", "MB"),
    "run_tokens": ("Most tokens for a question", "tokens"),
    "run_dollars": ("Most money for a question", "US dollars"),
    "chat_tokens": ("Most tokens in a chat", "tokens"),
    "chat_dollars": ("Most money in a chat", "US dollars"),
    "fetch_timeout_s": ("Longest time to fetch a web address", "s"),
    "allow_private_urls": ("Private web addresses", ""),
}


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


def draw_limits() -> None:
    """The limits in force, each with the variable that sets it."""
    settings = state.workspace().settings
    rows = []
    for name, (title, unit) in _LIMITS.items():
        rows.append(
            {
                "Limit": title,
                "In force": _in_force(getattr(settings, name), unit),
                "Environment variable": f"`AGENTKIT_{name.upper()}`",
            }
        )
    st.table(rows, hide_index=True)
    st.caption("Limits are read at the start: set the variable and start the app again.")


def _in_force(value: float | None, unit: str) -> str:
    if value is None:
        return "no limit"
    return ("allowed" if value else "not allowed") if isinstance(value, bool) else f"{value:,} {unit}".replace(".0 ", " ")


def draw_versions() -> None:
    """What is installed."""
    found = [f"Python {platform.python_version()}", *(f"{name} {_version(name)}" for name in _PACKAGES)]
    st.caption(" · ".join(found))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
