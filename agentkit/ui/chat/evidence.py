"""What is told below an answer that nothing was found for: why, and what can be done."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from agentkit.ledger import StoredMessage, queries
from agentkit.ledger.queries import Search
from agentkit.retrieval import Collection
from agentkit.teams import Question
from agentkit.teams.question import EVERYTHING
from agentkit.ui.chat import stored
from agentkit.ui.composer import composer
from agentkit.ui.documents import progress
from agentkit.ui.shared import state
from agentkit.ui.steps.turns import Turn
from agentkit.ui.text import figures

_STILL = "Documents are still being taken in: ask again once they are there."


def draw_missing(turn: Turn, again: Question | None) -> None:
    """Says why there was nothing to answer from, when every search came back empty; an answer alone
    may not tell. `again` is what the chat asks next, where the turn can be asked again.
    """
    if stored.has_found(turn):
        return
    searches = queries.searches(state.workspace().ledger, state.owner(), turn.run_id)
    if not searches or any(search.hits for search in searches):
        return
    first = next((search for search in searches if search.weak), searches[0])
    searched = _list_searched(turn)
    under_way, come = _count_new(turn, searched)
    st.info(
        f"{_describe(first)} {_advise(turn, first, under_way, come)}", icon=":material/search_off:"
    )
    if again and (under_way or come):
        _draw_again(turn, again)
    name = searched[0].name if searched else first.collection
    st.page_link(
        state.PAGES / "retrieval_lab.py",
        label="See this search in the retrieval lab",
        icon=":material/science:",
        query_params={"collection": name, "q": first.query},
    )


def _describe(search: Search) -> str:
    if not search.weak:
        return "**No passage was found.**"
    found = f"{figures.count(search.weak, 'passage')} scored below {search.min_score:g}"
    return (
        f"**Weak evidence only.** {found}, where this collection draws the line; none of them was"
        " used."
    )


def _advise(turn: Turn, search: Search, under_way: int, come: int) -> str:
    ways = "Ask in other words, or choose another collection."
    if under_way:
        ways = _STILL
    elif come:
        have = "has" if come == 1 else "have"
        ways = f"{figures.count(come, 'document')} {have} come in since: ask again."
    elif search.weak:
        ways = "Ask in other words, or see in the retrieval lab what lies below the line."
    if turn.asked.scope != EVERYTHING:
        ways = f"Clear what the question is narrowed to. {ways}"
    return ways


def _list_searched(turn: Turn) -> list[Collection]:
    """The collections that were searched and are still there, that of the question first, whatever
    its name is now.
    """
    wanted = turn.question.extra.get("collection_id") if turn.question else None
    _, *others = turn.asked.collections
    known = state.workspace().library.collections(state.owner())
    there = [one for one in known if one.id == wanted]
    return there + [one for one in known if one.name in others and one.id != wanted]


def _count_new(turn: Turn, searched: list[Collection]) -> tuple[int, int]:
    """How many documents are being taken in there, and how many have come in since the
    question: what came in while it was answered may not have been searched.
    """
    if not isinstance(turn.question, StoredMessage):
        return 0, 0
    store = state.workspace().library.store
    return store.count_new([one.id for one in searched], turn.question.created_at)


def _draw_again(turn: Turn, again: Question) -> None:
    """How far it is, and the way to ask the same again: the old answer stays in the chat's tree."""
    said = turn.question
    if said is None:
        return
    progress.draw_progress()
    st.button(
        "Ask again",
        key=f"ask-again-{turn.run_id}",
        icon=":material/refresh:",
        on_click=composer.send,
        args=(replace(again, text=said.content, again=said.id),),
    )
