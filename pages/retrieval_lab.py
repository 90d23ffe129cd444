"""Where searching is tried, measured and tuned, by collection: `?collection=` and `?view=` in the address."""

import streamlit as st

from agentkit.ui import collections, lab, lab_adding, lab_index, lab_measure, lab_try, progress, state

state.page_head("Retrieval lab", "Try, measure and tune how passages are found. Searches here are the ones that chats make.")
known = state.workspace().library.collections(state.owner())
if not known:
    lab_adding.draw_first()
    st.stop()
chosen = collections.draw_select(known)
progress.draw_progress()
match lab.draw_views():
    case lab.TRY:
        lab_try.draw_try(chosen)
    case lab.MEASURE:
        lab_measure.draw_measure(chosen)
    case _:
        lab_index.draw_index(chosen)
