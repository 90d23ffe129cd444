"""What agents say to one another and to the person."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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
from agentkit.messages import calls_of, functions_of
from agentkit.options import END, PLAN, Moment, read_choice
from agentkit.teams.approval import AGREED
from agentkit.teams.ending import is_ending, without_ending
from agentkit.ui.steps import wording
from agentkit.ui.steps.kind import Kind, Remark, cut
from agentkit.ui.steps.step import Asked, Chosen, Level, Steps
from agentkit.ui.steps.tools import call_line
from agentkit.ui.steps.words import draw_growing, draw_words
from agentkit.ui.text import markdown
from agentkit.ui.text.listing import draw_runnable, draw_text

_ENDED = ":material/flag: You ended it"
_DOES = {"json": "Working on it", PLAN: "Carrying out the plan"}
"""What goes on after the person has agreed to a draft, by its language; else code runs."""
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
        text = without_ending(event.content)
        is_inner = event.extra.get("inner")
        if not is_inner:
            steps.repeat(text)
        hands_on = event.role == "tool" or event.sender == steps.did or _is_copy(event, steps)
        steps.did = ""
        is_seen = text in steps.outer or event.extra.get("silent")
        if hands_on or is_seen:
            return
        is_writers = steps.live and event.sender == steps.writer
        if is_writers and is_ending(event.content):
            steps.held = event
            return
        steps.put(event.id, event)

    def draw(self, step: MessageSent, level: Level) -> None:
        """Its words; a night or a day of a game as a heading above what happens in it."""
        if begins := phase_of(step):
            _draw_phase(begins)
        else:
            draw_message(step, level)

    def speaker(self, step: MessageSent) -> str:
        """The sender's; a new phase of a game is nobody's."""
        return "" if phase_of(step) else step.sender

    def is_small_print(self, step: MessageSent) -> bool:
        """Without its code, which is shown where it runs, nothing may be left."""
        return not without_code(step.content)


class Speaker(Remark[SpeakerSelected]):
    """A group gave somebody the floor."""

    def enter(self, event: SpeakerSelected, seq: int, steps: Steps) -> None:
        """Show it, with what the model said that chose."""
        steps.go_on()
        why, steps.chooser_said = steps.chooser_said.strip(), ""
        says_more = why != "" and why.strip("*\"'`. ") != event.speaker
        if says_more and event.method == "auto":
            steps.put(seq, Chosen(event, why))
            return
        super().enter(event, seq, steps)

    def line(self, step: SpeakerSelected) -> str:
        """Whom, and how."""
        how = wording.CHOSEN.get(step.method, f"by {markdown.literal(step.method)}")
        who = f"**{markdown.literal(step.speaker)}** speaks"
        if step.speaker == wording.PERSON:
            who, how = "**You** have the floor", _LAST_WORD.get(step.method, how)
        return f":material/record_voice_over: {who}, {how} · message {step.round}"

    def speaker(self, step: SpeakerSelected) -> str | None:
        """No one's, unless the same one goes on."""
        return None if self.is_small_print(step) else ""

    def is_small_print(self, step: SpeakerSelected) -> bool:
        """Whether the same one goes on."""
        return step.method in ("function", "custom") and step.speaker != wording.PERSON


_SPEAKER = Speaker()


class Choice(Kind[Chosen]):
    """A group gave somebody the floor, and the model that chose said why."""

    def line(self, step: Chosen) -> str:
        """Whom, how, and why."""
        return f"{_SPEAKER.line(step.event)} · “{markdown.literal(cut(step.why))}”"


class ChatEnd(Remark[ChatEnded]):
    """A chat between two is over."""

    def enter(self, event: ChatEnded, seq: int, steps: Steps) -> None:
        """Show it, in place of the note by which a group said the same right before.

        The inner chat that chose a speaker is left out: who was chosen is a step of its own.
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
        why = wording.describe_end(step.end) if step.end else step.reason
        return f":material/flag: {pair} are done: {markdown.literal(why)}"

    def is_small_print(self, step: ChatEnded) -> bool:
        """Always."""
        return True


class Request(Kind[HumanInputRequested]):
    """The run asks the person."""

    def enter(self, event: HumanInputRequested, seq: int, steps: Steps) -> None:
        """Begin a question."""
        steps.put(event.request_id, Asked(event))
        if event.language == PLAN:
            steps.hold_plan(held=True)


class Reply(Kind[HumanAnswered]):
    """The person answered."""

    def enter(self, event: HumanAnswered, seq: int, steps: Steps) -> None:
        """Put it to its question."""
        asked = steps.shown.get(event.request_id)
        if isinstance(asked, Asked):
            steps.put(event.request_id, Asked(asked.request, event))
            steps.did = asked.request.agent
            if asked.request.language == PLAN:
                steps.hold_plan(held=False)


class Question(Kind[Asked]):
    """A question to the person with their answer."""

    def speaker(self, step: Asked) -> None:
        """Of whoever speaks."""

    def line(self, step: Asked) -> str:
        """Both."""
        if step.request.moment:
            return _part_line(step)
        who = markdown.literal(wording.asker(step.request))
        prompt = markdown.prose(wording.of_request(step.request))
        question = f":material/contact_support: {who} asked: {prompt}"
        if step.answered is None:
            return question
        if step.answered.waited_s is not None:
            return f"{question} ({wording.of_patience(step.answered.waited_s)})"
        said = _describe_answer(step.request, step.answered.text)
        return f"{question} **You:** {markdown.literal(said or 'nothing')}"

    def draw(self, step: Asked, level: Level) -> None:
        """The line; what did not run is shown nowhere else."""
        if not (step.request.draft and _is_rejected(step)):
            super().draw(step, level)
            return
        with st.expander(self.line(step), type="compact"):
            _draw_draft(step.request)

    def describe_doing(self, step: Asked) -> str:
        """What goes on once the person has answered; a tool says itself that it runs."""
        if not step.answered:
            return wording.DOING["asks"]
        if not step.request.draft or _is_rejected(step):
            return "Working on it"
        return _DOES.get(step.request.language, "Running the code")


def _draw_draft(request: HumanInputRequested) -> None:
    if request.language == PLAN:
        from agentkit.teams.planning.review import list_steps  # loads how plans are read

        draw_text(list_steps(request.draft))
    else:
        draw_runnable(request.draft, request.language)


def _part_line(step: Asked) -> str:
    """What the person said to the agents, or did instead."""
    to, answered = markdown.literal(wording.name_agent(step.request.to)), step.answered
    if answered is None:
        return f":material/contact_support: {to} waits for you"
    if answered.waited_s is not None:
        waited = wording.of_patience(answered.waited_s)
        return f":material/hourglass_disabled: {waited.capitalize()}; it went on without you"
    said = f":material/person: **You:** {markdown.literal(answered.text)}"
    return {"": _SILENCE[step.request.moment], END: _ENDED}.get(answered.text, said)


def _describe_answer(request: HumanInputRequested, answer: str) -> str:
    """What the person chose, and why, or what else they said."""
    if not request.options:
        return answer
    choice, rest = read_choice(answer)
    decided = wording.of_option(choice)
    if request.draft:
        decided = wording.DECIDED.get(choice, choice)
        if choice == "edit":
            rest = ""
    return f"{decided}: {rest}" if rest else decided


def _is_rejected(asked: Asked) -> bool:
    return asked.answered is not None and read_choice(asked.answered.text)[0] not in AGREED


def excerpt(said: MessageSent) -> str:
    """The message without its code, which is shown where it runs; cut when it is long."""
    text = without_code(said.content)
    shown = cut(text)
    if shown == text:
        return markdown.prose(text)
    return markdown.literal(shown)


def without_code(text: str) -> str:
    """What stands around the blocks of code."""
    return _CODE_BLOCK.sub("", text).strip()


def is_whole(said: MessageSent, level: Level) -> bool:
    """Whether this level shows all of a message, its code and its calls included."""
    if level == "everything":
        return True
    return not functions_of(said.extra) and without_code(said.content) == said.content.strip()


_READ: dict[Level, Callable[[str], str]] = {
    "answer": without_code,
    "calls": without_code,
    "everything": str,
}
"""What is read of a message."""


def draw_message(said: MessageSent, level: Level, *, whole: bool = False) -> None:
    """The words, a long text folded unless it is to be `whole`, and how the message ended."""
    text = _READ[level](said.content)
    if whole:
        draw_growing(text)
    else:
        draw_words(text, f"whole-{said.id}", level)
    if said.status in wording.END:
        st.caption(f":material/info: {wording.END[said.status]}")
    if level == "everything":
        for call in functions_of(said.extra):
            st.caption(f"asks for `{call_line(call['name'], call['arguments'])}`")


def phase_of(said: MessageSent) -> Mapping[str, Any]:
    """The night or the day of a game that begins with the message; empty for others."""
    match said.extra.get("metadata"):
        case {"begins": {"phase": "night" | "day"} as begins}:
            return dict(begins)
    return {}


def _is_copy(said: MessageSent, steps: Steps) -> bool:
    """Whether it hands on what another asked for, as a group does to its other members."""
    first, *_ = [*calls_of(said.extra), {}]
    key = str(first.get("id", ""))
    return bool(key) and steps.asked_by.setdefault(key, said.sender) != said.sender


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
    if len(names) > 1:
        return f"{', '.join(names[:-1])} and {names[-1]}"
    return "".join(names)
