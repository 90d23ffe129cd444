"""Question sets in the lab: choose, rename, delete, edit, export."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from agentkit.errors import AgentkitError, ConfigError
from agentkit.retrieval import Collection
from agentkit.retrieval.evaluation.measuring import unknown_documents
from agentkit.retrieval.evaluation.question_files import (
    entries,
    format_expected,
    question_of,
    to_csv,
    to_json_lines,
)
from agentkit.retrieval.names import file_name
from agentkit.retrieval.store.questions import Question, QuestionSet
from agentkit.ui.documents import collections
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

if TYPE_CHECKING:
    import pandas

_CHOSEN, _NEXT = "set", "set-next"
_RENAME, _DELETE = "Rename the set", "Delete the set"
_ACTIONS = {_RENAME: ":material/edit:", _DELETE: ":material/delete:"}
_OFFERED = 2_000
"""Documents, at most, that the editor offers to choose from; the names of others can be typed."""
_NAMED = 5


def choose(name: str) -> None:
    """Look at this set from the next drawing on, or from when it is there."""
    st.session_state[_NEXT] = name


def draw_choice(known: Sequence[QuestionSet], collection: Collection) -> QuestionSet:
    """The set to look at (there is at least one), as `?set=` in the address, and what can be done
    with it.
    """
    names = [one.name for one in sorted(known, key=lambda one: one.collection != collection.name)]
    if st.session_state.get(_NEXT) in names:
        st.session_state[_CHOSEN] = st.session_state.pop(_NEXT)
    elif st.session_state.get(_CHOSEN, names[0]) not in names:
        del st.session_state[_CHOSEN]
    with st.container(horizontal=True, vertical_alignment="bottom", key="question-set-row"):
        name = st.selectbox("Question set", names, key=_CHOSEN, bind="query-params", width=360)
        chosen = next(one for one in known if one.name == name)

        def manage() -> None:
            dialogs.ask(st.session_state["question-set-menu"], chosen)

        st.menu_button(
            "Manage",
            list(_ACTIONS),
            format_func=lambda action: f"{_ACTIONS[action]} {action}",
            on_click=manage,
            key="question-set-menu",
            icon=":material/quiz:",
            help="Rename or delete this question set",
        )
    _draw_origin(chosen, collection)
    match dialogs.read_open():
        case (str(action), QuestionSet() as subject) if action == _RENAME:
            _rename(subject)
        case (str(action), QuestionSet() as subject) if action == _DELETE:
            _delete(subject)
    return chosen


def _draw_origin(chosen: QuestionSet, collection: Collection) -> None:
    made_for = f"{figures.count(chosen.questions, 'question')}"
    if chosen.collection:
        made_for += f", made for the collection {markdown.literal(chosen.collection)}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{made_for}.", width="content")
        there = any(
            one.name == chosen.collection
            for one in state.workspace().library.collections(state.owner())
        )
        if there and chosen.collection != collection.name:
            label = f"Look at {markdown.literal(chosen.collection)}"
            st.button(
                label,
                key="question-set-collection",
                type="tertiary",
                on_click=collections.choose,
                args=(chosen.collection,),
            )


@dialogs.dialog("Rename the question set")
def _rename(chosen: QuestionSet) -> None:
    with st.form("rename-set", border=False):
        name = st.text_input("Name", value=chosen.name, max_chars=120, key="set-new-name")
        saved = st.form_submit_button("Rename", type="primary", key="rename-set-button")
    if saved:
        try:
            choose(state.workspace().library.questions.rename(state.owner(), chosen.id, name).name)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)))
            return
        dialogs.close()
        st.rerun()


@dialogs.dialog("Delete the question set?")
def _delete(chosen: QuestionSet) -> None:
    st.markdown(
        f"**{markdown.literal(chosen.name)}** goes with"
        f" {figures.count(chosen.questions, 'question')} and all its measurements. Documents stay."
        " This cannot be undone."
    )
    if dialogs.confirm("delete-set", "Delete"):
        try:
            state.workspace().library.questions.delete(state.owner(), chosen.id)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)))
            return
        dialogs.close()
        st.rerun()


def draw_editor(collection: Collection, chosen: QuestionSet) -> None:
    """The questions of the set with their expected documents, to change and to export."""
    library, owner = state.workspace().library, state.owner()
    questions = library.questions.questions(owner, chosen.id)
    label = f"Questions ({figures.count(len(questions))})"
    with st.expander(
        label, expanded=not questions, icon=":material/edit_note:", key=f"questions-of-{chosen.id}"
    ):
        _draw_table(collection, chosen, questions)
        if questions:
            _draw_exports(chosen, questions)
    if questions and (unknown := unknown_documents(library, owner, collection.name, questions)):
        some = ", ".join(markdown.literal(name) for name in unknown[:_NAMED])
        more = ""
        if len(unknown) > _NAMED:
            more = f" and {figures.count(len(unknown) - _NAMED)} more"
        st.warning(
            f"{figures.count(len(unknown), 'expected document')} not in"
            f" {markdown.literal(collection.name)}: {some}{more}. They count as not found; correct"
            " the names, or choose the collection that the set was made for.",
            icon=":material/warning:",
        )


def _draw_table(collection: Collection, chosen: QuestionSet, questions: Sequence[Question]) -> None:
    revision = st.session_state.setdefault(_revision_key(chosen.id), 0)
    documents = state.workspace().library.documents(state.owner(), collection.name)
    names = sorted({format_expected(document.name, 1) for document in documents})
    columns = st.column_config
    edited = st.data_editor(
        table(questions),
        num_rows="dynamic",
        key=f"questions-{chosen.id}-{revision}",
        hide_index=True,
        placeholder="",
        alt=f"Questions of {chosen.name} with the documents that answer them",
        column_config={
            "question": columns.TextColumn("Question", width="large", required=True),
            "expected": columns.MultiselectColumn(
                "Expected documents",
                width="large",
                options=names[:_OFFERED],
                accept_new_options=True,
                help=(
                    "Documents that answer it, by name. One that answers better than others gets a"
                    " grade, as in `name=2`."
                ),
            ),
        },
    )
    st.caption(
        "Add a row at the end; select rows at the left to delete them. Rows can be pasted from a"
        " spreadsheet."
    )
    if st.button("Save the questions", key="save-questions", icon=":material/save:"):
        try:
            state.workspace().library.questions.replace_questions(
                state.owner(), chosen.id, questions_of(edited)
            )
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
        draw_anew(chosen.id)
        st.rerun()


def draw_anew(set_id: str) -> None:
    """Show the questions of the set as they are stored, without what was typed over others."""
    key = _revision_key(set_id)
    st.session_state[key] = st.session_state.get(key, 0) + 1


def _revision_key(set_id: str) -> str:
    return f"questions-revision-{set_id}"


def _draw_exports(chosen: QuestionSet, questions: Sequence[Question]) -> None:
    with st.container(horizontal=True):
        for ending, kind, write in (("csv", "CSV", to_csv), ("jsonl", "JSON lines", to_json_lines)):
            st.download_button(
                f"Export {kind}",
                partial(write, questions),
                file_name=file_name(chosen.name, f".{ending}"),
                mime="text/csv" if ending == "csv" else "application/jsonl",
                key=f"export-set-{ending}",
                icon=":material/download:",
                on_click="ignore",
                type="tertiary",
            )


def table(questions: Sequence[Question]) -> pandas.DataFrame:
    """The questions as the editor shows them: `question` and `expected`, a list of what
    `question_files.written` makes.
    """
    import pandas

    return pandas.DataFrame(
        {
            "question": [one.text for one in questions],
            "expected": [entries(one) for one in questions],
        },
        dtype=object,
    )


def questions_of(frame: pandas.DataFrame) -> list[Question]:
    """The questions of the editor's table, empty rows left out; raises ConfigError that names the
    row.
    """
    found: list[Question] = []
    cells = zip(frame.question, frame.expected, strict=True)
    for number, (text, expected) in enumerate(cells, start=1):
        # A cell that nobody filled is None or NaN.
        asked = text if isinstance(text, str) else ""
        names: list[str] = []
        if expected is not None and not isinstance(expected, float):
            names = list(map(str, expected))
        if not asked.strip() and not names:
            continue
        try:
            found.append(question_of(asked, names))
        except ConfigError as error:
            raise ConfigError(f"Row {number:,}: {error}") from error
    return found
