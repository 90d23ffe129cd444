"""The source of a citation beside its answer: where it stands, the passage in its text, the page's
picture, the original.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from agentkit.core.naming import name_source
from agentkit.documents import Limits, render_page
from agentkit.errors import AgentkitError, NotFound
from agentkit.retrieval import StoredDocument
from agentkit.retrieval.names import file_name
from agentkit.ui.composer import pictures
from agentkit.ui.shared import components, state
from agentkit.ui.shared.passage import Place, find_place, heading_at, page_span, unwrap
from agentkit.ui.text import markdown

Span = tuple[int, int]
_OPEN = "open_source"
_AS_IT_WAS = "The passage is shown as it was when the answer was written."
_NOTES = {
    "deleted": f"This document was deleted. {_AS_IT_WAS}",
    "changed": f"This document has changed since. {_AS_IT_WAS}",
}


def open_source(target: str) -> None:
    """Show the source `MESSAGE-n`, an empty target closes the one shown.

    `MESSAGE-n.k` is the one of the k-th marker `[n]` in the answer, from 0.
    """
    st.session_state[_OPEN] = target


def find_open(message_id: str) -> int | None:
    """The marker of the source that is open at this answer."""
    return _target(message_id)[0]


def occurrence(message_id: str) -> int | None:
    """Which of the markers with that number was clicked, from 0; None: none, or a chip."""
    return _target(message_id)[1]


def _target(message_id: str) -> tuple[int | None, int | None]:
    """The number of the marker that is open at this answer, and which of the markers with it."""
    message, _, marker = str(st.session_state.get(_OPEN, "")).rpartition("-")
    number, _, nth = marker.partition(".")
    if message != message_id or not number.isdigit():
        return None, None
    return int(number), int(nth) if nth.isdigit() else None


def label(citation: dict[str, Any], doubtful: bool = False) -> str:
    """`[1] handbook.pdf, p. 3` for buttons, as Markdown; `[1?]` when it is doubtful, and the
    collection at the end where several were searched.
    """
    sign = "?" if doubtful else ""
    source = name_source(
        citation["document"], citation["page"], citation["place"], citation.get("collection")
    )
    return markdown.literal(f"[{citation['marker']}{sign}] {source}")


def draw_chips(
    message_id: str, citations: list[dict[str, Any]], doubtful: Collection[int] = ()
) -> None:
    """One chip for each source of an answer; the open one is selected.

    What is open is part of the key: a browser that does not know it yet sends with the next click
    what was selected before, which would close the source again.
    """
    by_marker = {int(citation["marker"]): citation for citation in citations}
    selected = find_open(message_id)
    key = f"sources-{message_id}-{selected or 0}"
    st.session_state[key] = selected

    def choose() -> None:
        marker = st.session_state[key]
        open_source(f"{message_id}-{marker}" if marker else "")

    names = {marker: label(citation, marker in doubtful) for marker, citation in by_marker.items()}
    st.pills(
        "Sources",
        list(names),
        format_func=names.__getitem__,
        key=key,
        on_change=choose,
        label_visibility="collapsed",
    )


def draw_source(
    message_id: str, citation: dict[str, Any], answer: str, doubts: Sequence[str] = ()
) -> None:
    """The panel for one citation, with what is doubtful about it, in Markdown."""
    workspace, owner = state.workspace(), state.owner()
    with st.container(border=True, key="source"):
        place = find_place(workspace.library, owner, citation, answer, occurrence(message_id))
        _draw_head(citation, _heading(citation, place))
        for doubt in doubts:
            st.warning(doubt, icon=":material/help:")
        if note := _NOTES.get(place.document):
            st.info(note, icon=":material/info:")
        parts = (
            [(unwrap(text), kind) for text, kind in place.parts]
            if citation["page"]
            else place.parts
        )
        components.draw_marked_text(parts, key=f"text-{message_id}-{citation['marker']}")
        if place.document != "deleted":
            document = workspace.library.document(owner, citation["document_id"])
            _draw_page(document, citation, place)
            _draw_download(document)
        _draw_runs(str(citation["document_id"]))


def _draw_runs(document_id: str) -> None:
    """The way to all other runs that found the document or cited it, deleted as it may be."""
    if document_id:
        st.page_link(
            state.PAGES / "runs.py",
            label="Runs with this document",
            icon=":material/timeline:",
            query_params={"document": document_id},
        )


def _heading(citation: dict[str, Any], place: Place) -> str:
    """That of the sentence: a passage that was merged from several may begin under another."""
    if not place.sentences:
        return str(citation["heading"])
    library, first = state.workspace().library, place.sentences[0][0]
    try:
        return heading_at(library, state.owner(), citation["document_id"], first)
    except NotFound:
        return str(citation["heading"])


def _draw_head(citation: dict[str, Any], heading: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":material/description: **{label(citation)}**", width="stretch")
        st.button(
            "Close",
            key="close-source",
            icon=":material/close:",
            type="tertiary",
            on_click=open_source,
            args=("",),
        )
    if heading:
        st.caption(markdown.literal(heading))


def _draw_page(document: StoredDocument, citation: dict[str, Any], place: Place) -> None:
    """The page as a picture, for PDFs, with buttons to the pages around it."""
    if document.media_type != "application/pdf" or not citation["page"]:
        return
    key = f"page-{document.id}-{citation['chunk_id']}"
    page = st.session_state.setdefault(key, int(citation["page"]))
    workspace, owner = state.workspace(), state.owner()
    try:
        original = workspace.library.original(owner, document.id)
        here = place.document == "as cited" and page == citation["page"]
        marks = _marks(citation, place) if here else None
        with st.spinner(f"Drawing page {page} …"):
            picture = _picture(
                original, document.name, page, marks, Limits.from_settings(workspace.settings)
            )
    except AgentkitError as error:
        st.caption(f":material/error: The page cannot be shown. {markdown.literal(str(error))}")
        return
    marked = ", the passage marked" if marks else ""
    st.image(picture, alt=f"Page {page} of {document.name}{marked}", width="stretch")
    _draw_page_buttons(key, page, document.pages or page)
    plain = (original, f"{document.name}, p. {page}", page)
    st.button(
        "Ask about this page",
        key=f"{key}-ask",
        icon=":material/image_search:",
        type="tertiary",
        help="The next question goes with a picture of this page, for models that see.",
        on_click=_ask_about,
        args=plain,
    )


def _ask_about(original: Path, name: str, page: int) -> None:
    """Let the page go with the next question, without marks."""
    limits = Limits.from_settings(state.workspace().settings)
    try:
        content = _picture(original, name, page, None, limits)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    pictures.add_page(st.query_params.get("chat"), content, name)


def _draw_page_buttons(key: str, page: int, pages: int) -> None:
    def turn(to: int) -> None:
        st.session_state[key] = to

    def button(icon: str, name: str, to: int) -> None:
        gone = not 1 <= to <= pages
        st.button(
            "",
            icon=icon,
            key=f"{key}-{name}",
            help=name,
            type="tertiary",
            disabled=gone,
            on_click=turn,
            args=(to,),
        )

    with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center"):
        button(":material/chevron_left:", "Page before", page - 1)
        st.caption(f"Page {page:,} of {pages:,}", width="content")
        button(":material/chevron_right:", "Next page", page + 1)


def _draw_download(document: StoredDocument) -> None:
    try:
        original = state.workspace().library.original(state.owner(), document.id)
    except NotFound:
        return
    st.download_button(
        "Download the original",
        original.read_bytes,
        file_name=file_name(Path(document.name).name),
        mime=document.media_type,
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        key=f"download-{document.id}",
    )


def _marks(citation: dict[str, Any], place: Place) -> tuple[Span, ...] | None:
    """Where on its page the passage stands, which may be merged from several chunks, and its
    sentences.
    """
    library, owner, start, end = (
        state.workspace().library,
        state.owner(),
        int(citation["start"]),
        int(citation["end"]),
    )
    try:
        if library.text(owner, citation["document_id"])[start:end] != citation["text"]:
            return None  # taken in anew since; the page is shown without a mark
        page = int(citation["page"])
        span = page_span(library, owner, citation["document_id"], page, (start, end))
    except NotFound:
        return None
    moved = span[0] - start
    return span, *((first + moved, last + moved) for first, last in place.sentences)


@st.cache_data(max_entries=100, show_spinner=False)
def _picture(
    original: Path, name: str, page: int, marks: tuple[Span, ...] | None, _limits: Limits
) -> bytes:
    passage, *sentences = marks or (None,)
    return render_page(original, name, page, passage, _limits, 1_000, sentences)
