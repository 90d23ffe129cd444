"""Ask your usage: a SELECT, or a question in words that a model makes one of, with examples and
what was saved.
"""

from __future__ import annotations

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.runs import Run
from agentkit.ui.shared import components, looks, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import markdown
from agentkit.ui.usage.sql_examples import EXAMPLES
from agentkit.ui.usage.sql_result import Result, draw_result, read_result
from agentkit.workspace.usage_sql import VIEWS
from agentkit.workspace.usage_writing import write_select

_TEXT, _ANSWER, _PROBLEM = "sql-text", "sql-answer", "sql-problem"
_RUN, _PUT, _TAKEN = "sql-run", "sql-put", "sql-taken"
_LOOK_S = 0.3
_NAMES = {view.name: [one.name for one in view.columns] for view in VIEWS.values()}
_BEGIN = "Cost by day and model"


def draw_page() -> None:
    """The question, the SELECT with the columns beside it, and what came out."""
    _take_written()
    st.session_state.setdefault(_TEXT, EXAMPLES[_BEGIN])
    st.page_link(PAGES / "usage.py", label="Usage", icon=":material/arrow_back:")
    _draw_words()
    left, right = st.columns([3, 2], gap="large")
    with left:
        _draw_choices()
        st.text_area("SELECT", height=240, key=_TEXT, persist_state="session")
        components.names(_NAMES, "Names are completed as you write.", "Tab takes the first.")
        with st.container(horizontal=True, key="sql-actions"):
            st.button(
                "Answer", type="primary", icon=":material/play_arrow:", on_click=_ask, key="sql-go"
            )
            _draw_save()
    with right:
        _draw_columns()
    _draw_answer()


def _draw_choices() -> None:
    saved = {one.name: one.sql for one in state.workspace().saved_queries.all(state.owner())}
    with st.container(horizontal=True, vertical_alignment="bottom", key="sql-choices"):
        st.selectbox(
            "Examples",
            list(EXAMPLES),
            None,
            placeholder="Begin with an example",
            key="sql-example",
            on_change=_choose,
            args=("sql-example", EXAMPLES),
        )
        if saved:
            st.selectbox(
                "Saved",
                list(saved),
                None,
                placeholder="What you saved",
                key="sql-saved",
                on_change=_choose,
                args=("sql-saved", saved),
            )


def _choose(key: str, texts: dict[str, str]) -> None:
    """Put what was chosen into the box, and answer it."""
    if (name := st.session_state[key]) is not None:
        st.session_state[_TEXT] = texts[name]
        _ask()


def _ask() -> None:
    """Answer what stands in the box."""
    st.session_state.pop(_ANSWER, None)
    st.session_state.pop(_PROBLEM, None)
    try:
        st.session_state[_ANSWER] = read_result(st.session_state[_TEXT])
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)


def _draw_answer() -> None:
    if problem := st.session_state.get(_PROBLEM):
        st.error(markdown.literal(problem), icon=":material/block:")
    result: Result | None = st.session_state.get(_ANSWER)
    if result is not None:
        draw_result(result)


def _draw_save() -> None:
    with st.popover("Save", icon=":material/bookmark:", key="sql-keeping"):
        with st.form("sql-save", border=False, enter_to_submit=True):
            name = st.text_input("Name", key="sql-name", max_chars=80)
            if st.form_submit_button("Save the query"):
                _save(name)
        chosen = st.session_state.get("sql-saved")
        if chosen:
            label = f"Remove {markdown.literal(chosen)}"
            st.button(label, icon=":material/delete:", key="sql-remove", on_click=_remove)


def _save(name: str) -> None:
    try:
        saved = state.workspace().saved_queries.save(state.owner(), name, st.session_state[_TEXT])
    except AgentkitError as error:
        st.error(markdown.literal(str(error)))
        return
    st.toast(f"Saved as {markdown.literal(saved.name)}.", icon=":material/bookmark:")
    st.rerun()


def _remove() -> None:
    name = str(st.session_state.pop("sql-saved"))
    state.workspace().saved_queries.delete(state.owner(), name)


def _draw_columns() -> None:
    """What can be read: the views, and the columns of one."""
    import pandas as pd

    name = st.selectbox("What can be read", list(VIEWS), key="sql-view") or "calls"
    view = VIEWS[name]
    st.caption(view.about)
    rows = [(one.name, one.kind, one.about) for one in view.columns]
    st.dataframe(
        pd.DataFrame(rows, columns=["Column", "Type", "What it is"]),
        hide_index=True,
        height=270,
        key="sql-columns",
        alt=f"The columns of {name}",
        column_config={"Type": st.column_config.TextColumn(width="small")},
    )


def _draw_words() -> None:
    """A question in words, for which a model writes the SELECT."""
    with (
        st.form("sql-words", border=False, enter_to_submit=True),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        asked = st.text_input(
            "In words",
            key="sql-question",
            placeholder="Which model cost the most last week?",
            help="Your model writes the SELECT, which you can read and change below.",
        )
        if st.form_submit_button("Write the SELECT", icon=":material/edit_note:"):
            _begin_writing(asked)
    run = state.find_run(st.session_state.get(_RUN, ""))
    if run is not None:
        every = None if run.ended else _LOOK_S
        st.fragment(_draw_writing, run_every=every)(run)


def _begin_writing(asked: str) -> None:
    st.session_state.pop(_RUN, None)
    workspace = state.workspace()
    try:
        st.session_state[_RUN] = write_select(workspace, state.owner(), asked, _find_model()).id
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")


def _find_model() -> str:
    """The model that writes: the one of new chats, unless that writes none and another does."""
    usual = state.workspace().model()
    others = [one for one in state.workspace().models() if one.is_language_model]
    return usual.id if usual.is_language_model or not others else others[0].id


def _draw_writing(run: Run[str]) -> None:
    """How the writing stands; at its end the page is drawn once with what was written."""
    if run.ended and st.session_state.get(_TAKEN) != run.id:
        st.session_state[_TAKEN] = run.id
        if run.error is None:
            st.session_state[_PUT] = run.result()
        st.rerun()
    with (
        looks.drawing(lambda: looks.state_of(run)),
        st.container(horizontal=True, vertical_alignment="center", key="sql-writing"),
    ):
        if not run.ended:
            st.markdown(":material/hourglass_top: The SELECT is being written.", width="content")
            st.button("Stop", icon=":material/stop_circle:", on_click=run.stop, key="sql-stop")
        st.page_link(
            PAGES / "runs.py",
            label="What was asked of the model",
            icon=":material/timeline:",
            query_params={"run": run.id},
        )
    if run.ended and run.error is not None:
        st.error(markdown.literal(str(run.error)), icon=":material/error:")


def _take_written() -> None:
    """Put what a model wrote into the box, and answer it."""
    if (written := st.session_state.pop(_PUT, None)) is not None:
        st.session_state[_TEXT] = written
        _ask()
