"""A question set that is put to teams: which, to whom, how many calls are to come, how far."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from agentkit import runs
from agentkit.core.given import list_known, pick_kind
from agentkit.errors import AgentkitError
from agentkit.events import QuestionTried, events_of
from agentkit.ledger.evaluations.results import AT_ONCE, KIND, count_cited, count_right
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.runs import Run
from agentkit.ui.evaluations import choosing, results, watch, words
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import figures, markdown

_POLL_S = 0.5
_MOST_TEAMS = 4
_TEAMS, _MODEL, _AT_ONCE = "evaluated-teams", "evaluated-model", "evaluated-at-once"
_COLLECTION = "evaluated-collection"
_SET = "set"
"""In the address, as in the lab."""
_PACES = (1, 2, 4, 8, 16)
_LATEST = 4  # of the questions that were asked, those that are shown while others go on


def draw_evaluations() -> None:
    """Choose a set, put it to teams, and see what they score."""
    known = state.workspace().library.questions.sets(state.owner())
    if not known:
        st.markdown(
            "A question set names, for each question, the documents that answer it. There is none"
            " yet; make one in the lab, and put it to any team here."
        )
        st.page_link(
            state.PAGES / "retrieval_lab.py",
            label="Make a question set",
            icon=":material/quiz:",
            query_params={"view": "Measure"},
        )
        return
    names = [one.name for one in known]
    if st.session_state.get(_SET, names[0]) not in names:
        del st.session_state[_SET]
    name = st.selectbox("Question set", names, key=_SET, bind="query-params", width=360)
    draw_set(known[names.index(name)])


def draw_set(chosen: QuestionSet) -> None:
    """What teams score on this set."""
    if not chosen.questions:
        st.markdown("This set has no questions yet. Add some in the lab.")
        return
    watch.begin_due(chosen.id)
    _draw_start(chosen)
    live = [run.id for run in runs.live(state.owner(), kind=KIND)]
    if live := live or watch.draw_notices(chosen.id):
        _draw_live(live)
    results.draw_results(chosen)


def _draw_start(chosen: QuestionSet) -> None:
    names = choosing.list_kept()
    with st.container(border=True, gap="small", key="evaluate"):
        st.multiselect(
            "Teams",
            list(names),
            list(names)[:1],
            format_func=names.__getitem__,
            max_selections=_MOST_TEAMS,
            key=_TEAMS,
            help="Teams and versions. Those that are chosen together are compared below.",
        )
        left, middle, right = st.columns(3)
        with left:
            collection = choosing.draw_collections(_COLLECTION, chosen.collection)
        with middle:
            choosing.draw_models(_MODEL)
        with right:
            st.selectbox(
                "At the same time",
                _PACES,
                _PACES.index(AT_ONCE),
                format_func=lambda number: figures.count(number, "question"),
                key=_AT_ONCE,
                help="So many questions a team answers at the same time.",
            )
        teams = list_known(st.session_state[_TEAMS], names)
        _tell_calls(teams, names, chosen)
        asked = figures.count(chosen.questions, "question")
        st.button(
            f"Put {asked} to {figures.count(len(teams), 'team')}",
            key="put-set",
            type="primary",
            icon=":material/play_arrow:",
            disabled=collection is None or not teams,
            on_click=_begin,
            args=(chosen, teams),
        )
        watch.draw_switch(chosen)


def _tell_calls(teams: Sequence[str], names: dict[str, str], chosen: QuestionSet) -> None:
    """What is to come, before it begins."""
    lines = [f"\n- {markdown.literal(names[one])}: {_forecast(one, chosen)}" for one in teams]
    st.caption("".join(["To be expected:", *lines]) if lines else "Choose a team.")


def _forecast(team_id: str, chosen: QuestionSet) -> str:
    model_id = st.session_state[_MODEL]
    try:
        expected = state.workspace().forecast_evaluation(
            state.owner(), team_id, chosen.name, model_id
        )
    except AgentkitError as error:
        return markdown.literal(str(error))
    return words.tell_calls(expected)


def _begin(chosen: QuestionSet, teams: Sequence[str]) -> None:
    """Older versions begin first, so that a newer one is compared with them."""
    given, kept = st.session_state, list(choosing.list_kept())
    collection, model_id, at_once = given[_COLLECTION], given[_MODEL], given[_AT_ONCE]
    if state.is_repeated(teams):
        return
    for team_id in sorted(teams, key=kept.index, reverse=True):
        try:
            state.workspace().evaluate_team(
                state.owner(),
                team_id,
                chosen.name,
                collection=collection,
                model_id=model_id,
                at_once=at_once,
            )
        except AgentkitError as error:
            choosing.tell_error(error)
    results.compare_newest()


@st.fragment(run_every=_POLL_S)
def _draw_live(run_ids: Sequence[str]) -> None:
    """How far they are; when one ends, the page is drawn anew."""
    for run_id in run_ids:
        run = state.find_run(run_id)
        if run is None or run.ended:
            dialogs.redraw()
            continue
        _draw_progress(run)


def _draw_progress(run: Run[object]) -> None:
    told = pick_kind(events_of(run.events()), QuestionTried)
    with st.container(border=True, key=f"evaluation-{run.id}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{markdown.literal(run.title)}**", width="stretch")
            st.button(
                "Stopping" if run.stopping else "Stop",
                key=f"stop-{run.id}",
                icon=":material/stop_circle:",
                type="tertiary",
                on_click=run.stop,
                disabled=run.stopping,
            )
        text = f"{figures.count(len(told))} of {figures.count(run.size, 'question')}"
        st.progress(min(1.0, len(told) / max(1, run.size)), text=text)
        latest = told[-_LATEST:]
        st.caption("".join(f"\n- {_describe(one)}" for one in latest))


def _describe(tried: QuestionTried) -> str:
    """A question that was asked, on one line."""
    question = markdown.literal(tried.question)
    if tried.status == "failed":
        return f":material/error: {question}: {markdown.literal(tried.error)}"
    cited = figures.count(count_cited(tried), "citation")
    return f"{question}: {count_right(tried)} of {cited} right"
