"""Collections as files: exporting one, importing one, and how far that is. It goes on in the
background, also after a refresh.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError, ConfigError, Stopped
from agentkit.retrieval import Collection
from agentkit.runs import Run
from agentkit.ui.shared import dialogs, state, uploads
from agentkit.ui.text import figures, markdown

EXPORT, IMPORT = "Export", "Import"
_KEY, _DRAWN, _PROBLEM = "transfers", "transfers-drawn", "transfer-problem"
_KIND = "transfer"
_POLL_S = 0.5
_LARGEST_MB = 1_000
"""The browser's uploads and downloads pass through memory; larger files go by the command line."""


def draw_dialog() -> None:
    """The dialog for exporting or importing, if it is open."""
    match dialogs.read_open():
        case (name, Collection() as chosen) if name == EXPORT:
            _export(chosen)
        case (name, _) if name == IMPORT:
            _import()


def draw_transfers() -> None:
    """All transfers that are under way for this owner, and what came of those that were watched to
    their end.
    """
    for run in runs.live(state.owner(), kind=_KIND):
        _read_watched().setdefault(run.id, False)
    live: list[str] = []
    for run_id in list(_read_watched()):
        watched = state.find_run(run_id)
        if watched is None:
            continue
        if watched.ended:
            _read_anew(run_id)
            _draw_end(watched)
        else:
            live.append(run_id)
    if live:
        _draw_live(live)


def _read_anew(run_id: str) -> None:
    """Draw the page once more after the end: what stands on it already may have been read before
    that.
    """
    drawn: set[str] = st.session_state.setdefault(_DRAWN, set())
    if run_id not in drawn:
        drawn.add(run_id)
        st.rerun()


def take_arrived() -> list[str]:
    """Names of the collections whose import has ended since this was asked last."""
    names = []
    untold = [run_id for run_id, told in _read_watched().items() if not told]
    for run_id in untold:
        run = state.find_run(run_id)
        if run is None or not run.ended:
            continue
        _read_watched()[run_id] = True
        result, _ = _outcome(run)
        if isinstance(result, Collection):
            names.append(result.name)
    return names


@dialogs.dialog("Export the collection")
def _export(collection: Collection) -> None:
    st.markdown(
        f"**{markdown.literal(collection.name)}** as one file:"
        f" {figures.count(collection.documents, 'document')} with originals, texts and tags,"
        f" {figures.count(collection.chunks, 'chunk')} with vectors, and the settings of its"
        " search. Of its index versions, the one that answers goes along."
    )
    st.caption(
        "Import the file here or elsewhere: nothing has to be read or embedded again. Chats are not"
        " in it."
    )
    st.button(
        "Export",
        key="export",
        type="primary",
        icon=":material/archive:",
        on_click=_start_export,
        args=(collection.name,),
    )
    _draw_problem()
    _close_when_started()


@dialogs.dialog("Import a collection")
def _import() -> None:
    st.file_uploader("File", type="zip", max_upload_size=_LARGEST_MB, key="import-file")
    st.caption(
        f"What Export wrote, up to {_LARGEST_MB:,} MB; for larger ones use `python -m agentkit"
        " collection import FILE`. Import only files of people you trust: what stands in them is"
        " answered from."
    )
    st.text_input("Name", key="import-name", max_chars=120, placeholder="As in the file")
    st.button(
        "Import", key="import", type="primary", icon=":material/unarchive:", on_click=_start_import
    )
    _draw_problem()
    _close_when_started()


def _start_export(name: str) -> None:
    _start(lambda: state.workspace().export_collection(state.owner(), name))


def _start_import() -> None:
    _start(_import_upload)


def _import_upload() -> Run[Collection]:
    given: Any = st.session_state.get("import-file")
    if given is None:
        raise ConfigError(
            "No file is chosen; choose one that Export wrote, it ends in .agentkit.zip."
        )
    workspace = state.workspace()
    [source] = uploads.to_disk([given], workspace.settings)
    name = (st.session_state.get("import-name") or "").strip()
    return workspace.import_collection(state.owner(), source.path, name, called=source.name)


def _start(work: Callable[[], Run[Any]]) -> None:
    if not dialogs.read_open()[0]:  # the button was clicked twice
        return
    st.session_state.pop(_PROBLEM, None)
    try:
        _read_watched()[work().id] = False
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)
    else:
        dialogs.close()


def _draw_problem() -> None:
    if problem := st.session_state.pop(_PROBLEM, ""):
        st.error(markdown.literal(problem), icon=":material/error:")


def _close_when_started() -> None:
    if not dialogs.read_open()[0]:
        st.rerun()


@st.fragment(run_every=_POLL_S)
def _draw_live(run_ids: list[str]) -> None:
    """The part that looks again and again; when a run ends, the page is drawn anew."""
    for run_id in run_ids:
        run = state.find_run(run_id)
        if run is None or run.ended:
            dialogs.redraw()
            continue
        with st.container(
            horizontal=True, vertical_alignment="center", border=True, key=f"transfer-{run.id}"
        ):
            passed = figures.seconds(max(1, round(time.time() - run.started_at))).replace(
                ".0 s", " s"
            )
            st.markdown(
                f":material/hourglass_top: **{markdown.literal(run.title)}** · {passed}",
                width="stretch",
            )
            label, icon = "Cancelling" if run.stopping else "Cancel", ":material/stop_circle:"
            st.button(
                label,
                key=f"stop-{run.id}",
                icon=icon,
                type="tertiary",
                on_click=run.stop,
                disabled=run.stopping,
            )


def _draw_end(run: Run[Any]) -> None:
    result, problem = _outcome(run)
    with st.container(
        horizontal=True, wrap=False, vertical_alignment="center", key=f"transferred-{run.id}"
    ):
        if problem:
            st.error(
                f"**{markdown.literal(run.title)}**: {markdown.literal(problem)}",
                icon=":material/error:",
            )
        elif isinstance(result, Collection):
            _draw_imported(result)
        else:
            _draw_exported(run, result)
        icon, about = ":material/close:", "Close this message"
        st.button(
            f"*{about}*",
            key=f"dismiss-{run.id}",
            icon=icon,
            help=about,
            type="tertiary",
            on_click=_forget,
            args=(run.id,),
        )


def _draw_imported(made: Collection) -> None:
    text = (
        f"**{markdown.literal(made.name)}** is imported:"
        f" {figures.count(made.documents, 'document')}, {figures.count(made.chunks, 'chunk')}."
    )
    try:
        state.workspace().library.embedders.of(made.embedder)
    except ConfigError as error:
        st.warning(f"{text} {markdown.literal(str(error))}", icon=":material/warning:")
    else:
        st.success(text, icon=":material/check_circle:")


def _draw_exported(run: Run[Any], path: Path) -> None:
    size = path.stat().st_size if path.is_file() else 0
    with st.container(gap="xsmall"):
        st.success(
            f"**{markdown.literal(run.title)}** is done: {figures.size(size)}, kept at"
            f" {markdown.literal(str(path))}",
            icon=":material/check_circle:",
        )

        def content() -> BinaryIO:
            return path.open("rb")

        if 0 < size <= _LARGEST_MB * 10**6:
            st.download_button(
                "Download",
                content,
                file_name=path.name,
                mime="application/zip",
                key=f"download-{run.id}",
                icon=":material/download:",
                on_click="ignore",
                type="primary",
            )


def _outcome(run: Run[Any]) -> tuple[Any, str]:
    """What the ended run gave, and why it failed; the reason is empty if it did not."""
    try:
        return run.result(), ""
    except Stopped:
        return None, "cancelled; nothing was changed."
    except AgentkitError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001
        # What the work raised, whatever it was; the run has logged it.
        return None, f"it broke off ({type(error).__name__}: {error}); nothing was changed."


def _forget(run_id: str) -> None:
    _read_watched().pop(run_id, None)


def _read_watched() -> dict[str, bool]:
    """Ids of the runs that are shown, and whether their end was told."""
    found: dict[str, bool] = st.session_state.setdefault(_KEY, {})
    return found
