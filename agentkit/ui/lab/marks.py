"""Right and wrong on the passages of a query: what is said of one goes on into a question set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.retrieval import Collection, Hit
from agentkit.retrieval.names import LONGEST_NAME
from agentkit.retrieval.store.marks import Mark
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.ui.lab import parts, questions
from agentkit.ui.shared import state
from agentkit.ui.text import markdown

RIGHT, WRONG = "Right", "Wrong"
_ICONS = {RIGHT: ":material/check:", WRONG: ":material/close:"}
_SAID = {RIGHT: True, WRONG: False}
_NAMES = {True: RIGHT, False: WRONG}
_NEW = ""
_ENDING = ": questions of the lab"


@dataclass(frozen=True, slots=True)
class Marking:
    """The question that passages are marked for, and where."""

    collection: Collection
    question: str
    set_id: str
    """Empty while the set is yet to be begun."""
    marks: Sequence[Mark]


def draw_marking(collection: Collection, question: str) -> Marking:
    """The set that marks go into, what it expects for this question, and the way to measure."""
    library, owner = state.workspace().library, state.owner()
    known = {one.id: one for one in library.questions.sets(owner)}
    names = {_NEW: "A new question set"} | {one.id: one.name for one in known.values()}
    collections = {_NEW: collection.name} | {one.id: one.collection for one in known.values()}
    ids = sorted([*known, _NEW], key=lambda set_id: collections[set_id] != collection.name)
    _settle_choice(collection, ids)
    with st.container(horizontal=True, vertical_alignment="bottom", key="marking-row"):
        set_id = st.selectbox(
            "What you mark goes into",
            ids,
            format_func=names.__getitem__,
            key=_key_of(collection),
            width=360,
            persist_state="session",
            help=(
                "*Right* keeps the question with the document as what answers it, *Wrong* takes the"
                " document out; a second click takes back what was said."
            ),
        )
        if set_id:
            st.button(
                "Measure with it",
                key="marking-measure",
                type="tertiary",
                icon=":material/straighten:",
                on_click=_open_measure,
                args=(known[set_id],),
            )
    if not set_id:
        return Marking(collection, question, "", ())
    _draw_expected(library.questions.find_expected(owner, set_id, question))
    return Marking(collection, question, set_id, library.marks.of(owner, set_id, question))


def _key_of(collection: Collection) -> str:
    """Of the choice of a set."""
    return f"marked-set-{collection.id}"


def _settle_choice(collection: Collection, ids: Sequence[str]) -> None:
    """Let one be chosen that is there, at first one that was made for this collection."""
    key = _key_of(collection)
    if st.session_state.get(key) not in ids:
        st.session_state[key] = ids[0]


def _draw_expected(expected: Mapping[str, int]) -> None:
    """What the set has for this question."""
    names = ", ".join(map(markdown.literal, expected))
    told = f":material/quiz: In the set, answered by {names}."
    st.caption(told if expected else "The set does not have this question yet.")


def draw_verdict(marking: Marking, hit: Hit, key: str) -> None:
    """Whether the passage answers the question, as it was said, to say otherwise."""
    said = [_NAMES[mark.right] for mark in marking.marks if mark.is_of(hit)]
    st.session_state[key] = next(iter(said), None)
    st.segmented_control(
        f"Does passage {hit.rank} answer the question?",
        list(_ICONS),
        format_func=lambda name: f"{_ICONS[name]} {name}",
        key=key,
        label_visibility="collapsed",
        width="content",
        on_change=_keep,
        args=(marking, hit, key),
    )


def _keep(marking: Marking, hit: Hit, key: str) -> None:
    """Keep what was said; where there is no set yet, one is begun."""
    library, owner = state.workspace().library, state.owner()
    right = _SAID.get(st.session_state[key])
    try:
        set_id = marking.set_id or begin_set(marking.collection).id
        library.marks.keep(owner, set_id, marking.question, hit, right=right)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")


def begin_set(collection: Collection) -> QuestionSet:
    """A new set for this collection, which is chosen from now on."""
    kept = state.workspace().library.questions
    taken = {one.name for one in kept.sets(state.owner())}
    begun = collection.name[: LONGEST_NAME - len(_ENDING) - 5] + _ENDING
    name, number = begun, 1
    while name in taken:
        number += 1
        name = f"{begun} {number}"
    made = kept.create(state.owner(), name, collection.name)
    st.session_state[_key_of(collection)] = made.id
    return made


def _open_measure(chosen: QuestionSet) -> None:
    """Go on to measuring with this set."""
    questions.choose(chosen.name)
    parts.open_view(parts.MEASURE)
