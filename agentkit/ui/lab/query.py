"""One query tried: what `retrieve()` finds with these settings or with others beside them, stage by
stage; or its exact text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from agentkit.core import bus
from agentkit.core.given import pick_kind
from agentkit.errors import AgentkitError, ConfigError
from agentkit.events import Event, Retrieved
from agentkit.retrieval import Collection
from agentkit.retrieval.ingest.versions import VersionStatus
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.types import Scope
from agentkit.ui.chat import welcome
from agentkit.ui.lab import exact, marks, parts
from agentkit.ui.lab import hits as lab_hits
from agentkit.ui.lab.hits import Found, Side
from agentkit.ui.shared import filters, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import markdown
from agentkit.workspace import SAMPLES

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_SETTINGS = "settings"
_LONGEST = 2_000
"""Characters of a query: it stands in the address, of which the server takes up to 64 KB."""
PASSAGES, EXACT = "Passages", "Exact text"


def draw_try(collection: Collection) -> None:
    """The view for this collection: a query as `?q=` in the address, settings, and what is
    found.
    """
    if not collection.documents:
        st.markdown(
            "This collection is empty. Add documents to it, and try here what is found in them."
        )
        st.page_link(PAGES / "documents.py", label="Add documents", icon=":material/description:")
        return
    query = _draw_query()
    with st.container(horizontal=True, vertical_alignment="center", key="lab-row"):
        how = st.segmented_control(
            "Find",
            [PASSAGES, EXACT],
            default=PASSAGES,
            required=True,
            key="find",
            bind="query-params",
            label_visibility="collapsed",
        )
        scope = filters.draw_filters(collection)
        comparing = how == PASSAGES and st.toggle(
            "Compare with other settings", key="compare", persist_state="session"
        )
    if how == EXACT:
        exact.draw_exact(collection, query, scope)
    else:
        _draw_passages(collection, query, scope, comparing)


def _draw_query() -> str:
    with st.form("query", border=False):
        left, right = st.columns([6, 1], vertical_alignment="bottom")
        with left:
            icon, example = ":material/search:", "What a person might ask, or words of the text"
            query = st.text_input(
                "Query",
                key="q",
                icon=icon,
                placeholder=example,
                bind="query-params",
                max_chars=_LONGEST,
            )
        with right:
            st.form_submit_button("Search", type="primary", key="lab-search", width="stretch")
    return (query or "").strip()


def _draw_passages(collection: Collection, query: str, scope: Scope, comparing: bool) -> None:
    """One side or two; each its settings, and below them what they find."""
    try:
        listed = state.workspace().library.versions.listed(state.owner(), collection.name)
        columns = st.columns(2, gap="large") if comparing else [st.container()]
        sides = []
        for letter, column in zip("AB", columns, strict=False):
            with column:
                sides.append(_draw_side(collection, letter, listed, alone=not comparing))
        if not query:
            _draw_examples(collection)
            return
        found = [
            _search(collection, query, scope, side, column)
            for side, column in zip(sides, columns, strict=True)
        ]
        marking = marks.draw_marking(collection, query)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    lab_hits.draw_found(marking, scope, [one for one in found if one], columns)


def _draw_side(
    collection: Collection, letter: str, listed: Sequence[VersionStatus], *, alone: bool
) -> Side:
    """The settings of one side, and the way to make them those of the chats."""
    of_chats = state.workspace().library.options(state.owner(), collection.name)
    key = f"try-{collection.id}-{letter}"
    _take_settings(key)
    name = "Settings" if alone else f"Settings {letter}"
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover(name, icon=":material/tune:", key=f"{key}-popover"):
            options = parts.draw_options(key, of_chats)
            version_id = parts.draw_version(f"{key}-version", listed)
            same = options == of_chats
            st.button(
                "Back to the collection's settings",
                key=f"{key}-reset",
                icon=":material/undo:",
                disabled=same and version_id is None,
                on_click=_reset,
                args=(key, of_chats),
            )
        st.button(
            "Use these settings in chat",
            key=f"{key}-adopt",
            icon=":material/forum:",
            disabled=same,
            on_click=_adopt,
            args=(collection, options),
            type="tertiary",
            help="Chats search this collection like this already."
            if same
            else "Chats search this collection like this then.",
        )
    with st.container(gap="xsmall"):
        st.caption(markdown.literal(parts.in_words(options)))
        if same:
            st.caption(":material/check: Chats search like this.")
        if version_id:
            st.caption(
                ":material/info: Chats use the version that answers; promote this one under Index."
            )
    return Side(letter, options, version_id)


def _take_settings(key: str) -> None:
    """Search with the settings in the address, as a link from a run's look-up has them."""
    given = st.query_params.pop(_SETTINGS, None)
    if given is None:
        return
    try:
        parts.set_options(key, SearchOptions.from_json(given))
    except (ConfigError, TypeError, ValueError):
        st.caption(
            ":material/info: The settings in the address cannot be read; these are the usual ones."
        )


def _reset(key: str, options: SearchOptions) -> None:
    parts.set_options(key, options)
    st.session_state.pop(f"{key}-version", None)


def _adopt(collection: Collection, options: SearchOptions) -> None:
    try:
        state.workspace().library.set_options(state.owner(), collection.name, options)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    st.toast(
        f"Chats search {markdown.literal(collection.name)} with these settings from now on",
        icon=":material/check:",
    )


def _search(
    collection: Collection, query: str, scope: Scope, side: Side, place: DeltaGenerator
) -> Found | None:
    """What this side finds; an error is shown at its place."""
    heard: list[Event] = []
    with place:
        try:
            workspace = state.workspace()
            with (
                st.spinner("Searching …"),
                bus.listening(heard.append),
                workspace.counted(state.owner(), parts.AGENT),
            ):
                hits = workspace.library.retrieve(
                    state.owner(),
                    collection.name,
                    query,
                    options=side.options,
                    scope=scope,
                    version_id=side.version_id,
                )
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return None
    return Found(side, hits, pick_kind(heard, Retrieved)[-1])


def _draw_examples(collection: Collection) -> None:
    st.markdown("Type what a person might ask, or try one of these:")
    with st.container(gap="xsmall"):
        for number, example in enumerate(_examples(collection)):
            st.button(
                markdown.literal(example),
                key=f"example-{number}",
                icon=":material/search:",
                type="tertiary",
                on_click=_ask,
                args=(example,),
            )


def _examples(collection: Collection) -> list[str]:
    """Questions about the samples; of other collections, what their documents are called."""
    workspace = state.workspace()
    if collection.name == SAMPLES and (
        questions := welcome.read_suggested_questions(workspace.settings.sample_questions)
    ):
        return questions[:3]
    documents = workspace.library.documents(state.owner(), collection.name)
    titles = (
        one.title or re.sub(r"[-_]+", " ", Path(one.name).stem) for one in documents if one.chunks
    )
    return list(dict.fromkeys(titles))[:3]


def _ask(query: str) -> None:
    st.session_state["q"] = query
