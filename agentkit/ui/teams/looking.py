"""A team that comes with agentkit, looked into: as it is, and as a copy that can be changed."""

from __future__ import annotations

import streamlit as st

from agentkit.teams import Team, teams
from agentkit.teams.built.ready_made import ready_made
from agentkit.ui.shared import state
from agentkit.ui.teams import sharing
from agentkit.ui.teams.drafts import Draft
from agentkit.ui.teams.editor import draw_sides, draw_way_back, make_form, use_team
from agentkit.ui.teams.overview import copy_ready
from agentkit.ui.text import markdown


def find_ready(team_id: str) -> Team | None:
    """The ready-made team of that id."""
    return next((known for known in teams() if known.id == team_id), None)


def draw_ready(team: Team) -> None:
    """Its form, which only shows; its picture, and a place to try it."""
    draw_way_back()
    draft = Draft(team.id, ready_made(team.id).to_json())
    form = make_form(draft, fixed=True)
    state.page_head(
        markdown.literal(team.title),
        "Comes with agentkit and stays as it is; a copy of it is yours to change.",
    )
    with st.container(horizontal=True, gap="small", key="team-bar"):
        st.button(
            "Copy to change",
            key="copy-team",
            type="primary",
            icon=":material/content_copy:",
            on_click=copy_ready,
            args=(team,),
        )
        use = st.button("Use in a chat", key="use-team", icon=":material/forum:")
        sharing.draw_export(form.checked.document, team.id)
    if use:
        use_team(team.id)
    draw_sides(form)
