"""One document looked at: what it is, its chunks page by page, and how large they are."""

from __future__ import annotations

from math import ceil
from pathlib import Path

import streamlit as st

from agentkit.core.given import join_filled
from agentkit.errors import NotFound
from agentkit.retrieval import Chunk, StoredDocument
from agentkit.retrieval.names import file_name
from agentkit.ui.shared import charts, state
from agentkit.ui.steps import wording
from agentkit.ui.text import figures, markdown, times

PER_PAGE = 10
_MOST = 1_000_000


def draw_document(document: StoredDocument) -> None:
    """The document below the table."""
    st.subheader(markdown.literal(document.name), anchor=False)
    st.caption(_about(document))
    if document.error:
        st.error(markdown.literal(document.error), icon=":material/error:")
    if document.note:
        st.info(markdown.literal(document.note), icon=":material/info:")
    with st.container(horizontal=True, vertical_alignment="center"):
        _draw_original(document)
        st.page_link(
            state.PAGES / "runs.py",
            label="Runs with it",
            icon=":material/timeline:",
            query_params={"document": document.id},
            help="That took it in, found passages of it or cited it.",
        )
    if not document.chunks:
        st.caption(
            f"It has no chunks: it is {wording.STAGES.get(document.status, document.status)}."
        )
        return
    version = state.workspace().library.store.version(document.collection_id)
    sizes = _sizes(state.owner(), document.id, document.sha256, version.id)
    left, right = st.columns([3, 2], gap="large")
    with right:
        charts.draw_chunk_sizes(sizes, version.max_tokens)
    with left:
        _draw_chunks(document)


def _draw_chunks(document: StoredDocument) -> None:
    pages = ceil(document.chunks / PER_PAGE)
    place = st.container(gap="small")
    page = 1
    if pages > 1:
        page = st.pagination(pages, key=f"chunk-page-{document.id}", max_visible_pages=7)
    with place:
        for chunk in state.workspace().library.chunks(
            state.owner(), document.id, (page - 1) * PER_PAGE, PER_PAGE
        ):
            with st.container(border=True, gap="xsmall", key=f"chunk-{chunk.id}"):
                st.caption(_where(chunk))
                st.text(chunk.text)


def _draw_original(document: StoredDocument) -> None:
    try:
        original = state.workspace().library.original(state.owner(), document.id)
    except NotFound as error:
        st.caption(markdown.literal(str(error)))
        return
    st.download_button(
        "Download the original",
        original.read_bytes,
        file_name=file_name(Path(document.name).name),
        mime=document.media_type or None,
        key=f"original-{document.id}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )


def _about(document: StoredDocument) -> str:
    parts = [
        markdown.literal(document.title)
        if document.title and document.title != Path(document.name).stem
        else "",
        figures.count(document.pages, "page") if document.pages else "",
        figures.count(document.chunks, "chunk"),
        figures.count(document.tokens, "token"),
        figures.size(document.bytes),
        f"added {times.format_time(document.created_at)}",
    ]
    return join_filled(" · ", parts)


def _where(chunk: Chunk) -> str:
    parts = [
        f"Chunk {chunk.ordinal + 1:,}",
        f"page {chunk.page:,}" if chunk.page else "",
        markdown.literal(chunk.place),
        markdown.literal(chunk.heading),
        f"characters {chunk.start:,} to {chunk.end:,}",
        figures.count(chunk.tokens, "token"),
    ]
    return join_filled(" · ", parts)


@st.cache_data(max_entries=50, show_spinner=False)
def _sizes(owner: str, document_id: str, content: str, version_id: str) -> list[int]:
    """Tokens of each chunk; a new content or another version is looked at anew."""
    return [
        chunk.tokens for chunk in state.workspace().library.chunks(owner, document_id, 0, _MOST)
    ]
