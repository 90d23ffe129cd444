"""What was run and what happened in it: all runs, or one of them as `?run=` in the address, a step
of it as `?step=`, and another run beside it as `?with=`.
"""

import streamlit as st

from agentkit.ui.runs import compare, overview, trace
from agentkit.ui.shared import state

opened, beside = st.query_params.get("run"), st.query_params.get("with")
if opened and beside:
    compare.draw_comparison(opened, beside)
elif opened:
    trace.draw_trace(opened)
else:
    state.page_head(
        "Runs",
        "Every question, ingest, measurement and recorded script: how it ended, what it took, and"
        " each step of it.",
    )
    overview.draw_overview()
