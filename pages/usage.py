"""What was asked of models, what it cost and how long it took."""

import streamlit as st

from agentkit.ledger import queries
from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.usage import tables, usage

state.page_head(
    "Usage",
    "What was asked of models, what it cost and how long it took, in days of your time zone.",
)
if not queries.totals(state.workspace().ledger, queries.CallFilter(state.owner())).calls:
    st.markdown(
        "No model was called yet. Ask a question, and every call will be here with its tokens, cost"
        " and time."
    )
    st.page_link(PAGES / "chat.py", label="Ask a question", icon=":material/forum:")
    st.stop()
st.page_link(PAGES / "ask_usage.py", label="Ask your usage", icon=":material/database_search:")
chosen = usage.draw_filters()
if usage.draw_totals(chosen).calls:
    usage.draw_charts(chosen)
    tables.draw_tables(chosen)
    tables.draw_export(chosen)
else:
    st.info(
        "No calls fit these filters. Choose more days, or clear the models and agents.",
        icon=":material/filter_alt_off:",
    )
