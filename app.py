"""agentkit in the browser: `streamlit run app.py`. The pages are under pages/, their navigation in agentkit/ui/router.py."""

import streamlit as st

from agentkit.api import Held
from agentkit.ui import server, state

state.open_with(Held)  # commands and scripts work on the same folder through this process
app = st.App(
    "agentkit/ui/router.py",
    routes=server.ROUTES,
    middleware=server.middleware(),
    lifespan=server.lifespan,
    on_script_error=server.show_error,
)
