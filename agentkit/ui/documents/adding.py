"""Giving documents to a collection: files, a folder, a web address, or the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from agentkit.errors import AgentkitError, ConfigError
from agentkit.runs import Run
from agentkit.ui.documents import collections, progress
from agentkit.ui.shared import state, uploads
from agentkit.ui.text import figures, markdown
from agentkit.workspace import SAMPLES

_PROBLEM, _ROUND = "adding-problem", "adding-round"
_KINDS = (
    "PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, HTML, Markdown, CSV, JSON, XML, notebooks, "
    "source code and any other plain text"
)


def draw_adding(collection: str, *, empty: bool) -> None:
    """The ways to add documents to this collection, open while it is empty."""
    with st.expander(
        "Add documents",
        expanded=empty,
        icon=":material/upload_file:",
        key="add-first" if empty else "add",
    ):
        files, folder, web = st.tabs(["Files", "A folder", "A web address"])
        with files:
            _draw_uploader(collection, "Files to add", folder=False)
        with folder:
            _draw_uploader(collection, "A folder, taken in with all that is below it", folder=True)
        with web:
            _draw_address(collection)
        if problem := st.session_state.get(_PROBLEM):
            st.error(markdown.literal(problem), icon=":material/error:")


def draw_samples() -> None:
    """The shortest way to something to ask."""
    st.button(
        "Load the sample documents",
        key="load-samples",
        icon=":material/library_add:",
        on_click=_load_samples,
        help=(
            "A manual, a handbook, a price list and a few more, to try questions on. They go into a"
            " collection of their own."
        ),
    )
    if problem := st.session_state.get(_PROBLEM):
        st.error(markdown.literal(problem), icon=":material/error:")


def _draw_uploader(collection: str, label: str, *, folder: bool) -> None:
    limit = state.workspace().settings.max_file_mb
    kind = "folder" if folder else "files"
    key = f"upload-{kind}-{st.session_state.get(_ROUND, 0)}"
    given: Any = st.file_uploader(
        label, accept_multiple_files="directory" if folder else True, max_upload_size=limit, key=key
    )
    st.caption(f"Up to {limit:,} MB a file: {_KINDS}. Scanned pages need text recognition first.")
    text = "Choose documents first"
    if given:
        text = f"Add {figures.count(len(given), 'document')} to {markdown.literal(collection)}"
    st.button(
        text,
        key=f"add-{kind}",
        type="primary",
        disabled=not given,
        on_click=_add_files,
        args=(collection, key),
    )


def _draw_address(collection: str) -> None:
    settings = state.workspace().settings
    where = (
        "public pages and, as allowed here, private ones"
        if settings.allow_private_urls
        else "public pages only"
    )
    with st.form("add-address", border=False):
        # The server checks the address: the browser's rule refuses hosts without a dot.
        st.text_input(
            "Web address",
            key="address",
            placeholder="https://example.com/report.pdf",
            type="url",
            validate="",
        )
        limits = f"up to {settings.max_file_mb:,} MB and {settings.fetch_timeout_s:g} s"
        st.caption(f"http and https, {where}, {limits}. Links in a page are not followed.")
        label = f"Add to {markdown.literal(collection)}"
        st.form_submit_button(
            label, key="add-web", type="primary", on_click=_add_address, args=(collection,)
        )


def _load_samples() -> None:
    collections.choose(SAMPLES)
    _start(lambda: state.workspace().ingest_samples(state.owner()))


def _add_files(collection: str, key: str) -> None:
    workspace = state.workspace()

    def work() -> Run[Any]:
        sources = uploads.to_disk(st.session_state[key], workspace.settings)
        return workspace.ingest(state.owner(), collection, sources)

    _start(work)
    st.session_state[_ROUND] = (
        st.session_state.get(_ROUND, 0) + 1
    )  # a new uploader, so that the session lets go of the files


def _add_address(collection: str) -> None:
    url = st.session_state["address"].strip()

    def work() -> Run[Any]:
        if not url:
            raise ConfigError(
                "The web address is empty; paste one such as https://example.com/report.pdf."
            )
        return state.workspace().ingest_url(state.owner(), collection, url)

    _start(work)


def _start(work: Callable[[], Run[Any]]) -> None:
    st.session_state.pop(_PROBLEM, None)
    try:
        progress.watch(work())
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)
