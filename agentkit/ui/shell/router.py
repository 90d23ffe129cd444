"""The script that Streamlit runs: navigation over the pages, and one place for errors that keep the whole app from working."""

from __future__ import annotations

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.shell import style

# Drawn here: the browser would fetch a Material symbol for its tab from Google's servers.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#248286" stroke-width="2.4" '
    'stroke-linejoin="round"><path d="M12 6Q8 3 2 4v14q6-1 10 2 4-3 10-2V4q-6-1-10 2v14"/></svg>'
)
st.set_page_config(page_title="agentkit", page_icon=ICON, layout="wide")
page = st.navigation([
    st.Page(PAGES / "chat.py", title="Chat", icon=":material/forum:", default=True),
    st.Page(PAGES / "documents.py", title="Documents", icon=":material/description:"),
    st.Page(PAGES / "retrieval_lab.py", title="Retrieval lab", icon=":material/science:"),
    st.Page(PAGES / "usage.py", title="Usage", icon=":material/monitoring:"),
    st.Page(PAGES / "settings.py", title="Settings", icon=":material/tune:"),
])  # fmt: skip
style.draw_style()
try:
    state.workspace()
except AgentkitError as error:
    st.error(str(error), icon=":material/error:")
    st.stop()
page.run()
state.drawn.set()
