"""The documents that chats answer from, by collection: add, look at, tag, retry, delete."""

import streamlit as st

from agentkit import runs
from agentkit.ui.documents import adding, chunks, collections, documents, progress, transfer
from agentkit.ui.lab import watch
from agentkit.ui.shared import state
from agentkit.workspace import DEFAULT_COLLECTION

state.page_head(
    "Documents", "What your chats answer from. The documents of a collection are searched together."
)
known = state.workspace().library.collections(state.owner())
chosen = collections.draw_choice(known) if known else None
progress.draw_progress()
transfer.draw_transfers()
under_way = runs.live(state.owner(), kind="ingest")
if not any(one.documents for one in known) and not under_way:
    st.markdown(
        "There are no documents yet. Add your own below, or load a few samples to see how it works."
    )
    with st.container(horizontal=True):
        adding.draw_samples()
        if not known:
            collections.draw_import()
elif chosen and chosen.documents:
    collections.draw_size(chosen)
    watch.draw_notices(chosen.name)
elif chosen and under_way:
    st.markdown("This collection is empty so far. What is being taken in for it appears here.")
elif chosen:
    st.markdown("This collection is empty. Add documents to it:")
adding.draw_adding(
    chosen.name if chosen else DEFAULT_COLLECTION, empty=not (chosen and chosen.documents)
)
if chosen and chosen.documents:
    selected = documents.draw_documents(chosen)
    if len(selected) == 1:
        chunks.draw_document(selected[0])
    else:
        st.caption(
            "Select one document to look at its chunks, or several to tag, delete or retry them."
        )
