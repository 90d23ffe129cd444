"""Which calls the usage page means: days, and whatever else narrows them, each shown where it can
be taken away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import streamlit as st

from agentkit.core.text import shorten
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import sums
from agentkit.ui.shared import state
from agentkit.ui.text import markdown, times
from agentkit.ui.usage import address, words
from agentkit.ui.usage.view import DAYS, name_span

_OFFERED = ("model", "agent", "team", "provider", "collection", "purpose", "status")
_SPAN = "usage-span"


def find_all() -> CallFilter:
    """All calls that the person may see: their own, unless the installation says otherwise."""
    return CallFilter(state.owner(), everyone=state.workspace().settings.usage_of_all)


def draw_filters() -> None:
    """The days, the other filters behind a button, and a button for each that is in force."""
    with st.container(horizontal=True, vertical_alignment="center", key="usage-filters"):
        st.segmented_control(
            "Days",
            [*DAYS, "All"],
            key=address.key("days"),
            persist_state="session",
            wrap=True,
            on_change=_choose_days,
            label_visibility="collapsed",
        )
        narrowing = sum(len(address.get(name)) for name in address.NARROWING)
        label = f"Filters ({narrowing})" if narrowing else "Filters"
        with st.popover(label, icon=":material/filter_alt:", key="usage-popover"):
            _draw_choices()
    _draw_chosen()


def _choose_days() -> None:
    """One of the usual spans takes the place of days that were chosen one by one."""
    address.put("days", st.session_state[address.key("days")] or address.FIELDS["days"])
    address.put("from", "")
    address.put("to", "")


def _draw_choices() -> None:
    every = find_all()
    known = sums.find_values(state.workspace().ledger, every)
    for name in [*_OFFERED, "owner"] if every.everyone else _OFFERED:
        _several(name, known[name])
    today = times.today()
    none: Any = ()
    picked: Any = st.date_input(
        "From and to", value=none, max_value=today, key=_SPAN, on_change=_choose_picked
    )
    if len(picked) == 1:
        st.caption("Choose the last day, too.")


def _choose_picked() -> None:
    picked: Sequence[date] = st.session_state[_SPAN]
    if len(picked) == 2:
        address.choose_span(picked[0].isoformat(), picked[1].isoformat())


def _several(name: str, known: Sequence[str]) -> None:
    """Some of the values that there are; what an address names besides is offered, too."""
    st.multiselect(
        words.GROUPS[name],
        list(dict.fromkeys([*known, *address.get(name)])),
        format_func=lambda value: words.of_value(name, value),
        key=address.key(name),
        persist_state="session",
        placeholder="All",
    )


def _draw_chosen() -> None:
    """A button for each filter that is in force, which takes it away."""
    chosen = [(name, value) for name in address.NARROWING for value in address.get(name)]
    span = name_span()
    if not chosen and not span:
        return
    titles = sums.name_chats(state.workspace().ledger, address.get("chat"))
    with st.container(horizontal=True, gap="small", key="usage-chosen"):
        if span:
            _draw_chip("span", span, address.release_span)
        for name, value in chosen:
            title = titles.get(value) or words.of_value(name, value)
            _draw_chip(f"{name}-{value}", title, address.release, name, value)
        st.button("Clear all", key="usage-clear", type="tertiary", on_click=address.clear)


def _draw_chip(key: str, label: str, release: Any, *values: str) -> None:
    st.button(
        markdown.literal(shorten(label, 60)),
        key=f"usage-chip-{key}",
        icon=":material/close:",
        on_click=release,
        args=values,
        help="Take this filter away",
    )
