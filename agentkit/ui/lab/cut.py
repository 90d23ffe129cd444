"""Another cut of a collection, looked at on one document before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from agentkit.core.given import find_first, join_filled
from agentkit.documents import Piece
from agentkit.errors import AgentkitError
from agentkit.retrieval import Collection, StoredDocument
from agentkit.retrieval.ingest.ingest import chunk_tokens
from agentkit.retrieval.types import IndexVersion
from agentkit.runs import Run
from agentkit.ui.shared import charts, state
from agentkit.ui.text import figures, markdown

Start = Callable[[Callable[[], Run[Any]]], None]

_LEAST = 16  # tokens: what is shorter says too little to be found by
_SHOWN = 10
_REPEATS = (
    "A chunk may repeat the end of the one before it, so that what lies there is found whole."
)
# documents in the list; a list of all of a large collection would take its time at each drawing
_OFFERED = 500
_MOST = 1_000_000
_OTHERS = (
    "More can be chosen once they are connected: embedding models of a server under Settings, model"
    " folders of this machine in AGENTKIT_EMBEDDING_FOLDERS."
)


@dataclass(frozen=True, slots=True)
class Cut:
    """What a version is made with."""

    embedder: str
    max_tokens: int
    overlap: int

    def has_made(self, version: IndexVersion) -> bool:
        """Whether the version is made like this."""
        return (version.embedder, version.max_tokens, version.overlap) == (
            self.embedder,
            self.max_tokens,
            self.overlap,
        )


def describe_cut(version: IndexVersion | Cut) -> str:
    """What it is made with, in Markdown: `MODEL, up to 200 tokens, overlap 20`."""
    overlap = "no overlap"
    if version.overlap:
        overlap = f"overlap {figures.count(version.overlap)}"
    return (
        f"{markdown.literal(version.embedder)}, up to {figures.count(version.max_tokens, 'token')}"
        f" in a chunk, {overlap}"
    )


def draw_cut(
    collection: Collection, known: Sequence[IndexVersion], busy: bool, start: Start
) -> None:
    """Choices of model, size and overlap, a preview on a document, and the button that builds the
    version.

    `known` are the collection's versions, the one that answers first; while `busy` another build
    goes on.
    """
    st.subheader("Try another cut", anchor=False)
    st.caption(
        "Smaller chunks cite more exactly, larger ones keep more together. Nothing is changed until"
        " you build and use it."
    )
    with st.container(border=True, key="cut"):
        cut = _draw_choices(collection, known[0])
        if cut is None:
            return
        document = _draw_document_choice(collection)
        if document and _draw_preview(document, known[0], cut):
            _draw_build(collection, cut, known, busy, start)


def _draw_choices(collection: Collection, now: IndexVersion) -> Cut | None:
    embedders = state.workspace().library.embedders
    names = embedders.names()
    with st.grid(3, min_column_width=200, gap="small"):
        model = st.selectbox(
            "Embedding model",
            names,
            index=names.index(now.embedder) if now.embedder in names else 0,
            key=f"cut-model-{collection.id}",
            help=_OTHERS,
            persist_state="session",
        )
        try:
            most = chunk_tokens(embedders.of(model))
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return None
        tokens = _number(
            "Tokens in a chunk, at most",
            f"cut-tokens-{collection.id}",
            now.max_tokens,
            (_LEAST, most),
            f"This model takes {most:,} at most, besides title and heading.",
        )
        overlap = _number(
            "Overlap in tokens",
            f"cut-overlap-{collection.id}",
            now.overlap,
            (0, tokens // 2),
            "Whole sentences of the chunk before that a chunk repeats; at most half of its size.",
        )
    return Cut(model, tokens, overlap)


def _number(label: str, key: str, value: int, limits: tuple[int, int], about: str) -> int:
    """A whole number between limits that may have changed since it was chosen."""
    least, most = limits
    st.session_state[key] = max(least, min(st.session_state.get(key, value), most))
    return int(
        st.number_input(label, least, most, step=1, key=key, help=about, persist_state="session")
    )


def _draw_document_choice(collection: Collection) -> StoredDocument | None:
    found = [
        one
        for one in state.workspace().library.documents(state.owner(), collection.name)
        if one.chunks
    ]
    names = {one.id: one.name for one in found[:_OFFERED]}
    chosen = st.selectbox(
        "Look at it on",
        list(names),
        format_func=names.__getitem__,
        key=f"cut-document-{collection.id}",
        persist_state="session",
        help=(
            "Nothing is stored."
            if len(found) <= _OFFERED
            else f"The newest {_OFFERED:,} documents."
        ),
    )
    return find_first(found, lambda one: one.id == chosen)


def _draw_preview(document: StoredDocument, version: IndexVersion, cut: Cut) -> bool:
    """The document's chunks as they would be; False when it cannot be cut like this."""
    owner, content = state.owner(), document.sha256
    try:
        with st.spinner("Cutting the document"):
            now, then = (
                _now(owner, document.id, content, version.id),
                _then(owner, document.id, content, cut),
            )
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return False
    left, right = st.columns([2, 3], gap="large")
    with left:
        _draw_sizes(now, [piece.tokens for piece in then], max(version.max_tokens, cut.max_tokens))
    with right:
        st.markdown(f"**{_first(len(then))}**")
        with st.container(height=440, gap="small", key="cut-pieces"):
            _draw_pieces(then[:_SHOWN])
    return True


def _first(chunks: int) -> str:
    """What the shown chunks are of all."""
    if chunks <= _SHOWN:
        if chunks == 1:
            return "The only chunk"
        return f"All {chunks:,} chunks"
    return f"The first {_SHOWN:,} of {chunks:,} chunks"


def _draw_sizes(now: Sequence[int], then: Sequence[int], most: int) -> None:
    more = len(then) - len(now)
    change = "as many as now"
    if more:
        change = f"{figures.count(abs(more))} {'more' if more > 0 else 'fewer'} than now"
    st.metric(
        "Chunks of this document",
        figures.count(len(then)),
        change,
        delta_color="off",
        delta_arrow="off",
    )
    charts.draw_cuts(now, then, most)


def _draw_pieces(pieces: Sequence[Piece]) -> None:
    before = 0
    for number, piece in enumerate(pieces, 1):
        parts = [
            f"Chunk {number}",
            f"page {piece.page:,}" if piece.page else "",
            markdown.literal(piece.place),
            markdown.literal(piece.heading),
            figures.count(piece.tokens, "token"),
            (
                f"{figures.count(before - piece.start, 'character')} repeated"
                if piece.start < before
                else ""
            ),
        ]
        # A box that scrolls needs something in it that the keyboard can be on.
        st.caption(join_filled(" · ", parts), help=_REPEATS if number == 1 else None)
        st.text(piece.text)
        before = piece.end


def _draw_build(
    collection: Collection, cut: Cut, known: Sequence[IndexVersion], busy: bool, start: Start
) -> None:
    same = find_first(known, cut.has_made)
    if busy:
        st.caption(
            ":material/hourglass_top: A version is being built. Its progress is shown above, with"
            " the way to cancel it."
        )
    elif same is not None:
        st.caption(
            "This is what answers now: change the model, the size or the overlap to build another"
            " version."
            if same.active
            else "There is such a version above: go on with that one."
        )

    def build() -> None:
        workspace, owner = state.workspace(), state.owner()

        def work() -> Run[Any]:
            made = workspace.library.versions.add(
                owner,
                collection.name,
                embedder=cut.embedder,
                max_tokens=cut.max_tokens,
                overlap=cut.overlap,
            )
            return workspace.build_version(owner, made.id)

        start(work)

    st.button(
        "Build this version",
        key="build-cut",
        type="primary",
        icon=":material/build:",
        on_click=build,
        disabled=busy or same is not None,
        help="Beside the one that answers, which goes on answering.",
    )


@st.cache_data(max_entries=50, show_spinner=False)
def _now(owner: str, document_id: str, content: str, version_id: str) -> list[int]:
    """Tokens of each chunk that the document has; a new content or version is looked at anew."""
    return [
        chunk.tokens for chunk in state.workspace().library.chunks(owner, document_id, 0, _MOST)
    ]


@st.cache_data(max_entries=20, show_spinner=False)
def _then(owner: str, document_id: str, content: str, cut: Cut) -> list[Piece]:
    """The chunks that the document would have; a new content is cut anew."""
    versions = state.workspace().library.versions
    found = versions.preview(
        owner, document_id, embedder=cut.embedder, max_tokens=cut.max_tokens, overlap=cut.overlap
    )
    return list(found)
