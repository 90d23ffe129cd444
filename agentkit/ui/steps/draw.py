"""How what happens in a run looks: `draw(step)` for live and for stored runs alike, and a whole
turn of a chat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from agentkit.events import Thinking
from agentkit.teams import Question
from agentkit.ui.shared import filters
from agentkit.ui.steps.cells import describe_again
from agentkit.ui.steps.model import thought
from agentkit.ui.steps.pictures import draw_pictures
from agentkit.ui.steps.registry import kind_of
from agentkit.ui.steps.step import Level, Said, Step
from agentkit.ui.steps.turns import Turn
from agentkit.ui.steps.words import lately
from agentkit.ui.text import figures, markdown

PERSON, AGENT = ":material/person:", ":material/auto_stories:"


def draw(step: Step, level: Level = "calls") -> None:
    """One step as one small line, tools and code to unfold, an inner message as its words; an
    event without a step draws nothing.
    """
    kind_of(step).draw(step, level)


def describe(step: Step) -> str:
    """The line for a step, in Markdown; empty for an event without a step."""
    return kind_of(step).line(step)


def describe_doing(step: Step) -> str:
    """What is going on while this is the latest step, in a few words that do not change at every
    tick.
    """
    return kind_of(step).describe_doing(step)


def draw_turn(turn: Turn, answer: Callable[[], None]) -> None:
    """A question, and below it whatever `answer` draws as the agents' side."""
    if turn.question:
        with st.chat_message(
            "You", avatar=PERSON
        ):  # by another name than "user": its grey ground fits no theme
            asks = describe_again(turn.question) or markdown.prose(turn.question.content)
            st.markdown(asks)
            draw_pictures(turn.asked.pictures, turn.run_id)
            _draw_asked_with(turn.question)
    with st.chat_message("assistant", avatar=AGENT):
        answer()


def draw_thinking(thinking: Thinking) -> None:
    """What a model thought, folded under how long it took."""
    folded = st.expander(thought(thinking), type="compact", icon=":material/psychology:")
    with folded, st.container(border=True):
        st.markdown(markdown.prose(thinking.text))


def draw_growing_thinking(text: str, *, unfolded: bool) -> None:
    """The end of what a model is thinking, or has just thought."""
    hidden, shown = lately(text)
    icon, label = ":material/psychology:", "Thinking" if unfolded else "Thought"
    folded = st.expander(label, type="compact", icon=icon, expanded=unfolded)
    with folded, st.container(border=True):
        if hidden:
            st.caption(f":material/more_horiz: {figures.count(hidden, 'character')} before this")
        st.markdown(markdown.prose(shown))


def _draw_asked_with(said: Said) -> None:
    asked = Question.from_message(said)
    if asked.attachments:
        where = "kept in the collection" if asked.keep_attachments else "for this chat only"
        names = _list_names(file.name for file in asked.attachments)
        st.caption(f":material/attach_file: {names} ({where})")
    if gone := said.extra.get("missing"):
        verb = "is" if len(gone) == 1 else "are"
        st.warning(
            f"{_list_names(gone)} {verb} no longer there: the answer does not know what it said. "
            "Attach it once more if it matters.",
            icon=":material/attach_file_off:",
        )
    if within := filters.in_words(asked.scope):
        st.caption(f":material/filter_alt: Only: {within}")


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(map(markdown.literal, names))
