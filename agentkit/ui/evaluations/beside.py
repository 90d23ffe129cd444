"""One question to two teams, or two versions of one: both answer at the same time, and what differs
is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from agentkit import runs
from agentkit.core.given import pick_kind
from agentkit.errors import AgentkitError, NotFound
from agentkit.events import MessageSent, events_of
from agentkit.ledger import queries, run_list
from agentkit.ledger.queries import Totals
from agentkit.runs import Run
from agentkit.teams import Answer, Question, Team
from agentkit.ui.chat.comparing import Side, find_differences, tabulate
from agentkit.ui.chat.live import pace_looks
from agentkit.ui.evaluations import choosing
from agentkit.ui.shared import dialogs, looks, state
from agentkit.ui.steps.following import Following, follow
from agentkit.ui.steps.transcript import View, draw_transcript
from agentkit.ui.steps.turns import Turn
from agentkit.ui.teams import trying
from agentkit.ui.teams.views import LEFT, RIGHT
from agentkit.ui.text import figures, markdown
from agentkit.workspace.trying import Terms, ask_alone

_RUNS = ("left", "right")
"""In the address: the two runs that are looked at."""
_KNOWN = "beside-known"
_QUESTION = "What do the documents say?"
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked in a run, as this session knows it."""

    name: str
    agents: tuple[str, ...]
    aloud: bool
    """Whether what agents write is meant for one another."""


def draw_beside() -> None:
    """The question and the two teams, and below them what they answer."""
    names = choosing.list_all()
    with st.container(border=True, gap="small", key="beside"):
        st.text_area("Question", _QUESTION, key="beside-question", height=80)
        left, right = st.columns(2)
        with left:
            _draw_choice("Left", LEFT, names, 0)
        with right:
            _draw_choice("Right", RIGHT, names, 1)
        left, right = st.columns(2)
        with left:
            collection = choosing.draw_collections("beside-collection")
        with right:
            choosing.draw_models("beside-model")
        if collection is None:
            st.caption("There are no documents yet; add some on the page Documents.")
        st.button(
            "Ask both",
            key="ask-both",
            type="primary",
            icon=":material/play_arrow:",
            disabled=collection is None,
            on_click=_ask,
            args=(names,),
        )
    asked = [st.query_params.get(side, "") for side in _RUNS]
    if all(asked):
        _draw_answers(asked)


def _draw_choice(label: str, key: str, names: dict[str, str], nth: int) -> None:
    choosing.keep_known(key, list(names))
    known = list(names)
    st.session_state.setdefault(key, known[min(nth, len(known) - 1)])
    st.selectbox(label, known, format_func=names.__getitem__, key=key)


def _ask(names: dict[str, str]) -> None:
    """Begin both; where one cannot begin, the other does not go on."""
    if state.is_repeated(names):
        return
    begun: list[Run[Answer]] = []
    for key in (LEFT, RIGHT):
        choice = st.session_state[key]
        try:
            begun.append(_begin(choice, names[choice]))
        except AgentkitError as error:
            choosing.tell_error(error)
            for run in begun:
                run.stop()
            return
    st.query_params.update({side: run.id for side, run in zip(_RUNS, begun, strict=True)})


def _begin(choice: str, name: str) -> Run[Answer]:
    given = st.session_state
    text = str(given["beside-question"]).strip() or _QUESTION
    asked = Question(text, given["beside-collection"], model_id=given["beside-model"])
    team = choosing.find_team(choice)
    run = ask_alone(state.workspace(), state.owner(), team, asked, Terms())
    _remember(run.id, name, team)
    return run


def _remember(run_id: str, name: str, team: Team) -> None:
    known = st.session_state.setdefault(_KNOWN, {})
    known[run_id] = Asked(name, team.agents, not team.speaks_in_fields)


def _draw_answers(run_ids: Sequence[str]) -> None:
    """Both answers, looked at again and again while one of them is being written."""
    goes_on = any(map(_goes_on, run_ids))
    every = pace_looks(_LOOK_S) if goes_on else None
    st.fragment(_draw_sides, run_every=every)(run_ids, goes_on)


def _goes_on(run_id: str) -> bool:
    run = state.find_run(run_id)
    return run is not None and not run.ended


def _draw_sides(run_ids: Sequence[str], again: bool) -> None:
    if again and not any(map(_goes_on, run_ids)):
        dialogs.redraw()
    known = [run for run_id in run_ids if (run := state.find_run(run_id))]
    with looks.drawing(lambda: looks.state_of(*known)):
        _draw_both(run_ids, again)


def _draw_both(run_ids: Sequence[str], again: bool) -> None:
    try:
        sides = [_read(run_id) for run_id in run_ids]
    except NotFound as error:
        st.caption(markdown.literal(str(error)))
        return
    marked = [False, False] if again else _draw_marks()
    texts = find_differences(sides[0].answer, sides[1].answer)
    for place, side, parts, marks in zip(st.columns(2), sides, texts, marked, strict=True):
        with place, st.container(border=True, key=f"beside-{side.turn.run_id}"):
            _draw_side(side, parts if marks else None)
    if not again:
        _draw_end(sides)


def _draw_marks() -> list[bool]:
    marks = st.toggle("Mark what differs in the answers", key="beside-marks")
    return [marks, marks]


def _read(run_id: str) -> Side:
    """What the run has done by now; raises NotFound."""
    ledger, owner = state.workspace().ledger, state.owner()
    took = queries.of_runs(ledger, owner, [run_id]).get(run_id, Totals())
    found = queries.passages(ledger, owner, [run_id])
    return Side(0, _read_turn(run_id), took, found[run_id])


def _read_turn(run_id: str) -> Turn:
    asked, run = _find_asked(run_id), state.find_run(run_id)
    if run is None:
        return _read_stored(run_id, asked)
    return follow(run, asked.agents[-1], aloud=asked.aloud).catch_up(run)


def _read_stored(run_id: str, asked: Asked) -> Turn:
    """As it was when this process did not know the run yet."""
    recorded = queries.events(state.workspace().ledger, state.owner(), run_id)
    said = pick_kind(events_of(recorded), MessageSent)
    writers = [asked.agents[-1], *(one.sender for one in reversed(said))]
    following = Following(next(filter(None, writers), ""), aloud=asked.aloud)
    for one in recorded:
        following.hear(one)
    return following.make_turn(run_id)


def _find_asked(run_id: str) -> Asked:
    known: dict[str, Asked] = st.session_state.get(_KNOWN, {})
    if run_id in known:
        return known[run_id]
    run = run_list.one(state.workspace().ledger, state.owner(), run_id)
    found = state.find_team(run.team) if run.team else None
    if found is None:
        return Asked("A team that was not saved", ("",), aloud=True)
    return Asked(choosing.find_name(run.team), found.agents, not found.speaks_in_fields)


def _draw_side(side: Side, parts: Sequence[tuple[str, bool]] | None) -> None:
    """Who answers, what is done for it, the answer with its sources, and what it takes."""
    run_id, turn = side.turn.run_id, side.turn
    asked = _find_asked(run_id)
    st.markdown(f"**{markdown.literal(asked.name)}**")
    goes_on = _goes_on(run_id)
    _draw_steps(turn, View(run_id, "calls", asked.agents, live=goes_on, again=False))
    text = turn.text or side.answer
    if parts:
        st.markdown(markdown.mark_parts(parts))
    elif text:
        st.markdown(markdown.answer(text, run_id, ()))
    _draw_sources(turn)
    _draw_waiting(run_id)
    if error := runs.find_error(run_id, state.owner()):
        st.error(markdown.literal(error), icon=":material/error:")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(figures.so_far(side.took) if goes_on else "", width="stretch")
        draw_way(run_id)


def _draw_steps(turn: Turn, view: View) -> None:
    """What is done for the answer; once it is there, that is folded."""
    if view.live:
        draw_transcript(turn.steps, view)
        return
    folded = st.expander(
        "Steps",
        type="compact",
        icon=":material/account_tree:",
        key=f"beside-steps-{view.run_id}",
        on_change="rerun",
    )
    if folded.open:
        with folded:
            draw_transcript(turn.steps, view)


def _draw_waiting(run_id: str) -> None:
    """What the team asks, and the way to end it, while it works."""
    run = state.find_run(run_id)
    if run is None or run.ended:
        return
    if request := run.waiting_for:
        trying.draw_request(run, request)
    st.button("Stop", key=f"stop-{run_id}", icon=":material/stop_circle:", on_click=run.stop)


def _draw_sources(turn: Turn) -> None:
    lines = [f"\n- {_name_source(one)}" for one in turn.citations]
    if lines:
        st.caption("".join(lines))


def _name_source(cited: dict[str, object]) -> str:
    page = f"p. {cited['page']}" if cited.get("page") else cited.get("place")
    told = filter(None, (cited["document"], page, cited.get("heading")))
    return f"\\[{cited['marker']}\\] {markdown.literal(', '.join(map(str, told)))}"


def draw_way(run_id: str, label: str = "Run") -> None:
    """To the run, with each of its steps."""
    address = {"run": run_id}
    icon = ":material/timeline:"
    st.page_link(state.PAGES / "runs.py", label=label, icon=icon, query_params=address)


def _draw_end(sides: Sequence[Side]) -> None:
    """What both took, and the way to their steps beside each other."""
    names = [_find_asked(side.turn.run_id).name for side in sides]
    if sides[0].answer and sides[0].answer == sides[1].answer:
        st.caption(":material/check: Both answers are the same, word for word.")
    st.markdown(tabulate(sides[0], sides[1], [markdown.literal(name) for name in names]))
    address = {"run": sides[0].turn.run_id, "with": sides[1].turn.run_id}
    st.page_link(
        state.PAGES / "runs.py",
        label="Compare the two runs step by step",
        icon=":material/compare_arrows:",
        query_params=address,
    )
