"""What is told of teams where people see it: a newer version or another model that was not put to a
question set yet, and one that scores less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ledger.evaluations.courses import Cause, TeamCourse, find_courses
from agentkit.teams import teams
from agentkit.ui.evaluations import choosing, words
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown

_CHANGED: Mapping[Cause, str] = {
    "version": "it has a newer version",
    "model": "another model is chosen",
}
_MOST = 3


def draw_notices(set_id: str = "") -> None:
    """A line for each team that is to be tried again on a set, or scores less, on all sets or on
    one. Nothing while all is well.
    """
    courses = _read_courses(set_id)
    _draw_due([one for one in courses if one.is_due])
    for one in courses:
        if one.is_worse:
            _draw_worse(one, set_id)


def _read_courses(set_id: str) -> list[TeamCourse]:
    workspace, owner = state.workspace(), state.owner()
    history = workspace.evaluations.history(owner, set_id)
    if not history:
        return []
    sets = {one.id for one in workspace.library.questions.sets(owner)}
    newest = {team.id: team.id for team in teams()}
    newest |= {one.id: one.key for one in workspace.kept_teams.newest(owner)}
    known = [one for one in history if one.began.set_id in sets]
    return find_courses(known, newest, workspace.model().id)


def _draw_due(due: Sequence[TeamCourse]) -> None:
    if not due:
        return
    lines = [f"\n- {_tell(one)}" for one in due[:_MOST]]
    with st.container(border=True, key="evaluate-due", gap="xsmall"):
        told = ":material/history: **Tried before something changed**"
        st.markdown("".join([told, *lines]))
        with st.container(horizontal=True, vertical_alignment="center"):
            asked = sum(one.latest.began.questions for one in due[:_MOST])
            st.button(
                "Try again",
                key="evaluate-again",
                icon=":material/replay:",
                on_click=_try_again,
                args=(due[:_MOST],),
                help=f"{figures.count(asked, 'question')}, answered by models as in a chat.",
            )
            _draw_way("due")


def _tell(course: TeamCourse) -> str:
    began = course.latest.began
    causes = " and ".join([_CHANGED[cause] for cause in course.causes])
    name, asked = markdown.literal(began.team_name), markdown.literal(began.set_name)
    return f"**{name}** on {asked}: {causes}"


def _try_again(due: Sequence[TeamCourse]) -> None:
    for one in due:
        began = one.latest.began
        try:
            state.workspace().evaluate_team(
                state.owner(),
                one.team_id,
                began.set_name,
                collection=began.collection,
                model_id=one.model_id,
                at_once=began.at_once,
            )
        except AgentkitError as error:
            choosing.tell_error(error)


def _draw_worse(course: TeamCourse, set_id: str) -> None:
    found = course.found
    assert found is not None  # it is worse than something
    told = markdown.literal(words.tell_difference(found))
    st.warning(f"{_tell(course)}. {told}", icon=":material/trending_down:")
    if not set_id:
        _draw_way(course.latest.run_id)


def _draw_way(what: str) -> None:
    """To the results, question by question."""
    st.page_link(
        state.PAGES / "teams.py",
        label="Question sets" if what == "due" else "Question by question",
        icon=":material/quiz:",
        query_params={"show": "Question sets"},
    )
