"""Teams of agents: all of them, two of them beside each other, question sets put to them, or one of
them in its form as `?team=` in the address.
"""

import streamlit as st

from agentkit.ui.evaluations import beside, starting, watch
from agentkit.ui.shared import components, state
from agentkit.ui.teams import editor, overview, views

components.own_link(views.go_home)
opened = st.query_params.get("team", "")
if ready := editor.find_ready(opened):
    editor.draw_ready(ready)
    st.stop()
if opened:
    editor.draw_editor(opened)
    st.stop()
state.page_head(
    "Teams",
    "Who answers in your chats: teams that come with agentkit, and those you build by forms.",
)
match views.draw_views():
    case views.BESIDE:
        beside.draw_beside()
    case views.EVALUATIONS:
        starting.draw_evaluations()
    case _:
        watch.draw_notices()
        overview.draw_overview()
