"""Where searching is tried, measured and tuned, by collection: `?collection=` and `?view=` in the
address.
"""

import streamlit as st

from agentkit.ui.documents import collections, progress
from agentkit.ui.evaluations import starting
from agentkit.ui.lab import index, measure, new_sets, parts, query
from agentkit.ui.shared import state

state.page_head(
    "Retrieval lab",
    "Try, measure and tune how passages are found. Searches here are the ones that chats make.",
)
known = state.workspace().library.collections(state.owner())
if not known:
    new_sets.draw_first()
    st.stop()
chosen = collections.draw_select(known)
progress.draw_progress()
match parts.draw_views():
    case parts.TRY:
        query.draw_try(chosen)
    case parts.MEASURE:
        measure.draw_measure(chosen)
    case parts.TEAMS:
        starting.draw_evaluations()
    case _:
        index.draw_index(chosen)
