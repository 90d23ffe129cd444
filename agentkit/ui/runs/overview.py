"""All runs: filters, order and page, all in the address, and the runs that they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from math import ceil
from typing import Any, Literal, get_args
from urllib.parse import urlencode
from zlib import crc32

import streamlit as st

from agentkit.core.given import list_known
from agentkit.errors import NotFound
from agentkit.ledger import run_list
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.run_documents import HOWS
from agentkit.ledger.run_list import RunFilter, RunSort
from agentkit.runs import Run
from agentkit.ui.runs import words
from agentkit.ui.shared import addresses, components, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import figures, markdown, times

PER_PAGE = 50
_WRITTEN = "runs-in-address"
_CHOSEN = "runs-chosen"
_FIELDS: dict[str, Any] = {
    "q": "",
    "state": [],
    "kind": [],
    "team": [],
    "model": [],
    "from": None,
    "to": None,
    "document": "",
    "how": [],
    "column": [],
    "agent": [],
    "server": [],
    "call": [],
    "chat": [],
    "sort": "newest",
    "page": 1,
}
"""The fields by their names in the address, and what stands in each that says nothing."""
_COLUMNS = (
    ("Run", ""),
    ("Kind", "whole"),
    ("Team", ""),
    ("State", "whole"),
    ("Started", "whole"),
    ("Took", "number"),
    ("Tokens", "number"),
    ("Cost", "number"),
)
_STATE = 3  # the column
_OTHERS = tuple(name for name, _ in _COLUMNS[1:])
"""The columns that can be left out."""
_BAD = ("failed", "interrupted")
Column = Literal["state", "kind", "team", "model"]


def draw_overview() -> None:
    """The filters and one page of the runs that they mean."""
    is_opened = _read_address()
    chosen, sort = _draw_filters()
    ledger = state.workspace().ledger
    found = run_list.count(ledger, chosen)
    pages = max(1, ceil(found / PER_PAGE))
    page, place = min(_get("page"), pages), st.container()
    if pages > 1:
        key = f"runs-pages-{crc32(repr((chosen, sort)).encode())}"  # other filters begin anew
        if is_opened or key not in st.session_state:
            st.session_state[key] = page
        page = st.pagination(pages, key=key)
    st.session_state[_key("page")] = page
    _write_address()  # now, as what is clicked while the runs are drawn ends this
    with place:
        _draw_runs(found, run_list.list_runs(ledger, chosen, sort, PER_PAGE, (page - 1) * PER_PAGE))


def open_run(run_id: str) -> None:
    """Look into this run, from the next drawing on."""
    for name in ("step", "find", "with"):
        st.query_params.pop(name, None)
    st.query_params["run"] = run_id


def close_run() -> None:
    """Go back to all runs, as they were chosen."""
    for name in ("run", "step", "find", "with"):
        st.query_params.pop(name, None)


def find_at_work(run_id: str) -> Run[Any] | None:
    """The run while it goes on here: one of an older version may have no end."""
    run = state.find_run(run_id)
    return None if run is None or run.ended else run


def open_comparison(first: str, second: str) -> None:
    """Put two runs beside each other, from the next drawing on."""
    open_run(first)
    st.query_params["with"] = second


def _choose(run_id: str) -> None:
    """Take the run as one of the two that are compared, or no longer; a third one takes the place
    of the first.
    """
    chosen: list[str] = st.session_state.setdefault(_CHOSEN, [])
    if run_id in chosen:
        chosen.remove(run_id)
        return
    st.session_state[_CHOSEN] = [*chosen, run_id][-2:]


def _draw_chosen() -> None:
    """What can be done with the runs that are chosen."""
    chosen = st.session_state.get(_CHOSEN, [])
    if len(chosen) == 2:
        st.button(
            "Compare the two",
            key="compare",
            icon=":material/compare_arrows:",
            on_click=open_comparison,
            args=tuple(chosen),
        )
    elif chosen:
        st.caption("Choose another one to compare it with.", width="content")


def _draw_runs(found: int, listed: Sequence[RunTotals]) -> None:
    if not found:
        _draw_none()
        return
    with st.container(horizontal=True, vertical_alignment="center", key="runs-chosen-row"):
        st.caption(figures.count(found, "run"), width="content")
        _draw_chosen()
    ids = [run.id for run in listed]
    ends = run_list.ends(state.workspace().ledger, state.owner(), ids)
    rows = [_row(run, words.why_ended(run, ends.get(run.id))) for run in listed]
    columns = [_COLUMNS[each] for each in _list_shown()]
    components.run_table(open_run, "Runs", columns, rows, _choose)


def _draw_none() -> None:
    if any(_get(name) != empty for name, empty in _FIELDS.items()):
        st.info(
            "No runs fit these filters. Choose more days, or clear the others.",
            icon=":material/filter_alt_off:",
        )
        return
    st.markdown(
        "Nothing was run yet. Ask a question, and everything that was done for it will be here."
    )
    st.page_link(PAGES / "chat.py", label="Ask a question", icon=":material/forum:")


def _row(run: RunTotals, why: str) -> dict[str, object]:
    took = figures.seconds(run.seconds) if run.seconds is not None else ""
    cells = [
        " ".join(run.title.split()) or words.of_kind(run.kind),
        words.of_kind(run.kind),
        words.of_team(run.team),
        words.of_state(run.state),
        times.format_time(run.started_at),
        took,
        figures.count(run.tokens) if run.tokens else "",
        words.cost(run),
    ]
    address = {**st.query_params.to_dict(), "run": run.id}
    shown = _list_shown()
    row: dict[str, object] = {"id": run.id, "href": f"?{urlencode(address)}", "below": why}
    row["cells"] = [cells[each] for each in shown]
    is_told = run.state in _BAD and _STATE in shown
    row["bad"] = shown.index(_STATE) if is_told else None
    row["chosen"] = run.id in st.session_state.get(_CHOSEN, ())
    return row


def _list_shown() -> list[int]:
    """The places of the columns that are shown: the first one, and those chosen, or all."""
    chosen = set(_get("column") or _OTHERS)
    return [0, *(place for place, name in enumerate(_OTHERS, 1) if name in chosen)]


# Filters


def _draw_filters() -> tuple[RunFilter, RunSort]:
    before = {name: _get(name) for name in _FIELDS if name != "page"}
    with st.container(horizontal=True, vertical_alignment="bottom", key="runs-filters"):
        words_ = st.text_input(
            "Words of the question",
            key=_key("q"),
            icon=":material/search:",
            placeholder="Or the id of a run",
            persist_state="session",
            width=300,
        )
        sort = st.selectbox(
            "Order",
            get_args(RunSort),
            format_func=words.SORTS.__getitem__,
            key=_key("sort"),
            persist_state="session",
            width=190,
        )
        narrowing = [
            name for name in ("state", "kind", "team", "model", "from", "to") if _get(name)
        ]
        label = f"Filters ({len(narrowing)})" if narrowing else "Filters"
        with st.popover(label, icon=":material/filter_alt:", key="runs-popover"):
            _draw_choices()
        if any(_get(name) != _FIELDS[name] for name in before):
            st.button(
                "Clear",
                key="runs-clear",
                icon=":material/filter_alt_off:",
                type="tertiary",
                on_click=_clear,
            )
    _draw_document()
    _draw_calls()
    if before != st.session_state.setdefault("runs-before", before):
        st.session_state["runs-before"] = before
        st.session_state[_key("page")] = 1
    return _filter(words_ or ""), sort


def _draw_choices() -> None:
    _several("State", "state", words.of_state)
    _several("Kind", "kind", words.of_kind)
    _several("Team", "team", words.of_team)
    _several("Model", "model", str)
    st.multiselect(
        "Columns", _OTHERS, key=_key("column"), placeholder="All", persist_state="session"
    )
    with st.grid(2, min_column_width=130):
        st.date_input("From", value=None, key=_key("from"), persist_state="session")
        st.date_input("To", value=None, key=_key("to"), persist_state="session")


def _several(label: str, column: Column, named: Callable[[str], str]) -> None:
    """Some of the values that there are; what an address names besides is offered, too."""
    known = run_list.find_values(state.workspace().ledger, state.owner(), column)
    offered = list(dict.fromkeys([*known, *_get(column)]))
    st.multiselect(
        label,
        offered,
        format_func=named,
        key=_key(column),
        placeholder="All",
        persist_state="session",
    )


def _draw_document() -> None:
    """Which document the runs had to do with, and what, when an address says so."""
    document_id = _get("document")
    if not document_id:
        return
    try:
        name = state.workspace().library.document(state.owner(), document_id).name
    except NotFound:
        name = document_id
    with st.container(horizontal=True, vertical_alignment="center", key="runs-document-row"):
        st.caption(
            f":material/description: Only runs with {markdown.literal(name)}", width="content"
        )
        st.pills(
            "What they did with it",
            HOWS,
            selection_mode="multi",
            format_func=words.HOWS.__getitem__,
            key=_key("how"),
            label_visibility="collapsed",
            persist_state="session",
            width="content",
        )


def _draw_calls() -> None:
    """Which calls of models the runs have, when an address says so."""
    named = [one for name in ("agent", "server", "call") for one in _get(name)]
    if named:
        told = ", ".join(markdown.literal(one or "no agent") for one in named)
        st.caption(f":material/monitoring: Only runs with calls of {told}")


def _filter(said: str) -> RunFilter:
    since, until = _get("from"), _get("to")
    return RunFilter(
        state.owner(),
        said,
        _get("state"),
        _get("kind"),
        _get("team"),
        _get("model"),
        times.begin(since) if since else None,
        times.begin(until + timedelta(days=1)) if until else None,
        _get("document"),
        _get("how") or HOWS,
        _get("agent"),
        _get("server"),
        _get("call"),
        _get("chat"),
    )


def _key(name: str) -> str:
    return f"runs-{name}"


def _get(name: str) -> Any:
    return st.session_state.get(_key(name), _FIELDS[name])


def _clear() -> None:
    for name, empty in _FIELDS.items():
        st.session_state[_key(name)] = empty


# The address


def _read_address() -> bool:
    """Take what an address says that was opened, and whether one was; one that was written here is
    known already.
    """
    given = addresses.find_opened(_FIELDS, _WRITTEN)
    if given is None:
        return False
    for name in _FIELDS:
        st.session_state[_key(name)] = _read(name, given.get(name, []))
    return True


def _read(name: str, values: Sequence[str]) -> Any:
    """The value of a field; for what cannot be one, what says nothing."""
    empty, text = _FIELDS[name], values[-1] if values else ""
    known = _KNOWN.get(name)
    if known is not None:
        return list_known(values, known)
    if isinstance(empty, list):
        return list(values)
    if name in ("from", "to"):
        return times.read_day(text)
    if name == "page":
        return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
    if name == "sort":
        return text if text in get_args(RunSort) else empty
    return text


_KNOWN: dict[str, Sequence[str]] = {"how": HOWS, "column": _OTHERS}
"""Fields of which only these values mean something."""


def _write_address() -> None:
    addresses.write({name: _get(name) for name in _FIELDS}, _WRITTEN, _FIELDS)
