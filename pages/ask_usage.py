"""What was used, asked in SQL or in words."""

from agentkit.ui.shared import state
from agentkit.ui.usage import sql_box

state.page_head(
    "Ask your usage",
    "A SELECT over your calls, runs, messages, look-ups, citations and documents; times are UTC,"
    " costs US dollars.",
)
sql_box.draw_page()
