"""What agents say to one another and to the person."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from agentkit.events import (
    ChatEnded,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    Noted,
    SpeakerSelected,
)
from agentkit.messages import functions_of
from agentkit.options import END, Moment, chosen
from agentkit.teams.approval import AGREED
from agentkit.teams.ending import without_ending
from agentkit.ui.steps import wording
from agentkit.ui.steps.kind import Kind, Remark, cut
from agentkit.ui.steps.step import Asked, Level, Steps
from agentkit.ui.steps.tools import call_line
from agentkit.ui.text import markdown
from agentkit.ui.text.listing import draw_runnable

_SHORT = 60  # characters of a message that stands beside who said it: a vote, a yes
_ENDED = ":material/flag: You ended it"
_SILENCE: dict[Moment, str] = {
    "": "",
    "turn": ":material/skip_next: You let them go on",
    "close": _ENDED,
}
"""What a person did who said nothing, by the moment."""
_LAST_WORD = {"custom": "before it is over"}
"""How a group gave the floor to the person, where it is not as for others."""
_CODE_BLOCK = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)


class Message(Kind[MessageSent]):
    """Somebody said something among the agents."""

    def enter(self, event: MessageSent, seq: int, steps: Steps) -> None:
        """Show it, unless it only hands on a result, or repeats the question or the answer."""
        hands_on = event.role == "tool" or event.sender == steps.did
        steps.did = ""
        repeats = without_ending(event.content) in steps.outer
        if not (hands_on or repeats or event.extra.get("silent")):
            steps.put(event.id, event)

    def draw(self, step: MessageSent, level: Level) -> None:
        """A quotation; a night or a day of a game as a heading above what happens in it."""
        metadata = step.extra.get("metadata")
        begins = metadata.get("begins") if isinstance(metadata, Mapping) else None
        if isinstance(begins, Mapping) and begins.get("phase") in wording.PHASES:
            _draw_phase(begins)
        else:
            _draw_message(step, whole=level == "everything")

    def is_small_print(self, step: MessageSent) -> bool:
        """Without its code, which is shown where it runs, nothing may be left."""
        return not excerpt(step)


class Speaker(Remark[SpeakerSelected]):
    """A group gave somebody the floor."""

    def line(self, step: SpeakerSelected) -> str:
        """Whom, and how."""
        how = wording.CHOSEN.get(step.method, f"by {markdown.literal(step.method)}")
        who = f"**{markdown.literal(step.speaker)}** speaks"
        if step.speaker == wording.PERSON:
            who, how = "**You** have the floor", _LAST_WORD.get(step.method, how)
        return f":material/record_voice_over: {who}, {how} · message {step.round}"

    def is_small_print(self, step: SpeakerSelected) -> bool:
        """Whether the same one goes on."""
        return step.method in ("function", "custom") and step.speaker != wording.PERSON


class ChatEnd(Remark[ChatEnded]):
    """A chat between two is over."""

    def enter(self, event: ChatEnded, seq: int, steps: Steps) -> None:
        """Show it, in place of the note by which a group said the same right before.

        The inner chat that chose a speaker is none: who it was is a step of its own.
        """
        if event.silent:
            return
        last = next(reversed(steps.shown), "")
        before = steps.shown.get(last)
        if isinstance(before, Noted) and before.end is not None and before.end == event.end:
            del steps.shown[last]
        super().enter(event, seq, steps)

    def line(self, step: ChatEnded) -> str:
        """Who, and why."""
        pair = f"{markdown.literal(step.sender)} and {markdown.literal(step.recipient)}"
        why = wording.ended(step.end) if step.end else step.reason
        return f":material/flag: {pair} are done: {markdown.literal(why)}"

    def is_small_print(self, step: ChatEnded) -> bool:
        """Always."""
        return True


class Request(Kind[HumanInputRequested]):
    """The run asks the person."""

    def enter(self, event: HumanInputRequested, seq: int, steps: Steps) -> None:
        """Begin a question."""
        steps.put(event.request_id, Asked(event))


class Reply(Kind[HumanAnswered]):
    """The person answered."""

    def enter(self, event: HumanAnswered, seq: int, steps: Steps) -> None:
        """Put it to its question."""
        asked = steps.shown.get(event.request_id)
        if isinstance(asked, Asked):
            steps.put(event.request_id, Asked(asked.request, event))
            steps.did = asked.request.agent


class Question(Kind[Asked]):
    """A question to the person with their answer."""

    def line(self, step: Asked) -> str:
        """Both."""
        if step.request.moment:
            return _part_line(step)
        who, prompt = markdown.literal(step.request.agent), markdown.prose(step.request.prompt)
        question = f":material/contact_support: {who} asked: {prompt}"
        if step.answered is None:
            return question
        if step.answered.waited_s is not None:
            return f"{question} ({wording.of_patience(step.answered.waited_s)})"
        said = _said(step.request, step.answered.text)
        return f"{question} **You:** {markdown.literal(said or 'nothing')}"

    def draw(self, step: Asked, level: Level) -> None:
        """The line; what did not run is shown nowhere else."""
        if not (step.request.draft and _rejected(step)):
            super().draw(step, level)
            return
        with st.expander(self.line(step), type="compact"):
            draw_runnable(step.request.draft, step.request.language)

    def doing(self, step: Asked) -> str:
        """What goes on once the person has answered; a tool says itself that it runs."""
        if not step.answered:
            return wording.DOING["asks"]
        runs_code = step.request.draft and step.request.language != "json" and not _rejected(step)
        return "Running the code" if runs_code else "Working on it"


def _part_line(step: Asked) -> str:
    """What the person said to the agents, or did instead."""
    to, answered = markdown.literal(wording.called(step.request.to)), step.answered
    if answered is None:
        return f":material/contact_support: {to} waits for you"
    if answered.waited_s is not None:
        waited = wording.of_patience(answered.waited_s)
        return f":material/hourglass_disabled: {waited.capitalize()}; it went on without you"
    said = f":material/person: **You:** {markdown.literal(answered.text)}"
    return {"": _SILENCE[step.request.moment], END: _ENDED}.get(answered.text, said)


def _said(request: HumanInputRequested, answer: str) -> str:
    """What the person chose, and why, or what else they said."""
    if not request.options:
        return answer
    choice, rest = chosen(answer)
    decided = wording.of_option(choice)
    if request.draft:
        decided = wording.DECIDED.get(choice, choice)
        rest = "" if choice == "edit" else rest
    return f"{decided}: {rest}" if rest else decided


def _rejected(asked: Asked) -> bool:
    return asked.answered is not None and chosen(asked.answered.text)[0] not in AGREED


def excerpt(said: MessageSent) -> str:
    """The message without its code, which is shown where it runs; cut when it is long."""
    text = without_code(said.content)
    shown = cut(text)
    return markdown.prose(text) if shown == text else markdown.literal(shown)


def without_code(text: str) -> str:
    """What stands around the blocks of code."""
    return _CODE_BLOCK.sub("", text).strip()


def _draw_message(said: MessageSent, *, whole: bool) -> None:
    text = markdown.prose(said.content) if whole else excerpt(said)
    beside = len(text) <= _SHORT and "\n" not in text
    with st.container(
        horizontal=beside, vertical_alignment="center", gap="xsmall" if beside else None
    ):
        sender, recipient = map(wording.called, (said.sender, said.recipient))
        who = f"**{markdown.literal(sender)}** to {markdown.literal(recipient)}"
        who += f" · {wording.END[said.status]}" if said.status in wording.END else ""
        width: Any = "content" if beside else "stretch"
        st.caption(f":material/forum: {who}", width=width)
        if text:
            st.markdown(text, width=width)
        for call in functions_of(said.extra) if whole else ():
            st.caption(f"asks for `{call_line(call['name'], call['arguments'])}`")


def _draw_phase(begins: Mapping[str, Any]) -> None:
    icon = ":material/bedtime:" if begins["phase"] == "night" else ":material/light_mode:"
    st.markdown(f"###### {icon} {wording.PHASES[begins['phase']]} {begins['day']}")
    alive = f"Alive: {_names(begins['alive'])}."
    if begins["phase"] == "night":
        text = f"{alive} Everybody goes to sleep."
    else:
        died = begins.get("died") or ()
        text = f"{_names(died) if died else 'Nobody'} died in the night. {alive}"
    st.caption(markdown.literal(text))


def _names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
