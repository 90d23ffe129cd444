"""What was asked of models, what it cost and how long it took."""

from collections.abc import Callable

import streamlit as st

from agentkit.ledger.usage import sums
from agentkit.ui.shared import budgets, state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.usage import (
    address,
    bill,
    call_table,
    errors,
    filters,
    headline,
    health,
    overview,
    quality,
    report,
    speed,
    work,
)
from agentkit.ui.usage.view import View, read_view

TABS: dict[str, Callable[[View], None]] = {
    "Overview": overview.draw_overview,
    "Calls": call_table.draw_calls,
    "Bill": bill.draw_bill,
    "Speed": speed.draw_speed,
    "Errors": errors.draw_errors,
    "Tools": work.draw_tools,
    "Look-ups": work.draw_lookups,
    "Compression": work.draw_compression,
    "People": work.draw_people,
    "Documents": health.draw_health,
    "Quality": quality.draw_quality,
}
"""Each with what draws it, given what is shown; `view.calls` is which calls are meant."""


def draw_tabs(view: View) -> None:
    """All tabs, and what is in the open one: only that asks the database."""
    drawn = st.tabs([*TABS], key=address.key("tab"), on_change="rerun")
    for tab, draw in zip(drawn, TABS.values(), strict=True):
        if tab.open:
            with tab:
                draw(view)


state.page_head(
    "Usage",
    "What was asked of models, what it cost and how long it took, in days of your time zone.",
)
if not sums.has_calls(state.workspace().ledger, filters.find_all()):
    st.markdown(
        "No model was called yet. Ask a question, and every call will be here with its tokens, cost"
        " and time."
    )
    st.page_link(PAGES / "chat.py", label="Ask a question", icon=":material/forum:")
    st.stop()
address.read(TABS)
st.page_link(PAGES / "ask_usage.py", label="Ask your usage", icon=":material/database_search:")
budgets.draw_courses()
filters.draw_filters()
address.write()  # now, as what is clicked while the figures are drawn ends this run
view = read_view()
if headline.draw_headline(view).calls:
    draw_tabs(view)
    report.draw_link(view)
else:
    st.info(
        "No calls fit these filters. Choose more days, or clear the filters.",
        icon=":material/filter_alt_off:",
    )
address.write()  # once more, without what no widget knows: an address may name anything
