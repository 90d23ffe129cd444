"""A question of a run put into a question set of the retrieval lab, with the documents that answer
it.
"""

from __future__ import annotations

from operator import attrgetter

import streamlit as st

from agentkit.core.given import find_first, pick_kind
from agentkit.errors import AgentkitError
from agentkit.events import MessageSent, Retrieved, events_of
from agentkit.ledger.spans import Span, Trace
from agentkit.retrieval.evaluation.question_files import format_expected, question_of
from agentkit.ui.shared import state
from agentkit.ui.text import markdown

_NEW = "A new set"
_LONGEST = 2_000  # characters of a question that are offered


def draw_adding(text: str, trace: Trace, span: Span) -> None:
    """What to put where: the question, its documents (those that were cited), and the set."""
    key = f"add-question-{span.seq}"
    with st.popover("Add to a question set", icon=":material/quiz:", key=key):
        sets = [one.name for one in state.workspace().library.questions.sets(state.owner())]
        st.text_area("Question", value=text[:_LONGEST], key=f"{key}-text")
        cited, found = _find_documents(trace)
        st.multiselect(
            "Documents that answer it",
            list(dict.fromkeys([*cited, *found])),
            default=cited,
            accept_new_options=True,
            key=f"{key}-documents",
        )
        chosen = st.selectbox("Question set", [*sets, _NEW], key=f"{key}-set")
        if chosen == _NEW:
            st.text_input("Name", value="From runs", max_chars=120, key=f"{key}-name")
        st.button(
            "Add",
            key=f"{key}-add",
            type="primary",
            on_click=_add,
            args=(key, _collection(trace)),
        )


def find_asked(trace: Trace) -> MessageSent | None:
    """The question that the run answers; None for a run that answers none."""
    for said in pick_kind(events_of(trace.events.values()), MessageSent):
        if said.role == "user" and not said.extra.get("inner"):
            return said
    return None


def _find_documents(trace: Trace) -> tuple[list[str], list[str]]:
    """The names of the documents that the answer cites, and of all that were found."""
    cited: dict[str, None] = {}
    found: dict[str, None] = {}
    for event in events_of(trace.events.values()):
        if isinstance(event, MessageSent):
            names = (str(one["document"]) for one in event.extra.get("citations", ()))
            cited |= dict.fromkeys(names)
        elif isinstance(event, Retrieved):
            found |= dict.fromkeys(str(hit.get("document", "")) for hit in event.hits)
    return [format_expected(name, 1) for name in cited], [
        format_expected(name, 1) for name in found if name
    ]


def _collection(trace: Trace) -> str:
    """The first collection that was searched."""
    searches = pick_kind(events_of(trace.events.values()), Retrieved)
    searched = find_first(searches, attrgetter("collection"))
    if searched is None:
        return ""
    return searched.collection.split(", ")[0]


def _add(key: str, collection: str) -> None:
    questions, owner = state.workspace().library.questions, state.owner()
    given, chosen = st.session_state, st.session_state[f"{key}-set"]
    try:
        added = question_of(given[f"{key}-text"], given[f"{key}-documents"])
        if chosen == _NEW:
            made = questions.create(owner, given[f"{key}-name"], collection, [added])
        else:
            made = questions.named(owner, chosen)
            kept = questions.questions(owner, made.id)
            others = [one for one in kept if one.text != added.text]
            questions.replace_questions(owner, made.id, [*others, added])
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    given[f"{key}-set"] = made.name
    st.toast(f"Added to {markdown.literal(made.name)}", icon=":material/check:")
