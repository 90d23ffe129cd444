"""Teams of agents: all of them, or one of them in its form as `?team=` in the address."""

import streamlit as st

from agentkit.ui.shared import state
from agentkit.ui.teams import editor, looking, overview

opened = st.query_params.get("team", "")
if ready := looking.find_ready(opened):
    looking.draw_ready(ready)
elif opened:
    editor.draw_editor(opened)
else:
    state.page_head(
        "Teams",
        "Who answers in your chats: teams that come with agentkit, and those you build by forms.",
    )
    overview.draw_overview()
