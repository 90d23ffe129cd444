"""The table of a collection's documents: find, sort, select, tag, delete, retry, export."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.core.given import join_filled, list_known
from agentkit.errors import AgentkitError
from agentkit.ledger.export import table_csv
from agentkit.retrieval import Collection, StoredDocument
from agentkit.retrieval.names import file_name, to_shown_name
from agentkit.ui.documents import progress
from agentkit.ui.documents.tally import same_content
from agentkit.ui.shared import dialogs, state
from agentkit.ui.steps import wording
from agentkit.ui.text import figures, markdown, times

if TYPE_CHECKING:
    import pandas

Documents = Sequence[StoredDocument]

_SHOWN = "documents-shown"
_DELETE, _TAGS = "Delete documents", "Tags"
_AGAIN = ("failed", "stopped")
_GROUPS: dict[str, Callable[[str], bool]] = {
    "All": lambda status: True,
    "Indexed": lambda status: status == "indexed",
    "Failed": lambda status: status == "failed",
    "Stopped": lambda status: status == "stopped",
    "Under way": lambda status: status in wording.STAGES,
}


def draw_documents(collection: Collection) -> list[StoredDocument]:
    """Filters, actions and the table; gives the documents that are selected."""
    found, everything = _draw_filters(collection)
    actions = st.container(horizontal=True, vertical_alignment="center", key="document-actions")
    if not found:
        st.info(
            "No document fits this filter. Clear the text, or choose All.",
            icon=":material/filter_alt_off:",
        )
        chosen = []
    else:
        chosen = _draw_table(collection, found)
    with actions:
        _draw_actions(collection, found, everything, chosen)
    name, subject = dialogs.read_open()
    if name == _DELETE:
        _delete(subject)
    elif name == _TAGS:
        _tag(collection, subject)
    return chosen


def _draw_filters(collection: Collection) -> tuple[Documents, Documents]:
    """The documents that the filters leave, and all those that the text leaves."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="document-filters"):
        icon, where = ":material/search:", "Name, title or source"
        text = st.text_input(
            "Find documents", key="document-search", placeholder=where, icon=icon, width=320
        )
        everything = state.workspace().library.documents(
            state.owner(), collection.name, (text or "").strip()
        )
        if wanted := _draw_tag_filter(collection):
            everything = [one for one in everything if wanted.intersection(one.tags)]
        fits = _GROUPS[_choose_status([one.status for one in everything])]
    return [one for one in everything if fits(one.status)], everything


def _choose_status(statuses: Sequence[str]) -> str:
    """Which documents are shown, by their status; how many there are of each stands beside it."""
    sizes = {name: sum(map(fits, statuses)) for name, fits in _GROUPS.items()}
    # An option that has no documents left stays while it is chosen, so that the choice does not
    # jump.
    always = ("All", st.session_state.get("document-status"))
    names = [name for name, size in sizes.items() if size or name in always]
    chosen = st.segmented_control(
        "Status",
        names,
        default="All",
        required=True,
        wrap=True,
        key="document-status",
        format_func=lambda name: f"{name} ({figures.count(sizes[name])})",
    )
    return chosen or "All"


def _draw_tag_filter(collection: Collection) -> set[str]:
    """The tags of which a document must have one; empty for all documents. It is not there while
    nothing has tags.
    """
    known = state.workspace().library.tags(state.owner(), collection.name)
    key = f"document-tags-{collection.id}"
    st.session_state[key] = list_known(st.session_state.get(key, []), known)
    if not known:
        return set()
    return set(st.multiselect("Tags", known, key=key, placeholder="Any", width=280))


def _draw_table(collection: Collection, found: Documents) -> list[StoredDocument]:
    """The table. A selection is kept by document: when rows come or go, it moves with its
    documents.
    """
    ids = [one.id for one in found]
    chosen = _read_selected()
    key = f"documents-{collection.id}-{hashlib.sha256(' '.join(ids).encode()).hexdigest()[:16]}"
    rows = [row for row, document_id in enumerate(ids) if document_id in chosen]
    columns = st.column_config
    rows_shown = table(found, _copies(collection))
    unused = [name for name in ("Note", "Tags") if not rows_shown[name].any()]
    rows_shown["Tags"] = [list(one.tags) for one in found]
    shown: Any = st.dataframe(
        rows_shown.drop(columns=unused),
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": rows}},
        hide_index=True,
        placeholder="",
        alt=f"Documents of {collection.name}, one a row",
        column_config={
            "Document": columns.TextColumn(width="medium"),
            "Note": columns.TextColumn("Reason or note", width="large"),
            "Tags": columns.ListColumn(),
            "Chunks": columns.NumberColumn(format="localized"),
            "Tokens": columns.NumberColumn(format="localized"),
            "Size": columns.NumberColumn(format="bytes"),
            "Time": columns.NumberColumn(format="%.1f s", help="Seconds that taking it in took"),
            "Added": columns.DatetimeColumn(format="localized", timezone=times.zone()),
            "Source": columns.TextColumn(help="Where it came from"),
        },
    )
    st.session_state[_SHOWN] = (key, ids)
    return [found[row] for row in shown.selection.rows if row < len(found)]


def _read_selected() -> set[str]:
    """The ids that were selected in the table as it was shown last."""
    key, ids = st.session_state.get(_SHOWN, ("", []))
    if not key:
        return set()
    state_of: Any = st.session_state.get(key)
    if not state_of:
        return set()
    rows = state_of["selection"]["rows"]
    return {ids[row] for row in rows if row < len(ids)}


def _copies(collection: Collection) -> dict[str, str]:
    return state.workspace().library.copies(state.owner(), collection.name)


def table(documents: Documents, copies: Mapping[str, str]) -> pandas.DataFrame:
    """The documents as a table for people; times are aware, in UTC.

    `copies` has the name of the document with the same content, by id.
    """
    import pandas

    rows = [
        {
            "Document": one.name,
            "Status": wording.STAGES.get(one.status, one.status),
            "Note": _note(one, copies.get(one.id, "")),
            "Tags": ", ".join(one.tags),
            "Chunks": one.chunks,
            "Tokens": one.tokens,
            "Size": one.bytes,
            "Time": one.seconds,
            "Added": pandas.Timestamp(one.created_at, tz="UTC"),
            "Source": to_shown_name(one.source),
        }
        for one in documents
    ]
    return pandas.DataFrame(rows)


def _note(document: StoredDocument, same_as: str) -> str:
    same = same_content(same_as) if same_as else ""
    return join_filled(" ", (document.error or document.note, same))


def _draw_actions(
    collection: Collection, found: Documents, everything: Documents, chosen: Documents
) -> None:
    again = [one.id for one in chosen if one.status in _AGAIN]
    failed = [one.id for one in everything if one.status in _AGAIN]
    if chosen:
        st.caption(f"{figures.count(len(chosen))} selected", width="content")
        st.button(
            _TAGS,
            key="tag-selected",
            icon=":material/label:",
            on_click=dialogs.ask,
            args=(_TAGS, list(chosen)),
        )
        icon, about = ":material/delete:", (_DELETE, list(chosen))
        st.button(
            "Delete selected", key="delete-selected", icon=icon, on_click=dialogs.ask, args=about
        )
        if again:
            st.button(
                "Retry selected",
                key="retry-selected",
                icon=":material/refresh:",
                on_click=_retry,
                args=(again,),
            )
    if failed and len(again) < len(failed):
        label = _retry_label(one.status for one in everything)
        st.button(
            label, key="retry-failed", icon=":material/refresh:", on_click=_retry, args=(failed,)
        )
    if found:
        st.download_button(
            "Export CSV",
            lambda: table_csv(table(found, _copies(collection))),
            file_name=file_name(collection.name, ".csv"),
            mime="text/csv",
            key="export-documents",
            icon=":material/download:",
            on_click="ignore",
            type="tertiary",
        )


def _retry_label(statuses: Iterable[str]) -> str:
    """`Retry 3 failed, 1 stopped`: what would be taken in once more."""
    counts = Counter(statuses)
    parts = [f"{figures.count(counts[status])} {status}" for status in _AGAIN if counts[status]]
    return f"Retry {', '.join(parts)}"


@dialogs.dialog("Delete documents?")
def _delete(chosen: Documents) -> None:
    names = [f"- {markdown.literal(one.name)}" for one in chosen[:8]]
    if len(chosen) > len(names):
        names.append(f"- and {figures.count(len(chosen) - len(names))} more")
    st.markdown(f"{figures.count(len(chosen), 'document')} with all chunks:\n\n" + "\n".join(names))
    st.markdown(
        "No answer will use them any more. Chats keep the passages they cited. This cannot be"
        " undone."
    )
    if dialogs.confirm("delete-documents", "Delete"):
        gone = state.workspace().library.delete_documents(state.owner(), [one.id for one in chosen])
        st.toast(f"{figures.count(gone, 'document')} deleted", icon=":material/delete:")
        dialogs.close()
        st.rerun()


@dialogs.dialog("Tags")
def _tag(collection: Collection, chosen: Documents) -> None:
    library, owner = state.workspace().library, state.owner()
    there = sorted({tag for one in chosen for tag in one.tags})
    named = (
        markdown.literal(chosen[0].name)
        if len(chosen) == 1
        else figures.count(len(chosen), "document")
    )
    with st.form("tag-documents", border=False):
        st.markdown(f"Of **{named}**; searches can be narrowed to documents with a tag.")
        add = st.multiselect(
            "Add",
            library.tags(owner, collection.name),
            key="tags-to-add",
            accept_new_options=True,
            placeholder="Choose tags, or type new ones",
        )
        remove = []
        if there:
            remove = st.multiselect(
                "Remove", there, key="tags-to-remove", placeholder="Choose tags"
            )
        saved = st.form_submit_button("Save", type="primary", key="save-tags")
    if saved:
        try:
            library.tag_documents(owner, [one.id for one in chosen], add, remove)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
        dialogs.close()
        st.rerun()


def _retry(ids: Sequence[str]) -> None:
    progress.watch(state.workspace().retry(state.owner(), ids))
