"""Models to answer with, the store, the limits in force."""

import streamlit as st

from agentkit.ui.settings import (
    budgets,
    connections,
    installation,
    limits,
    prices,
    tool_servers,
)
from agentkit.ui.shared import state

state.page_head("Settings", "Which models answer, and what this installation stands on.")
with st.container(width=736):
    st.header("Models", anchor=False)
    connections.draw_connections()
    st.header("Tools", anchor=False)
    installation.draw_tools()
    installation.draw_fetching()
    tool_servers.draw_tool_servers()
    st.header("Answers", anchor=False)
    installation.draw_resuming()
    installation.draw_followups()
    st.header("Store", anchor=False)
    installation.draw_store()
    st.header("Sending runs", anchor=False)
    installation.draw_spans()
    st.header("Limits", anchor=False)
    limits.draw_limits()
    st.header("Budgets", anchor=False)
    budgets.draw_budgets()
    st.header("Prices", anchor=False)
    prices.draw_prices()
    st.header("Versions", anchor=False)
    installation.draw_versions()
    st.caption(
        "Nothing is sent anywhere but to the model servers and addresses that you give: no"
        " usage statistics."
    )
