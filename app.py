"""agentkit in the browser: `streamlit run app.py`. The pages are under pages/, their navigation in agentkit/ui/router.py."""

import streamlit as st

from agentkit.ui import server

app = st.App(
    "agentkit/ui/router.py",
    routes=server.ROUTES,
    middleware=server.middleware(),
    lifespan=server.lifespan,
    on_script_error=server.show_error,
)
