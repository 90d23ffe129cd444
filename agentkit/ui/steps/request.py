"""What was sent to a model, as it was sent: folded below its call, read when it is unfolded."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any, BinaryIO

import streamlit as st

from agentkit.errors import NotFound
from agentkit.events import ModelCalled, ModelReplied
from agentkit.ledger import Ledger, Request
from agentkit.llm.calls.pictures import PLACE
from agentkit.messages import text_of
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_text

MOST_MESSAGES = 60
MOST_CHARACTERS = 20_000
"""More of a request is in its file."""
_PLACES = (
    ":material/image: Sent with pictures. Their bytes are not kept here a second time: an address"
    " with the hash of each stands in their place."
)


def draw_folded(call: ModelCalled | ModelReplied) -> None:
    """The request of this call; nothing is read before it is unfolded."""
    folded = st.expander(
        "Request as sent",
        type="compact",
        icon=":material/outbox:",
        key=f"request-{call.call_id}",
        on_change="rerun",
    )
    if folded.open:
        with folded:
            _draw(call)


def _draw(call: ModelCalled | ModelReplied) -> None:
    try:
        request = _request(call)
    except NotFound as error:
        st.caption(markdown.literal(str(error)))
        return
    sent = request.messages
    parts = [figures.count(len(sent), "message"), figures.count(len(request.tools), "tool")]
    st.caption(f"{' · '.join(parts)} · {figures.count(len(request.json), 'character')} of JSON")
    if hidden := len(sent[:-MOST_MESSAGES]):
        st.caption(f":material/more_horiz: {figures.count(hidden, 'message')} before these")
    for message in sent[-MOST_MESSAGES:]:
        draw_message(message)
    draw_json("Tools", request.tools)
    draw_json("Parameters", request.parameters)
    name = f"request-{call.call_id}"
    ledger, owner = state.workspace().ledger, state.owner()
    make = partial(_file, ledger, owner, call.call_id)
    downloads.draw_link("Download the request", make, f"{name}.json", key=name)


def _request(call: ModelCalled | ModelReplied) -> Request:
    """From the ledger, or from the call itself in the second before it is stored."""
    if isinstance(call, ModelCalled) and call.messages:
        return Request(call.messages, call.request)
    return state.workspace().ledger.request_of(state.owner(), call.call_id)


def _file(ledger: Ledger, owner: str, call_id: str) -> BinaryIO:
    return io.BytesIO(ledger.request_of(owner, call_id).json.encode())


def draw_message(message: dict[str, Any], note: str = "") -> None:
    """Its role and name, with a note beside them in Markdown, its text, and what else was sent with
    it.
    """
    name = ""
    if message.get("name"):
        name = f" {markdown.literal(str(message['name']))}"
    told = ("role", "name", "content")
    beside = {key: value for key, value in message.items() if key not in told}
    with st.container(gap="xsmall"):
        st.caption(f"**{markdown.literal(str(message.get('role', '')))}**{name} {note}".rstrip())
        if PLACE in str(message.get("content")):
            st.caption(_PLACES)
        if text := text_of(message.get("content")):
            draw_cut(text)
        if beside:
            draw_cut(json.dumps(beside, ensure_ascii=False, indent=2), "json")


def draw_json(label: str, value: Any) -> None:
    """A JSON value under its label; nothing for an empty one."""
    if value:
        with st.container(gap="xsmall"):
            st.caption(f"**{label}**")
            draw_cut(json.dumps(value, ensure_ascii=False, indent=2), "json")


def draw_cut(text: str, language: str | None = None) -> None:
    """A text, of a long one its beginning, and how much is left out."""
    draw_text(text[:MOST_CHARACTERS], language)
    if cut := len(text[MOST_CHARACTERS:]):
        st.caption(f":material/more_horiz: {figures.count(cut, 'character')} more are in the file.")
