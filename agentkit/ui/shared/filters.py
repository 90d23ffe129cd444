"""Narrowing a search, in the retrieval lab and in chats: by document, file type, tag, day and
page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import streamlit as st

from agentkit.core.given import join_filled, list_known, pick, pick_filled
from agentkit.documents.readers import FORMATS
from agentkit.errors import NotFound
from agentkit.retrieval import Collection
from agentkit.retrieval.types import Scope
from agentkit.ui.shared import addresses, state
from agentkit.ui.text import figures, markdown, times

_LISTED = 1_000  # documents that are offered by name; of more, a part of the name is asked for


_WRITTEN = "filters-in-address"
"""What of the address was written here, whichever collection it was for."""


def draw_filters(collection: Collection) -> Scope:
    """What of the collection is searched, chosen in a popover whose label counts the filters in
    force.

    The filters stand in the address, under their names; what makes no sense there is left out.
    """
    key = f"filter-{collection.id}"
    _read_address(key)
    values = {name: st.session_state.get(f"{key}-{name}") for name in _CLEARED}
    active = sum(bool(value) for value in values.values())
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        with st.popover(
            f"Filters ({active})" if active else "Filters",
            icon=":material/filter_alt:",
            key=f"{key}-popover",
        ):
            draw_fields(collection, key)
        if active:
            st.button(
                "Clear filters",
                key=f"{key}-clear",
                icon=":material/filter_alt_off:",
                type="tertiary",
                on_click=clear,
                args=(key,),
            )
    _write_address(key)
    return read_scope(collection, key)


def _read_address(key: str) -> None:
    """Take the filters of an address that was opened; one that was written here is known
    already.
    """
    given = addresses.find_opened(_CLEARED, _WRITTEN)
    if not given:
        return
    read = {name: _read(name, values) for name, values in given.items()}
    fill(key, pick_filled(read))
    # Now, not by `_write_address`: what is clicked while this is drawn is not to be taken back.
    st.session_state[_WRITTEN] = given


def _write_address(key: str) -> None:
    given = read_fields(key)
    addresses.write({name: given.get(name) or () for name in _CLEARED}, _WRITTEN)


def _read(name: str, values: Sequence[str]) -> object:
    """The value of a filter as `filled` gives it; None for what cannot be one."""
    if isinstance(_CLEARED[name], list):
        return list(values)
    text = values[-1]
    if name == "part":
        return text
    if name in ("first", "last"):
        return _read_page(text)
    day = times.read_day(text)
    return day and day.isoformat()


def _read_page(text: str) -> int | None:
    """The number of a page; None for any other text."""
    is_number = text.isascii() and text.isdecimal()
    if not is_number:
        return None
    return int(text[:9]) or None


_CLEARED: dict[str, Any] = {
    "documents": [],
    "part": "",
    "types": [],
    "tags": [],
    "from": None,
    "to": None,
    "first": None,
    "last": None,
}
"""The fields of the filters, and what stands in each when it does not narrow."""


def clear(key: str) -> None:
    """Let the fields under this key narrow nothing, from the next drawing on."""
    for name, empty in _CLEARED.items():
        st.session_state[f"{key}-{name}"] = empty


def read_fields(key: str) -> dict[str, Any]:
    """What stands in the fields under this key that narrow, as JSON values by name."""
    values = {name: st.session_state.get(f"{key}-{name}") for name in _CLEARED}
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in values.items()
        if value
    }


def check_filled(given: object) -> dict[str, Any]:
    """What of it `fill` can take, as `filled` gives it; what makes no sense is left out."""
    if not isinstance(given, Mapping):
        return {}
    read: dict[str, Any] = {}
    for name, value in pick(given, _CLEARED).items():
        texts = list(map(str, value)) if isinstance(value, list) else [str(value)]
        if texts:
            read[name] = _read(name, texts)
    return pick_filled(read)


def fill(key: str, given: Mapping[str, Any]) -> None:
    """Let the fields under this key say what `filled` gave, from the next drawing on."""
    for name, empty in _CLEARED.items():
        value = given.get(name, empty)
        if name in ("from", "to") and value:
            value = date.fromisoformat(value)
        st.session_state[f"{key}-{name}"] = value


def in_words(scope: Scope) -> str:
    """What is searched, in Markdown: `tea.md and 2 more, tag budget`; empty for everything."""
    days = [
        (scope.added_from, "from"),
        (scope.added_before and scope.added_before - timedelta(days=1), "to"),
    ]
    parts = [
        _names(scope.document_ids) if scope.document_ids is not None else "",
        " or ".join(map(_type_name, scope.media_types)),
        f"tag {' or '.join(map(markdown.literal, scope.tags))}" if scope.tags else "",
        *(f"added {word} {times.day(moment)}" for moment, word in days if moment),
        f"from page {scope.first_page:,}" if scope.first_page else "",
        f"to page {scope.last_page:,}" if scope.last_page else "",
    ]
    return join_filled(", ", parts)


def _names(ids: Sequence[str]) -> str:
    """The first of these documents by its name, in Markdown, and how many more; only their number
    when it is gone.
    """
    try:
        first = ""
        if ids:
            first = state.workspace().library.document(state.owner(), ids[0]).name
    except NotFound:
        first = ""
    if not first:
        return figures.count(len(ids), "document")
    return markdown.literal(first) + (f" and {len(ids) - 1:,} more" if len(ids) > 1 else "")


def draw_fields(collection: Collection, key: str) -> None:
    """The fields of the filters for this collection; `key` begins the keys of the widgets, which
    keep what is chosen.
    """
    library, owner = state.workspace().library, state.owner()
    _draw_documents(collection, key)
    _several("File types", f"{key}-types", library.media_types(owner, collection.name), _type_name)
    _several("Tags", f"{key}-tags", library.tags(owner, collection.name), str, "with any of them")
    with st.grid(2, min_column_width=130):
        _day("Added from", f"{key}-from")
        _day("Added to", f"{key}-to")
        st.number_input(
            "From page",
            min_value=1,
            value=None,
            step=1,
            key=f"{key}-first",
            persist_state="session",
        )
        st.number_input(
            "To page", min_value=1, value=None, step=1, key=f"{key}-last", persist_state="session"
        )


def read_scope(collection: Collection, key: str) -> Scope:
    """What the fields under this key leave of the collection."""
    given = {name: st.session_state.get(f"{key}-{name}", _CLEARED[name]) for name in _CLEARED}
    since, until = given["from"], given["to"]
    return Scope(
        document_ids=_read_documents(collection, given["part"], given["documents"]),
        media_types=tuple(given["types"]),
        tags=tuple(given["tags"]),
        first_page=given["first"],
        last_page=given["last"],
        added_from=times.begin(since) if since else None,
        added_before=times.begin(until + timedelta(days=1)) if until else None,
    )


def _read_documents(
    collection: Collection, part: str | None, chosen: Sequence[str]
) -> list[str] | None:
    """Ids of the documents that are searched, None for all."""
    if collection.documents <= _LISTED:
        return list(chosen) or None
    if not part or not part.strip():
        return None
    found = state.workspace().library.documents(state.owner(), collection.name, part.strip())
    return [one.id for one in found]


def _draw_documents(collection: Collection, key: str) -> None:
    library, owner = state.workspace().library, state.owner()
    if collection.documents > _LISTED:
        about = "Only documents whose name, title or source contains this."
        st.text_input(
            "Documents",
            key=f"{key}-part",
            placeholder="All documents",
            help=about,
            persist_state="session",
        )
        return
    names = {one.id: one.name for one in library.documents(owner, collection.name)}
    _several("Documents", f"{key}-documents", list(names), names.__getitem__)


def _several(
    label: str,
    key: str,
    options: Sequence[str],
    name: Callable[[str], str],
    about: str | None = None,
) -> None:
    """Some of the options; what is no longer there is no longer chosen."""
    st.session_state[key] = list_known(st.session_state.get(key, ()), options)
    st.multiselect(
        label,
        options,
        format_func=name,
        key=key,
        placeholder="All",
        help=about,
        disabled=not options,
        persist_state="session",
    )


def _day(label: str, key: str) -> None:
    st.date_input(label, value=None, key=key, persist_state="session")


def _type_name(media_type: str) -> str:
    ending = next(
        (ending for ending, known in FORMATS.items() if known.media_type == media_type), ""
    )
    return ending[1:].upper() or media_type
