"""What agents say and do, as people read it: bubbles with the mark and colour of who speaks.

Between them stands what belongs to nobody alone. Of a long transcript the end is drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse
from operator import attrgetter

import streamlit as st

from agentkit.core.given import pick_kind
from agentkit.events import MessageSent
from agentkit.ui.steps import again, voices, wording
from agentkit.ui.steps.chat import draw_message, phase_of
from agentkit.ui.steps.registry import kind_of
from agentkit.ui.steps.step import Level, Step
from agentkit.ui.text import figures, markdown

PAGE = 40
"""Steps that are drawn at first."""
_MOVES = 20
"""By so many steps the beginning moves on while a run goes on, so that it stands still between."""

_WHOLE = {True: 12_000, False: 0}
"""Characters of the latest messages that stay whole, while a run goes on and afterwards."""


@dataclass(frozen=True, slots=True)
class View:
    """Whose steps are looked at, and how much of them."""

    run_id: str
    level: Level
    members: Sequence[str] = ()
    """The agents of the team."""
    live: bool = False
    """Whether the run goes on: what was just written stays whole for a while, and does not jump."""
    again: bool = True
    """Whether one that has ended can be run again from its steps."""


@dataclass(slots=True)
class Bubble:
    """What one agent says and does in a row; no agent: what stands between."""

    number: int
    agent: str
    parts: list[Step] = field(default_factory=list)

    @property
    def recipient(self) -> str:
        """Whom its words are for; empty as long as there are none."""
        heard = map(attrgetter("recipient"), pick_kind(self.parts, MessageSent))
        return next(heard, "")


def group(steps: Sequence[Step]) -> list[Bubble]:
    """The steps by who speaks, in their order."""
    bubbles: list[Bubble] = []
    for step in steps:
        speaker = kind_of(step).speaker(step)
        if not bubbles or not _goes_on(bubbles[-1], speaker, step):
            bubbles.append(Bubble(len(bubbles), speaker or ""))
        bubbles[-1].parts.append(step)
    return bubbles


def _goes_on(bubble: Bubble, speaker: str | None, step: Step) -> bool:
    """Whether the step belongs to the bubble; words for another begin one of their own."""
    if isinstance(step, MessageSent) and bubble.recipient not in ("", step.recipient):
        return False
    return speaker is None or speaker == bubble.agent


def select(bubbles: Sequence[Bubble], level: Level) -> list[Bubble]:
    """What this level shows of them."""
    if level == "everything":
        return list(bubbles)
    shown = [
        Bubble(bubble.number, bubble.agent, list(filterfalse(_is_small_print, bubble.parts)))
        for bubble in bubbles
    ]
    return list(filter(attrgetter("parts"), shown))


def _is_small_print(step: Step) -> bool:
    return kind_of(step).is_small_print(step)


def find_end(bubbles: Sequence[Bubble], most: int) -> tuple[int, list[Bubble]]:
    """The last bubbles with so many steps or a few more, and how many steps are before them."""
    count = sum(len(bubble.parts) for bubble in bubbles)
    hidden = max(0, count - most) // _MOVES * _MOVES
    left, end = hidden, []
    for bubble in bubbles:
        if parts := bubble.parts[left:]:
            end.append(Bubble(bubble.number, bubble.agent, parts))
        left = max(0, left - len(bubble.parts))
    return hidden, end


def draw_transcript(steps: Sequence[Step], view: View) -> None:
    """The end of what was said and done, as far as this level shows it; earlier steps on demand."""
    key = f"steps-of-{view.run_id}"
    bubbles = select(group(steps), view.level)
    hidden, end = find_end(bubbles, st.session_state.get(key, PAGE))
    with st.container(key=f"transcript-{view.run_id}", gap="small"):
        if hidden:
            label = f"Earlier ({figures.count(hidden, 'step')})"
            icon = ":material/expand_less:"
            st.button(
                label, f"{key}-more", icon=icon, type="tertiary", on_click=_show_more, args=(key,)
            )
        if view.live and not end:
            st.caption("Nothing was done yet.")
        whole = _find_whole(end, _WHOLE[view.live])
        for bubble in end:
            _draw_bubble(bubble, view, whole)


def _show_more(key: str) -> None:
    st.session_state[key] = st.session_state.get(key, PAGE) + PAGE


def _find_whole(bubbles: Sequence[Bubble], characters: int) -> set[str]:
    """The last messages, as many as have so many characters in all."""
    said: list[MessageSent] = []
    for bubble in bubbles:
        said += pick_kind(bubble.parts, MessageSent)
    found: set[str] = set()
    room = characters
    for message in reversed(said):
        room -= len(message.content)
        if room < 0:
            break
        found.add(message.id)
    return found


def _draw_bubble(bubble: Bubble, view: View, whole: Collection[str]) -> None:
    if not bubble.agent:
        _draw_parts(bubble, view, whole)
        return
    colour = voices.find_colour(bubble.agent, view.members)
    with st.container(key=f"voice-{colour}-{view.run_id}-{bubble.number}", gap="xsmall"):
        st.caption(_head(bubble))
        _draw_parts(bubble, view, whole)


def _draw_parts(bubble: Bubble, view: View, whole: Collection[str]) -> None:
    for part in bubble.parts:
        if isinstance(part, MessageSent) and part.id in whole and not phase_of(part):
            draw_message(part, view.level, whole=True)
        else:
            kind_of(part).draw(part, view.level)
        if view.again and not view.live:
            again.draw_ways(part, view.run_id, with_calls=view.level == "everything")


def _head(bubble: Bubble) -> str:
    """The mark, who speaks, and to whom."""
    mark, name = voices.make_mark(bubble.agent), wording.name_agent(bubble.agent)
    to = ""
    if bubble.recipient:
        to = f" to {markdown.literal(bubble.recipient)}"
    return f"**{markdown.literal(mark)}** **{markdown.literal(name)}**{to}"
