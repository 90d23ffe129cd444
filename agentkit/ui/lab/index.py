"""How a collection is cut and embedded: what answers now, the versions beside it, and the way from
one to another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import join_filled
from agentkit.errors import AgentkitError
from agentkit.retrieval import Collection
from agentkit.retrieval.index.vector_index import IndexFigures
from agentkit.retrieval.ingest.versions import VersionStatus
from agentkit.retrieval.types import IndexVersion
from agentkit.runs import Run
from agentkit.ui.documents import progress
from agentkit.ui.lab import parts as lab
from agentkit.ui.lab.cut import describe_cut, draw_cut
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown, times

_BUILD, _SWITCH = "index", "switch"
_USE, _DISCARD = "Use version", "Discard version"
_PROBLEM = "index-problem"


def draw_index(collection: Collection) -> None:
    """The view: what answers now, the versions beside, and a form to try another cut."""
    try:
        now, *beside = state.workspace().library.versions.listed(state.owner(), collection.name)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    _draw_model_problem(now.version)
    _draw_now(now)
    with st.container(
        key="index-progress", gap="small"
    ):  # each part has its place, also while it is empty
        for kind in (_BUILD, _SWITCH):
            progress.draw_progress(kind)
        if problem := st.session_state.pop(_PROBLEM, ""):
            st.error(markdown.literal(problem), icon=":material/error:")
    busy = any(runs.live(state.owner(), kind=kind) for kind in (_BUILD, _SWITCH))
    with st.container(key="index-beside", gap="small"):
        _draw_beside(beside, busy)
    with st.container(key="index-cut", gap="small"):
        if now.documents:
            draw_cut(collection, [status.version for status in (now, *beside)], busy, start)
        else:
            st.info(
                "The collection is empty. Once it has documents, you see here how they are cut.",
                icon=":material/info:",
            )
            st.page_link(
                state.PAGES / "documents.py", label="Add documents", icon=":material/upload_file:"
            )
    _draw_dialog()


def start(work: Callable[[], Run[Any]]) -> None:
    """Start a run and watch it; what keeps it from starting is shown at the next drawing."""
    try:
        progress.watch(work())
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)


def _draw_model_problem(version: IndexVersion) -> None:
    try:
        with st.spinner("Asking the embedding model"):
            state.workspace().library.versions.check_model(version)
    except AgentkitError as error:
        st.warning(
            f"**Only lexical search works.** {markdown.literal(str(error))}\n\nTo leave this model,"
            " choose another one, or another size, under “Try another cut”, build that version and"
            " use it: the documents are embedded anew from the database, nothing has to be given"
            " again.",
            icon=":material/warning:",
        )


# What answers now


def _draw_now(status: VersionStatus) -> None:
    version = status.version
    st.subheader("What answers now", anchor=False)
    with st.container(border=True, gap="small", key="index-now"):
        st.markdown(f":material/check_circle: **{markdown.literal(version.embedder)}**")
        with st.grid(5, min_column_width=130, gap="small"):
            st.metric(
                "Tokens in a chunk",
                f"≤ {figures.count(version.max_tokens)}",
                help="At most; title and heading come on top.",
            )
            st.metric(
                "Overlap",
                figures.count(version.overlap, "token") if version.overlap else "none",
                help="Tokens that a chunk repeats of the one before, at most.",
            )
            st.metric(
                "Numbers in a vector",
                figures.count(version.dimension),
                help=f"Computed in {version.precision}." if version.precision else None,
            )
            st.metric("Documents", figures.count(status.documents))
            st.metric("Chunks", figures.count(status.chunks))
        _draw_search(version)


def _draw_search(version: IndexVersion) -> None:
    """How near vectors are found in it, in words, with what was measured."""
    try:
        index = state.workspace().library.indexes.of(version).figures()
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    if not index.vectors:
        return
    parts = [_how(index), *([f"{figures.size(index.bytes)} on disk"] if index.bytes else [])]
    if index.removed:
        share = index.removed / (index.vectors + index.removed)
        parts.append(f"{figures.count(index.removed)} removed vectors still in it ({share:.1%})")
    st.caption(" · ".join(parts))


def _how(index: IndexFigures) -> str:
    if index.kind == "exact":
        return (
            f"Search: {figures.count(index.vectors, 'vector')} compared one by one, which is exact"
        )
    measured = "recall not measured"
    if index.sample:
        measured = f"recall {index.recall:.3f}, measured on {figures.count(index.sample)} queries"
    return f"Search: an hnsw graph, {measured}, ef {figures.count(index.ef)}"


# The versions beside it


def _draw_beside(found: list[VersionStatus], busy: bool) -> None:
    if not found:
        return
    st.subheader("Versions beside it", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            "They answer nothing until you use them. Compare first: choose one as the version"
            " there.",
            width="content",
        )
        for view, icon in ((lab.TRY, ":material/search:"), (lab.MEASURE, ":material/straighten:")):
            st.button(
                view,
                key=f"go-{view}",
                icon=icon,
                type="tertiary",
                on_click=lab.open_view,
                args=(view,),
            )
    for status in found:
        with st.container(border=True, gap="xsmall", key=f"version-{status.version.id}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{describe_cut(status.version)}**", width="stretch")
                icon, colour = (
                    (":material/check:", "green")
                    if not status.missing
                    else (":material/pending:", "gray")
                )
                # Two of its colours.
                st.badge(_state(status), icon=icon, color=colour)  # type: ignore[arg-type]
            st.caption(_about(status))
            with st.container(horizontal=True):
                _draw_actions(status, busy)


def _draw_actions(status: VersionStatus, busy: bool) -> None:
    version = status.version
    wait = "Wait until what goes on has ended, or cancel it." if busy else None
    if status.missing:
        label = "Go on building" if status.documents else "Build"
        st.button(
            label,
            key=f"build-{version.id}",
            icon=":material/build:",
            on_click=_build,
            args=(version.id,),
            disabled=busy,
            help=wait or "What answers now goes on answering meanwhile.",
        )
    for label, icon, name in (
        ("Use this version", ":material/swap_horiz:", _USE),
        ("Discard", ":material/delete:", _DISCARD),
    ):
        usual = "secondary" if name == _USE else "tertiary"
        st.button(
            label,
            key=f"{name.split()[0].lower()}-{version.id}",
            icon=icon,
            type=usual,  # type: ignore[arg-type]
            on_click=dialogs.ask,
            args=(name, status),
            disabled=busy or (name == _USE and not status.documents),
            help=wait,
        )


def _state(status: VersionStatus) -> str:
    if not status.missing:
        return "complete"
    if not status.documents:
        return "not built yet"
    return (
        f"{figures.count(status.documents)} of"
        f" {figures.count(status.documents + status.missing, 'document')}"
    )


def _about(status: VersionStatus) -> str:
    parts = [
        figures.count(status.documents, "document") if status.documents else "",
        f"{figures.count(status.missing, 'document')} still to build" if status.missing else "",
        figures.count(status.chunks, "chunk") if status.chunks else "",
        f"{figures.count(status.version.dimension)} numbers in a vector",
        f"made {times.format_time(status.version.created_at)}",
    ]
    return join_filled(" · ", parts)


def _build(version_id: str) -> None:
    start(lambda: state.workspace().build_version(state.owner(), version_id))


# The dialogs


def _draw_dialog() -> None:
    match dialogs.read_open():
        case (str(name), VersionStatus() as status) if name == _USE:
            _use(status)
        case (str(name), VersionStatus() as status) if name == _DISCARD:
            _discard(status)


@dialogs.dialog("Use this version?")
def _use(status: VersionStatus) -> None:
    first = ""
    if status.missing:
        first = (
            f"{figures.count(status.missing, 'document')} still missing in it will be built first. "
        )
    st.markdown(
        f"**{describe_cut(status.version)}**\n\n{first}"
        "Then chats, agents and the command line answer from it. The one that answers now stays"
        " beside it, so that you can go back; nothing has to be given again."
    )
    if dialogs.confirm("use-version", "Use it", ":material/swap_horiz:", "Leave it"):
        start(lambda: state.workspace().promote_version(state.owner(), status.version.id))
        dialogs.close()
        st.rerun()


@dialogs.dialog("Discard this version?")
def _discard(status: VersionStatus) -> None:
    st.markdown(
        f"**{describe_cut(status.version)}** goes with {figures.count(status.chunks, 'chunk')} and"
        " their vectors. No answer and no document is touched; it can be built again, which takes"
        " its time."
    )
    if dialogs.confirm("discard-version", "Discard"):
        try:
            state.workspace().library.versions.discard(state.owner(), status.version.id)
        except AgentkitError as error:
            st.session_state[_PROBLEM] = str(error)
        dialogs.close()
        st.rerun()
