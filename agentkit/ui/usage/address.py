"""What is chosen on the usage page: kept in the session under the keys of its fields, and written
into the address, so that a view can be shared and the browser's way back works.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import streamlit as st

from agentkit.ui.shared import addresses

NARROWING = (
    "model",
    "agent",
    "team",
    "chat",
    "purpose",
    "owner",
    "provider",
    "collection",
    "status",
)
"""The fields that say which calls are meant, but for their days."""
FIELDS: dict[str, Any] = {
    "days": "30 days",
    "from": "",
    "to": "",
    **{name: [] for name in NARROWING},
    "measure": "cost",
    "by": "model",
    "within": "",
    "sort": "newest",
    "tab": "Overview",
}
"""The fields by their names in the address, and what stands in each that says nothing."""
_WRITTEN, _NARROWED, _LEFT = "usage-in-address", "usage-narrowed", "usage-left"
_ELSEWHERE = "run"


def key(name: str) -> str:
    """The key of a field in the session."""
    return f"usage-{name}"


def get(name: str) -> Any:
    """What a field says."""
    return st.session_state.get(key(name), FIELDS[name])


def put(name: str, value: Any) -> None:
    """Let a field say this, from the next drawing on."""
    st.session_state[key(name)] = value


def read(tabs: Collection[str]) -> None:
    """Take what an address says that was opened, or what a row of a table does; an address that
    was written here is known already.
    """
    given = addresses.find_opened(FIELDS, _WRITTEN)
    if _ELSEWHERE in st.query_params:
        _come_back()
    elif given is not None:
        _take(given)
        # Now, not by `write`: what is clicked while this is being drawn is not to be taken back.
        st.session_state[_WRITTEN] = given
    for name, value in st.session_state.pop(_NARROWED, {}).items():
        put(name, [value])
    if get("tab") not in tabs:
        put("tab", FIELDS["tab"])


def leave() -> None:
    """Keep what is chosen, for the way back from another page."""
    st.session_state[_LEFT] = {name: get(name) for name in FIELDS}


def _come_back() -> None:
    """Show what was left: on the way to a run the browser keeps an address that has the run's."""
    for name in (_ELSEWHERE, "step"):
        st.query_params.pop(name, None)
    for name, value in st.session_state.get(_LEFT, FIELDS).items():
        put(name, value)


def _take(given: dict[str, list[str]]) -> None:
    for name in FIELDS:
        put(name, _to_value(name, given.get(name, [])))
    if get("from") and get("to"):
        put("days", None)


def write() -> None:
    """Let the address say what the fields say."""
    addresses.write({name: get(name) for name in FIELDS}, _WRITTEN, FIELDS)


def narrow(chosen: dict[str, str]) -> None:
    """Draw the page again with only the calls of these groups."""
    st.session_state[_NARROWED] = chosen
    st.rerun()


def release(name: str, value: str) -> None:
    """Mean the calls of other groups again."""
    put(name, [one for one in get(name) if one != value])


def choose_span(first: str, last: str) -> None:
    """Mean the days or hours from the first to the last: `2026-11-13` or `2026-11-13T14`."""
    put("from", first)
    put("to", last)
    put("days", None)


def release_span() -> None:
    """Mean the usual days again."""
    for name in ("days", "from", "to"):
        put(name, FIELDS[name])


def clear() -> None:
    """Mean all calls of the usual days again."""
    release_span()
    for name in NARROWING:
        put(name, FIELDS[name])


def _to_value(name: str, values: Sequence[str]) -> Any:
    empty = FIELDS[name]
    if isinstance(empty, list):
        return list(values)
    value = values[-1] if values else empty
    if name == "within" and value not in NARROWING:
        return empty
    return value
