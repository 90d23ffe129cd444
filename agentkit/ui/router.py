"""The script that Streamlit runs: navigation over the pages, and one place for errors that keep the whole app from working."""

from __future__ import annotations

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ui import state
from agentkit.ui.state import PAGES

st.set_page_config(page_title="agentkit", page_icon=":material/menu_book:", layout="wide")
page = st.navigation([
    st.Page(PAGES / "chat.py", title="Chat", icon=":material/forum:", default=True),
    st.Page(PAGES / "documents.py", title="Documents", icon=":material/description:"),
    st.Page(PAGES / "usage.py", title="Usage", icon=":material/monitoring:"),
    st.Page(PAGES / "settings.py", title="Settings", icon=":material/tune:"),
])  # fmt: skip
try:
    state.workspace()
except AgentkitError as error:
    st.error(str(error), icon=":material/error:")
    st.stop()
page.run()
