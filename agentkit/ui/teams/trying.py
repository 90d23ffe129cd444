"""A team tried beside its form, as it stands there: nothing of it has to be saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError
from agentkit.events import HumanInputRequested
from agentkit.runs import Run
from agentkit.teams import Question
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.team import build_team
from agentkit.ui.chat.live import pace_looks
from agentkit.ui.composer import requests
from agentkit.ui.shared import dialogs, looks, state
from agentkit.ui.steps import draw
from agentkit.ui.steps.flow import draw_flow
from agentkit.ui.steps.following import follow
from agentkit.ui.steps.transcript import View, draw_transcript
from agentkit.ui.steps.turns import Turn
from agentkit.ui.teams.checking import Checked
from agentkit.ui.teams.drafts import Draft
from agentkit.ui.text import figures, markdown
from agentkit.workspace.trying import KIND, try_team

_LOOK_S = 0.25
_DRY = "dry"
_QUESTION = "What do the documents say?"


def draw_trying(draft: Draft, checked: Checked, models: Mapping[str, str]) -> None:
    """A question to the team as it stands in the form, and what it does with it."""
    st.subheader("Try it", anchor=False)
    key = draft.spot("try")
    with st.container(border=True, gap="small", key=draft.spot("trying")):
        st.text_area("Question", _QUESTION, key=f"{key}-question", height=80)
        options = {_DRY: "Dry run: a stand-in that costs nothing", **models}
        model = st.selectbox(
            "Who speaks", list(options), format_func=options.__getitem__, key=f"{key}-model"
        )
        found = state.workspace().library.collections(state.owner())
        names = [one.name for one in found]
        collection = st.selectbox("Collection", names, key=f"{key}-collection") if names else None
        if not names:
            st.caption("There are no documents yet; add some on the page Documents to try it.")
        st.button(
            "Try",
            key=f"{key}-go",
            type="primary",
            icon=":material/play_arrow:",
            disabled=bool(checked.problems) or collection is None,
            on_click=_begin,
            args=(key, (checked.document, str(collection))),
        )
        if model == _DRY:
            st.caption(
                "No model is asked: each agent says that it is its turn, so that the way of a"
                " question can be seen. The documents are looked up as always."
            )
    if (tried := st.session_state.get(key)) is not None:
        _draw_tried(*tried)


def _begin(key: str, given: tuple[TeamDocument, str]) -> None:
    document, collection = given
    chosen = st.session_state[f"{key}-model"]
    text = str(st.session_state[f"{key}-question"]).strip() or _QUESTION
    if state.is_repeated(given):
        return
    dry = chosen == _DRY
    asked = Question(text, collection, model_id="" if dry else chosen)
    try:
        run = try_team(state.workspace(), state.owner(), document, asked, dry=dry)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    st.session_state[key] = (run.id, document, dry)


def _draw_tried(run_id: str, document: TeamDocument, dry: bool) -> None:
    run = state.find_run(run_id)
    if run is None:
        st.caption("What was tried here is on the page Runs.")
        return
    every = None if run.ended else pace_looks(_LOOK_S)
    st.fragment(_draw_run, run_every=every)(run, document, dry, every is not None)


def _draw_run(run: Run[Any], document: TeamDocument, dry: bool, again: bool) -> None:
    """What the team does; at the end the page is drawn once more, and looks no longer."""
    if again and run.ended:
        dialogs.redraw()
    with looks.drawing(lambda: looks.state_of(run)):
        _draw_doing(run, document, dry)


def _draw_doing(run: Run[Any], document: TeamDocument, dry: bool) -> None:
    team = build_team(document, KIND)
    following = follow(run, team.agents[-1], aloud=not team.speaks_in_fields)
    turn = following.catch_up(run)
    if dry:
        st.caption(":material/science: Dry run: no model was asked, and nothing was paid.")
    draw.draw_turn(turn, lambda: _draw_answer(run, turn, team.agents))
    with st.container(horizontal=True, vertical_alignment="center"):
        if not run.ended:
            st.button(
                "Stop", key=f"stop-{run.id}", icon=":material/stop_circle:", on_click=run.stop
            )
        if not dry:
            took = figures.so_far(following.flow.total)
            st.caption(markdown.literal(took), width="stretch")
        draw_flow(following.flow, run.id, team.agents)


def _draw_answer(run: Run[Any], turn: Turn, agents: tuple[str, ...]) -> None:
    goes_on = not run.ended
    draw_transcript(turn.steps, View(run.id, "calls", agents, live=goes_on, again=False))
    if turn.text:
        st.markdown(markdown.answer(turn.text, run.message_id, turn.sources))
    if request := run.waiting_for:
        draw_request(run, request)
    if run.ended and (error := runs.find_error(run.id, state.owner())):
        st.error(markdown.literal(str(error)), icon=":material/error:")


def draw_request(run: Run[Any], request: HumanInputRequested) -> None:
    """What the team asks, and a place for words of one's own where it asks for them."""
    requests.draw_question(run, request)
    if requests.in_words(run) is None:
        return
    key = f"words-{request.request_id}"
    with st.form(f"form-{key}", clear_on_submit=True, border=False):
        text = st.text_input("Your answer", key=key)
        if st.form_submit_button("Answer", icon=":material/send:"):
            requests.answer(run, request, text)
