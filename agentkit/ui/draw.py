"""How what happens in a run looks: `draw(event)` for live and for stored runs alike, and a whole turn of a chat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Retrieved,
)
from agentkit.ui import figures, markdown
from agentkit.ui.turns import Said, Turn

PERSON, AGENT = ":material/person:", ":material/auto_stories:"
STAGES = {
    "waiting": "waiting",
    "parse": "being read",
    "split": "being split",
    "embed": "being embedded",
    "commit": "being stored",
    "index": "being indexed",
}


def draw(event: Event) -> None:
    """One step as one small line, an inner message as a quotation; events that are no step draw nothing."""
    if isinstance(event, MessageSent):
        st.markdown(f":material/forum: :small[**{markdown.literal(event.sender)}** to {markdown.literal(event.recipient)}]")
        st.caption(markdown.prose(event.content))
    elif line := describe(event):
        st.caption(line)


def describe(event: Event) -> str:
    """The line for a step, in Markdown; empty for events that are no step."""
    match event:
        case Retrieved():
            found = figures.count(len(event.hits), "passage")
            return f":material/search: Looked up “{markdown.literal(event.query)}”: {found}, {figures.seconds(event.seconds)}"
        case ModelCalled():
            return f":material/edit_note: {markdown.literal(event.agent or 'The team')} asks {markdown.literal(event.model)}"
        case ModelReplied():
            return _reply_line(event)
        case DocumentProgress():
            share = f", {event.done / event.total:.0%}" if event.total else ""
            return f":material/attach_file: {markdown.literal(event.document)} is {STAGES[event.stage]}{share}"
        case DocumentDone():
            return _document_line(event)
        case HumanInputRequested():
            return f":material/contact_support: {markdown.literal(event.agent)} asked you: {markdown.literal(event.prompt)}"
        case HumanAnswered():
            return f":material/reply: You answered: {markdown.literal(event.text)}"
        case _:
            return ""


def draw_turn(turn: Turn, answer: Callable[[], None]) -> None:
    """A question, and below it whatever `answer` draws as the agents' side."""
    if turn.question:
        with st.chat_message("You", avatar=PERSON):  # by another name than "user": its grey ground fits no theme
            st.markdown(markdown.prose(turn.question.content))
            _draw_attachments(turn.question)
    with st.chat_message("assistant", avatar=AGENT):
        answer()


def draw_steps(events: Sequence[Event]) -> None:
    """All steps of a turn."""
    with st.container(border=True, gap="xsmall"):
        if not events:
            st.caption("Nothing was done yet.")
        for event in events:
            draw(event)


def _draw_attachments(question: Said) -> None:
    names = question.extra.get("attachments", [])
    if names:
        where = "kept in the collection" if question.extra.get("kept") else "for this chat only"
        st.caption(f":material/attach_file: {', '.join(markdown.literal(name) for name in names)} ({where})")


def _reply_line(event: ModelReplied) -> str:
    who = f":material/edit_note: {markdown.literal(event.agent or 'The team')}, {markdown.literal(event.model)}"
    if event.status == "failed":
        return f"{who}: no reply at attempt {event.attempt}. {markdown.literal(event.error)}"
    usage = event.usage
    about = "about " if usage.estimated else ""
    tokens = f"{about}{figures.count(usage.prompt)} tokens in, {figures.count(usage.completion)} out"
    return f"{who}: {tokens}, {figures.seconds(event.seconds)}{' (stopped)' if event.status == 'stopped' else ''}"


def _document_line(event: DocumentDone) -> str:
    name = markdown.literal(event.document)
    if event.status in ("failed", "stopped"):
        return f":material/error: {name} was not taken in. {markdown.literal(event.error)}"
    return f":material/attach_file: {name}: {figures.count(event.chunks, 'chunk')}, {figures.seconds(event.seconds)}"


def doing(event: Event) -> str:
    """What is going on while this is the latest step, in a few words that do not change at every tick."""
    match event:
        case DocumentProgress():
            return "Reading the attached files"
        case DocumentDone():
            return "Looking up passages"
        case HumanInputRequested():
            return "Waiting for you"
        case ModelCalled():
            return f"{event.agent or 'The team'} is thinking"
        case _:
            return "Working on the answer"
