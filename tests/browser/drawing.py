"""A page for tests that draws given texts as those of a model: `streamlit run` it with TEXTS set to
a file of JSON.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import streamlit as st

from agentkit.ui.text import markdown

for number, text in enumerate(json.loads(Path(os.environ["TEXTS"]).read_text(encoding="utf-8"))):
    with st.container(key=f"prose-{number}"):
        st.markdown(markdown.prose(text))
    with st.container(key=f"answer-{number}"):
        for part in (
            markdown.answer(text, "m", {1}),
            *map(markdown.prose, markdown.split_finished(text)),
        ):
            st.markdown(part)
    st.caption(markdown.literal(text))
st.text("All are drawn.")
