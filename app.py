"""agentkit in the browser: `streamlit run app.py`, or `agentkit app` from any folder. The pages are
under pages/.
"""

import streamlit as st

from agentkit.api import Held
from agentkit.ui.shared import state
from agentkit.ui.shell import server

state.open_with(Held)  # commands and scripts work on the same folder through this process
app = st.App(
    server.SCRIPT,
    routes=server.ROUTES,
    middleware=server.middleware(),
    lifespan=server.lifespan,
    on_script_error=server.show_error,
)
