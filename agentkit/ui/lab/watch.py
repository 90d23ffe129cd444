"""What is told where people see it: question sets that were measured before something changed, and
those that score less since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from agentkit import runs
from agentkit.retrieval.evaluation.comparing import Difference
from agentkit.retrieval.evaluation.watching import compare_course, is_warned
from agentkit.retrieval.store.courses import Cause, Course
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.ui.documents import progress
from agentkit.ui.lab import results, worth
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown
from agentkit.workspace.measuring import KIND

_CHANGED: Mapping[Cause, str] = {
    "documents": "documents came, changed or went",
    "index": "another index version answers",
    "settings": "chats search with other settings",
}
_MOST = 3
"""Sets to be measured again that stand by name."""


def draw_notices(collection: str = "", *, in_lab: bool = False) -> list[str]:
    """A line for each set that is to be measured again, or scores less, on all collections or on
    one; measures those that do so by themselves. Nothing while all is well. Gives the runs that
    measure, which the lab shows itself.
    """
    workspace, owner = state.workspace(), state.owner()
    live = runs.live(owner, kind=KIND)  # what has ended by then is among the courses
    courses = workspace.library.questions.courses(owner, collection)
    if not live:
        begun = workspace.measure_due(owner, courses)
        live = [begun] if begun else runs.live(owner, kind=KIND)
    measuring = [run.id for run in live]
    if not measuring:
        _draw_due([one for one in courses if one.is_due], in_lab)
        for one in courses:
            _draw_worse(one, _compare(one))
    elif not in_lab:
        _draw_live(measuring)
    return measuring


def _compare(course: Course) -> Difference | None:
    """A measurement never changes, so two are compared once."""
    return _compare_once(state.owner(), course.set_id, course.now_id, course.before_id, course)


@st.cache_resource(max_entries=300, show_spinner=False)
def _compare_once(
    owner: str, set_id: str, now_id: str, before_id: str, _course: Course
) -> Difference | None:
    return compare_course(state.workspace().library, owner, _course)


@st.fragment(run_every=progress.POLL_S)
def _draw_live(run_ids: Sequence[str]) -> None:
    """That something is measured; the page is drawn anew when it ends."""
    live = {run.id: run for run in runs.live(state.owner(), kind=KIND)}
    for run_id in run_ids:
        if run_id not in live:
            dialogs.redraw()
            continue
        title = markdown.literal(live[run_id].title)
        st.caption(f":material/hourglass_top: Measuring {title}")


def _draw_due(due: Sequence[Course], in_lab: bool) -> None:
    """What was measured before something changed, with a way to do it again."""
    if not due:
        return
    lines = [f"\n- {_tell_due(one)}" for one in due[:_MOST]]
    with st.container(border=True, key="measure-due", gap="xsmall"):
        st.markdown("".join([":material/history: **Measured before something changed**", *lines]))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Measure again",
                key="measure-again",
                icon=":material/replay:",
                on_click=_measure_again,
                args=(due,),
                help=f"As chats search now, {figures.count(_count(due), 'question')}.",
            )
            if not in_lab:
                _draw_way(due[0], "due")
        if len(due) > _MOST:
            st.caption(f"And {figures.count(len(due) - _MOST)} more.")


def _tell_due(course: Course) -> str:
    causes = " and ".join([_CHANGED[cause] for cause in course.causes])
    return f"{_name(course)}: {causes}"


def _count(courses: Sequence[Course]) -> int:
    return sum(one.questions for one in courses)


def _measure_again(due: Sequence[Course]) -> None:
    if state.is_repeated(due):
        return
    results.compare_newest()
    state.workspace().measure_again(state.owner(), due)


def _draw_worse(course: Course, found: Difference | None) -> None:
    """A warning where a search got worse by more than chance."""
    if found is None or not is_warned(course, found.verdict):
        return
    with st.container(key=f"worse-{course.now_id}", gap="xsmall"):
        told = f"{_tell_due(course)}. nDCG@10 {worth.tell(found)}."
        st.warning(f"**The search got worse.** {told}", icon=":material/trending_down:")
        with st.container(horizontal=True, vertical_alignment="center"):
            _draw_way(course, "worse")
            st.button(
                "Take it as it is",
                key=f"accept-{course.now_id}",
                type="tertiary",
                icon=":material/check:",
                help="Warn of this change no more.",
                on_click=state.workspace().library.questions.accept,
                args=(state.owner(), course.set_id, course.now_id),
            )


def _draw_way(course: Course, what: str) -> None:
    """To the figures, question by question."""
    st.page_link(
        state.PAGES / "retrieval_lab.py",
        label="Question by question" if what == "worse" else "In the retrieval lab",
        icon=":material/science:",
        query_params={
            "collection": course.collection,
            "view": "Measure",
            "set": course.set_name,
        },
    )


def _name(course: Course) -> str:
    """As Markdown."""
    name, collection = markdown.literal(course.set_name), markdown.literal(course.collection)
    return f"**{name}** on {collection}"


def draw_switch(chosen: QuestionSet) -> None:
    """Whether the set is measured again by itself."""
    key = f"repeats-{chosen.id}"
    st.session_state.setdefault(key, chosen.repeats)
    st.toggle(
        "Measure again by itself when something changed",
        key=key,
        help="After documents came, changed or went, another index version answers, or chats search"
        " with other settings: as soon as you look at a page that tells of it, and after"
        " `agentkit ingest`.",
        on_change=_keep_switch,
        args=(chosen.id, key),
    )


def _keep_switch(set_id: str, key: str) -> None:
    repeats = bool(st.session_state[key])
    state.workspace().library.questions.set_repeats(state.owner(), set_id, repeats=repeats)
