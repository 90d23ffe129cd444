"""The script that Streamlit runs: navigation over the pages, and one place for errors that keep the
whole app from working.
"""

from __future__ import annotations

from base64 import b64encode

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.PageConfig_pb2 import PageConfig
from streamlit.runtime.scriptrunner import get_script_run_ctx

from agentkit.errors import AgentkitError
from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.text import markdown

state.loaded.wait()  # of two threads that import the same at once, one may find it half done

from agentkit.ui.chat import search  # noqa: E402
from agentkit.ui.shared import components, dialogs  # noqa: E402


def _draw_pieces() -> None:
    """Those of our own that are on every page and show nothing yet. Until the browser has loaded
    them a grey bar stands for each: without a height of its own it would move the page, and what
    is clicked there meanwhile would be missed.
    """
    with st.container(height=1, border=False, gap=None, key="pieces"):
        components.outage(*_OUTAGE)
        components.popovers(" ".join(st.query_params.get(name, "") for name in _OPENED))
        search.draw_search()


_OPENED = ("team", "run", "with")
"""What is shown in place of a list, by the names in the address."""
_OUTAGE = (
    "agentkit does not answer",
    (
        "It was closed, or the way to it is cut. What was asked and answered is kept. "
        "Start it again the way it was started; this page goes on by itself as soon as it answers."
    ),
)
"""What a page says once its server is gone."""


def _draw_icon() -> None:
    """Show our icon in the browser's tab. As `page_icon` of the page's settings it would have numpy
    and Pillow loaded first.
    """
    message, context = ForwardMsg(), get_script_run_ctx()
    settings = message.page_config_changed
    settings.favicon = f"data:image/svg+xml;base64,{b64encode(ICON.encode()).decode()}"
    settings.layout = PageConfig.LAYOUT_UNSET
    settings.initial_sidebar_state = PageConfig.SIDEBAR_UNSET
    if context:
        context.enqueue(message)


# Drawn here: the browser would fetch a Material symbol for its tab from Google's servers.
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#248286"'
    ' stroke-width="2.4" stroke-linejoin="round"><path d="M12 6Q8 3 2 4v14q6-1 10 2 4-3'
    ' 10-2V4q-6-1-10 2v14"/></svg>'
)
st.set_page_config(page_title="agentkit", layout="wide")
_draw_icon()
page = st.navigation(
    [
        st.Page(PAGES / "chat.py", title="Chat", icon=":material/forum:", default=True),
        st.Page(PAGES / "documents.py", title="Documents", icon=":material/description:"),
        st.Page(PAGES / "retrieval_lab.py", title="Retrieval lab", icon=":material/science:"),
        st.Page(PAGES / "teams.py", title="Teams", icon=":material/groups:"),
        st.Page(PAGES / "runs.py", title="Runs", icon=":material/timeline:"),
        st.Page(PAGES / "usage.py", title="Usage", icon=":material/monitoring:"),
        st.Page(PAGES / "ask_usage.py", title="Ask your usage", visibility="hidden"),
        st.Page(PAGES / "settings.py", title="Settings", icon=":material/tune:"),
    ]
)
try:
    state.workspace()
except AgentkitError as error:
    st.error(markdown.literal(str(error)), icon=":material/error:")
    st.stop()
state.turn_to(page.title)
dialogs.turn_to(page=page.title)
_draw_pieces()
page.run()
state.drawn.set()
