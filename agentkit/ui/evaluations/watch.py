"""What is told of teams where people see it: a newer version or another model that was not put to a
question set yet, and one that scores less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError
from agentkit.ledger.evaluations.courses import Cause, TeamCourse
from agentkit.ledger.evaluations.results import KIND
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.ui.documents import progress
from agentkit.ui.evaluations import choosing, words
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

_CHANGED: Mapping[Cause, str] = {
    "version": "it has a newer version",
    "model": "another model is chosen",
}
_MOST = 3
"""Of those that are to be tried again, so many are told, and tried by one click."""


def draw_notices(set_id: str = "") -> list[str]:
    """A line for each team that is to be tried again on a set, or scores less, on all sets or on
    one; tries those that are set to it. Nothing while all is well, and one line while teams are
    tried. Gives the runs that try them; the page of one set shows them itself.
    """
    workspace, owner = state.workspace(), state.owner()
    live = runs.live(owner, kind=KIND)  # what has ended by then is among the courses
    courses = workspace.team_courses(owner, set_id)
    live = live or workspace.evaluate_due(owner, courses) or runs.live(owner, kind=KIND)
    trying = [run.id for run in live]
    if not trying:
        _draw_due([one for one in courses if one.is_due], set_id)
        for one in courses:
            if one.is_warned:
                _draw_worse(one, set_id)
    elif not set_id:
        _draw_live(trying)
    return trying


def begin_due(set_id: str) -> None:
    """Try those of a set that are set to it, where the page draws itself what goes on."""
    workspace, owner = state.workspace(), state.owner()
    workspace.evaluate_due(owner, workspace.team_courses(owner, set_id))


@st.fragment(run_every=progress.POLL_S)
def _draw_live(run_ids: Sequence[str]) -> None:
    """That teams are tried; the page is drawn anew when one of these ends."""
    live = {run.id for run in runs.live(state.owner(), kind=KIND)}
    if not live.issuperset(run_ids):
        dialogs.redraw()
    st.caption(":material/hourglass_top: A question set is being put to a team.")
    _draw_way("")


def _draw_due(due: Sequence[TeamCourse], set_id: str) -> None:
    """What was tried before something changed, with what it would take now."""
    if not due:
        return
    shown = due[:_MOST]
    lines = [f"\n- {_tell(one)} ({_forecast(one)})" for one in shown]
    with st.container(border=True, key="evaluate-due", gap="xsmall"):
        told = ":material/history: **Tried before something changed**"
        st.markdown("".join([told, *lines]))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Try again",
                key="evaluate-again",
                icon=":material/replay:",
                on_click=_try_again,
                args=(shown,),
                help="Models answer all questions of these, as in a chat.",
            )
            if not set_id:
                _draw_way("" if len(shown) > 1 else shown[0].latest.began.set_name)
        if len(due) > len(shown):
            st.caption(f"And {figures.count(len(due) - len(shown))} more, after these.")


def _tell(course: TeamCourse) -> str:
    began = course.latest.began
    causes = " and ".join([_CHANGED[cause] for cause in course.causes])
    name, asked = markdown.literal(began.team_name), markdown.literal(began.set_name)
    return f"**{name}** on {asked}: {causes}"


def _forecast(course: TeamCourse) -> str:
    """`12 calls of models, as in its earlier evaluations; it cost $0.12 last time`."""
    began = course.latest.began
    try:
        expected = state.workspace().forecast_evaluation(
            state.owner(), course.team_id, began.set_name, course.model_id
        )
    except AgentkitError as error:
        return markdown.literal(str(error))
    cost = markdown.literal(words.tell_cost(course.latest.sums))
    return f"{words.tell_calls(expected)}; last time {cost}"


def _try_again(due: Sequence[TeamCourse]) -> None:
    if state.is_repeated(due):
        return
    for one in due:
        try:
            state.workspace().evaluate_again(state.owner(), one)
        except AgentkitError as error:
            choosing.tell_error(error)


def _draw_worse(course: TeamCourse, set_id: str) -> None:
    """A warning where a team scores less by more than chance."""
    found, began = course.found, course.latest.began
    assert found is not None  # it is worse than something
    told = markdown.literal(words.tell_difference(found))
    failed = course.latest.sums.failed
    errors = f" {figures.count(failed, 'question')} failed." if failed else ""
    with st.container(key=f"team-worse-{course.latest.run_id}", gap="xsmall"):
        st.warning(
            f"**The team got worse.** {_tell(course)}. {told}{errors}",
            icon=":material/trending_down:",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            if not set_id:
                _draw_way(began.set_name)
            st.button(
                "Take it as it is",
                key=f"accept-{course.latest.run_id}",
                type="tertiary",
                icon=":material/check:",
                help="Warn of this change no more.",
                on_click=state.workspace().library.questions.accept,
                args=(state.owner(), began.set_id, course.latest.run_id),
            )


def _draw_way(set_name: str) -> None:
    """To the results of this set, question by question, or to those of all."""
    chosen = {"set": set_name} if set_name else {}
    st.page_link(
        state.PAGES / "teams.py",
        label="Question by question" if set_name else "Question sets",
        icon=":material/quiz:",
        query_params={"show": "Question sets", **chosen},
    )


def draw_switch(chosen: QuestionSet) -> None:
    """Whether teams are asked again by themselves."""
    key = f"asks-teams-{chosen.id}"
    st.session_state.setdefault(key, chosen.asks_teams)
    st.toggle(
        "Put it to its teams again by itself when they or the model changed",
        key=key,
        help="Models answer all questions again, which costs what it cost before, as soon as you"
        " look at a page that tells of it. Budgets hold.",
        on_change=_keep_switch,
        args=(chosen.id, key),
    )


def _keep_switch(set_id: str, key: str) -> None:
    asks = bool(st.session_state[key])
    state.workspace().library.questions.set_asks_teams(state.owner(), set_id, asks_teams=asks)
