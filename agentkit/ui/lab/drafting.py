"""Questions that a model drafts from documents of a collection: how many, what it takes, and which
of them a person keeps in a set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError
from agentkit.events import QuestionDrafted
from agentkit.llm import Model
from agentkit.retrieval import Collection, StoredDocument
from agentkit.retrieval.evaluation.measuring import find_expected
from agentkit.retrieval.store.questions import Question, QuestionSet
from agentkit.runs import Run
from agentkit.ui.documents import progress
from agentkit.ui.evaluations import choosing
from agentkit.ui.lab import marks
from agentkit.ui.lab import questions as lab_questions
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown, times
from agentkit.workspace.question_sets import drafting
from agentkit.workspace.question_sets.drafting import DraftCost, Drafted

if TYPE_CHECKING:
    import pandas

_USUAL = 10
_WATCHED = "drafting"
_MODEL = "draft-model"


def draw_drafting(collection: Collection, chosen: QuestionSet | None) -> None:
    """The part of the page: what is to be drafted, how far it is, and what came; what is kept goes
    into the chosen set, or begins one.
    """
    label, icon = "Draft questions from documents", ":material/edit_note:"
    with st.expander(label, icon=icon, key=f"draft-{collection.id}"):
        live = [run.id for run in runs.live(state.owner(), kind=drafting.KIND)]
        _draw_start(collection, chosen, is_busy=bool(live))
        if live:
            _draw_live(live)
        _draw_end()
        found = drafting.find_drafted(state.workspace().ledger, state.owner(), collection.name)
        if found and found.run_id not in live:
            _draw_drafts(collection, chosen, found)


def _draw_start(collection: Collection, chosen: QuestionSet | None, *, is_busy: bool) -> None:
    if not collection.documents:
        st.caption("The collection has no documents yet.")
        return
    st.caption(
        "A language model reads a part of each of so many documents and drafts the question that it"
        " answers. Nothing goes into a set before you keep it."
    )
    most = min(drafting.MOST, collection.documents)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = st.number_input(
            "Documents", 1, most, min(_USUAL, most), key="draft-number", width=160
        )
        choosing.draw_models(_MODEL)
    model = state.workspace().model(st.session_state[_MODEL])
    if not model.is_language_model:
        st.info(
            "The offline model only quotes, so it cannot write questions. Choose a language model,"
            " or connect one under Settings.",
            icon=":material/info:",
        )
        return
    documents = _choose_documents(collection, chosen, int(number))
    st.caption(tell_cost(drafting.estimate_cost(model, documents)))
    st.button(
        f"Draft {figures.count(len(documents), 'question')}",
        key="draft-questions",
        type="primary",
        icon=":material/play_arrow:",
        disabled=not documents or is_busy,
        on_click=_begin,
        args=(collection, model, [one.id for one in documents]),
    )


def _choose_documents(
    collection: Collection, chosen: QuestionSet | None, number: int
) -> list[StoredDocument]:
    """Those that the set does not expect come first."""
    library, owner = state.workspace().library, state.owner()
    known = find_expected(_list_questions(chosen))
    return drafting.choose_documents(library, owner, collection.name, number, known)


def _list_questions(chosen: QuestionSet | None) -> list[Question]:
    """Of the set, if there is one."""
    if chosen is None:
        return []
    return state.workspace().library.questions.questions(state.owner(), chosen.id)


def tell_cost(expected: DraftCost) -> str:
    """What drafting will take, in words; an unknown price is never shown as nothing."""
    price = "of unknown price"
    if expected.cost is not None:
        price = f"about {figures.dollars(expected.cost)}"
    calls = figures.count(expected.calls, "call")
    return f"To be expected: {calls}, about {figures.count(expected.tokens, 'token')}, {price}."


def _begin(collection: Collection, model: Model, documents: Sequence[str]) -> None:
    if runs.live(state.owner(), kind=drafting.KIND):  # the button was clicked twice
        return
    try:
        run = drafting.draft_questions(
            state.workspace(), state.owner(), collection.name, model, documents
        )
    except AgentkitError as error:
        choosing.tell_error(error)
        return
    st.session_state[_WATCHED] = run.id


@st.fragment(run_every=progress.POLL_S)
def _draw_live(run_ids: Sequence[str]) -> None:
    """How far they are; when one ends, the page is drawn anew."""
    for run_id in run_ids:
        run = state.find_run(run_id)
        if run is None or run.ended:
            dialogs.redraw()
            continue
        _draw_progress(run)


def _draw_progress(run: Run[object]) -> None:
    done = sum(isinstance(one.event, QuestionDrafted) for one in run.events())
    with st.container(horizontal=True, vertical_alignment="center", key=f"drafting-{run.id}"):
        text = f"{figures.count(done)} of {figures.count(run.size, 'document')} read"
        st.progress(min(1.0, done / max(1, run.size)), text=text)
        st.button(
            "Stopping" if run.stopping else "Stop",
            key=f"stop-{run.id}",
            icon=":material/stop_circle:",
            type="tertiary",
            on_click=run.stop,
            disabled=run.stopping,
        )


def _draw_end() -> None:
    """Why the run that was begun here ended early, if it did."""
    run = state.find_run(st.session_state.get(_WATCHED, ""))
    if run is None or not run.ended or run.error is None:
        return
    st.warning(
        f"It ended early: {markdown.literal(str(run.error))} What was drafted by then is below.",
        icon=":material/warning:",
    )


def _draw_drafts(collection: Collection, chosen: QuestionSet | None, found: Drafted) -> None:
    """What was drafted and is not in the set, to tick and to change."""
    asked = {"", *map(_TEXT_OF, _list_questions(chosen))}
    drafts = [one for one in found.drafts if one.question not in asked]
    empty = list(map(_QUESTION_OF, found.drafts)).count("")
    st.markdown(f"**Drafted {times.format_time(found.started_at)}**")
    if empty:
        st.caption(f"In {figures.count(empty, 'document')} the model found nothing to ask.")
    if not drafts:
        st.caption("All that was drafted is in the set.")
        return
    columns = st.column_config
    edited = st.data_editor(
        table(drafts),
        key=f"drafts-{found.run_id}-{len(drafts)}",
        hide_index=True,
        disabled=["Document"],
        alt="Drafted questions with the document that answers each, to keep or not",
        column_config={
            "Keep": columns.CheckboxColumn(width="small"),
            "Question": columns.TextColumn(width="large", required=True),
            "Document": columns.TextColumn("Answered by", width="medium"),
        },
    )
    kept = read_kept(edited)
    into = "in a new set"
    if chosen:
        into = f"in {markdown.literal(chosen.name)}"
    st.button(
        f"Keep {figures.count(len(kept), 'question')} {into}",
        key="keep-drafts",
        icon=":material/save:",
        disabled=not kept,
        on_click=_keep,
        args=(collection, chosen, kept),
    )


def table(drafts: Sequence[QuestionDrafted]) -> pandas.DataFrame:
    """The drafts as they are shown; none is ticked before somebody has read it."""
    import pandas

    return pandas.DataFrame(
        {
            "Keep": [False] * len(drafts),
            "Question": list(map(_QUESTION_OF, drafts)),
            "Document": list(map(_DOCUMENT_OF, drafts)),
        }
    )


_QUESTION_OF: Callable[[QuestionDrafted], str] = attrgetter("question")
_DOCUMENT_OF: Callable[[QuestionDrafted], str] = attrgetter("document")
_TEXT_OF: Callable[[Question], str] = attrgetter("text")


def read_kept(edited: pandas.DataFrame) -> list[Question]:
    """The ticked ones that have a text."""
    ticked = edited[edited["Keep"]]
    pairs = zip(ticked["Question"].fillna(""), ticked["Document"], strict=True)
    return [Question(text.strip(), {name: 1}) for text, name in pairs if text.strip()]


def _keep(collection: Collection, chosen: QuestionSet | None, kept: Sequence[Question]) -> None:
    """Put them at the end of the set; a question that is asked of two documents expects both."""
    questions, owner = state.workspace().library.questions, state.owner()
    try:
        into = chosen or marks.begin_set(collection)
        known = questions.questions(owner, into.id)
        questions.replace_questions(owner, into.id, join([*known, *kept]))
    except AgentkitError as error:
        choosing.tell_error(error)
        return
    lab_questions.choose(into.name)
    lab_questions.draw_anew(into.id)
    st.toast(f"{figures.count(len(kept), 'question')} kept", icon=":material/check:")


def join(asked: Sequence[Question]) -> list[Question]:
    """Each question once, with all documents that are expected of it."""
    joined: dict[str, dict[str, int]] = {}
    for one in asked:
        joined.setdefault(one.text, {}).update(one.expected)
    return [Question(text, expected) for text, expected in joined.items()]
