"""Documents that the next question is only about: chosen by a button beside the composer, which @
in the composer presses, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import streamlit as st

from agentkit.core.given import list_known
from agentkit.errors import NotFound, WrongArgument
from agentkit.retrieval.types import Scope
from agentkit.teams import Question
from agentkit.ui.shared import kept, state
from agentkit.ui.text import figures, markdown

_LISTED = 1_000  # documents that are offered by name; of more, a part of the name is asked for


def narrow(chat_id: str | None, scope: Scope) -> Scope:
    """The scope for the next question: only the chosen documents, where some are."""
    chosen = _read_chosen(chat_id)
    if chosen:
        return replace(scope, document_ids=chosen)
    return scope


def list_chosen(chat_id: str | None) -> list[str]:
    """The ids of the documents that the next question is only about."""
    return [one for one in _read_chosen(chat_id) if _find_name(one)]


def take_over(ids: Sequence[str]) -> None:
    """Let the first question of a new chat be about these; raises WrongArgument for one that is
    not there.
    """
    if gone := [one for one in ids if not _find_name(one)]:
        raise WrongArgument(f"There is no document {gone[0]!r}.")
    kept.put(None, "mentions", list(ids) or None)


def forget(chat_id: str | None) -> None:
    """The question was sent: the next one is about everything again."""
    kept.put(chat_id, "mentions", None)


def draw_line(chat_id: str | None) -> None:
    """Which documents the next question is about, and the way to clear them."""
    if not (names := [name for one in _read_chosen(chat_id) if (name := _find_name(one))]):
        return
    shown = ", ".join(map(markdown.literal, names[:3]))
    more = ""
    if names[3:]:
        more = f" and {figures.count(len(names) - 3)} more"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="mentioned"):
        st.caption(f":material/alternate_email: Next question: {shown}{more}", width="content")
        st.button(
            "Clear",
            key="mentions-clear",
            icon=":material/close:",
            type="tertiary",
            on_click=forget,
            args=(chat_id,),
        )


def draw_button(question: Question) -> None:
    """Opens the choice; the documents are looked up once it is open."""
    chat_id = question.chat_id
    popover = st.popover(
        "Documents",
        icon=":material/alternate_email:",
        type="tertiary",
        key="mention",
        help="Ask the next question about some documents only. Typing @ does the same.",
        on_change="rerun",
    )
    if not popover.open:
        return
    with popover:
        _draw_choice(chat_id, question.collections)


def _draw_choice(chat_id: str | None, collections: Sequence[str]) -> None:
    names = _offer(collections)
    chosen = _read_chosen(chat_id)
    names |= {one: name for one in chosen if one not in names and (name := _find_name(one))}
    key = f"mentions-{chat_id or 'new'}"
    st.session_state[key] = list_known(chosen, names)
    st.multiselect(
        "The next question is about",
        list(names),
        format_func=names.__getitem__,
        key=key,
        placeholder="Choose documents",
        on_change=_choose,
        args=(chat_id, key),
        disabled=not names,
    )


def _choose(chat_id: str | None, key: str) -> None:
    kept.put(chat_id, "mentions", st.session_state[key] or None)


def _offer(collections: Sequence[str]) -> dict[str, str]:
    """The names of documents by their ids: all, or those that contain a part that is typed."""
    library, owner = state.workspace().library, state.owner()
    there = [one for one in library.collections(owner) if one.name in collections]
    count = sum(one.documents for one in there)
    part = ""
    if count > _LISTED:
        part = st.text_input(
            "A part of the name", key="mention-part", placeholder="Whose name contains …"
        ).strip()
        if not part:
            return {}
    found: dict[str, str] = {}
    for each in there:
        documents = library.documents(owner, each.name, part)
        found |= {one.id: one.name for one in documents}
    return dict(islice(found.items(), _LISTED))


def _find_name(document_id: str) -> str:
    """Its name; empty for one that was deleted meanwhile."""
    try:
        return state.workspace().library.document(state.owner(), document_id).name
    except NotFound:
        return ""


def _read_chosen(chat_id: str | None) -> list[str]:
    return list(kept.get(chat_id, "mentions") or ())
