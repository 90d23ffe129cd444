"""Evaluations that broke off or were stopped: told as that, and gone on with by a click."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ledger.evaluations.results import Evaluation
from agentkit.ui.evaluations import choosing, words
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown, times

_WHY = {
    "interrupted": "was interrupted, as the app ended",
    "stopped": "was stopped",
}
"""Others have failed."""


def draw_unfinished(history: Sequence[Evaluation]) -> None:
    """Those of an evaluated set that nothing newer of the same team has taken the place of."""
    for one in list_unfinished(history):
        _draw(one)


def list_unfinished(history: Sequence[Evaluation]) -> list[Evaluation]:
    """The newest evaluation of each team and version, where questions of it are left."""
    newest: dict[str, Evaluation] = {}
    for one in history:
        newest.setdefault(one.began.team_id, one)
    return [one for one in newest.values() if one.state != "running" and not one.is_whole]


def _draw(found: Evaluation) -> None:
    left = found.began.questions - len(found.results)
    with st.container(border=True, key=f"unfinished-{found.run_id}", gap="xsmall"):
        st.markdown(f":material/pause_circle: {_tell(found)}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                f"Go on with {figures.count(left, 'question')}",
                key=f"go-on-{found.run_id}",
                icon=":material/resume:",
                on_click=_go_on,
                args=(found.run_id,),
            )
            st.caption("What was answered is neither asked nor paid for again.", width="stretch")


def _tell(found: Evaluation) -> str:
    began = found.began
    name = markdown.literal(words.name_team(began))
    at = times.format_time(found.started_at)
    asked = f"{figures.count(len(found.results))} of {figures.count(began.questions, 'question')}"
    return f"**{name}** of {at} {_WHY.get(found.state, 'failed')}: {asked} answered."


def _go_on(run_id: str) -> None:
    try:
        state.workspace().resume_evaluation(state.owner(), run_id)
    except AgentkitError as error:
        choosing.tell_error(error)
