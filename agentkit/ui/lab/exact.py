"""Exact search in the retrieval lab: every place where a text stands, or what fits a regular
expression.
"""

from __future__ import annotations

from itertools import groupby

import streamlit as st

from agentkit.core.naming import name_source
from agentkit.errors import AgentkitError
from agentkit.retrieval import Collection
from agentkit.retrieval.store.exact_search import Match
from agentkit.retrieval.types import Scope
from agentkit.ui.lab import parts
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown

_PLACES = 100
_AROUND = 100  # characters of context on either side, at most


def draw_exact(collection: Collection, query: str, scope: Scope) -> None:
    """The places, in the order of the documents, each with the text around it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        about = "For example `\\d+ days?` finds “1 day” and “30 days”."
        regex = st.toggle("Regular expression", key="regex", help=about, persist_state="session")
        match_case = st.toggle("Match case", key="match-case", persist_state="session")
    if not query:
        st.markdown("Type a word, a name or a number above: every place where it stands is shown.")
        return
    library, owner = state.workspace().library, state.owner()
    try:
        with st.spinner("Searching …"):
            found = library.find(
                owner,
                collection.name,
                query,
                regex=regex,
                match_case=match_case,
                scope=scope,
                limit=_PLACES,
            )
        rows = [
            _place(match, text)
            for document_id, matches in groupby(found, key=lambda match: match.document_id)
            for text in [library.text(owner, document_id)]
            for match in matches
        ]
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    if not found:
        st.info(_exact_advice(regex, match_case, scope), icon=":material/search_off:")
        return
    documents = figures.count(len({match.document_id for match in found}), "document")
    most = (
        f"The first {_PLACES} places"
        if len(found) == _PLACES
        else f"**{figures.count(len(found), 'place')}**"
    )
    st.markdown(f"{most}, in {documents}")
    st.table(rows, border="horizontal", alt="Places that were found")


def _exact_advice(regex: bool, match_case: bool, scope: Scope) -> str:
    ways = []
    if match_case:
        ways.append("switch “Match case” off")
    if scope != Scope():
        ways.append("clear the filters")
    if regex:
        ways.append("check the regular expression")
    return (
        "This text stands nowhere in the collection."
        f" {parts.advice([*ways, 'search for passages instead'])}"
    )


def _place(match: Match, text: str) -> dict[str, str]:
    """A row of the table, in Markdown; what was found is marked among what stands around it in its
    paragraph.
    """
    name = name_source(match.document, match.page, match.place)
    before = text[max(0, match.start - _AROUND) : match.start].rpartition("\n\n")[2]
    after = text[match.end : match.end + _AROUND].partition("\n\n")[0]
    if len(before) == _AROUND:
        before = f"… {before.partition(' ')[2] or before}"
    if len(after) == _AROUND:
        after = f"{after.rpartition(' ')[0] or after} …"
    marked = f":primary-background[{markdown.literal(text[match.start : match.end])}]"
    return {"Where": markdown.literal(name), "Text": f"{_literal(before)}{marked}{_literal(after)}"}


def _literal(text: str) -> str:
    """As `markdown.literal`, with one blank for the white space at either end."""
    return (
        (" " if text[:1].isspace() else "")
        + markdown.literal(text)
        + (" " if text[-1:].isspace() else "")
    )
