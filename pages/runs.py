"""What was run and what happened in it: all runs, or one of them as `?run=` in the address, and a
step of it as `?step=`.
"""

import streamlit as st

from agentkit.ui.runs import overview, trace
from agentkit.ui.shared import state

if opened := st.query_params.get("run"):
    trace.draw_trace(opened)
else:
    state.page_head(
        "Runs",
        "Every question, ingest, measurement and recorded script: how it ended, what it took, and"
        " each step of it.",
    )
    overview.draw_overview()
