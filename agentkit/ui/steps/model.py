"""What models are asked, what they reply and think, and how histories are made to fit them."""

from __future__ import annotations

import time

import streamlit as st

from agentkit.events import (
    Compressed,
    ModelCalled,
    ModelReplied,
    ReplyParsed,
    Thinking,
    ThinkingDelta,
    TokenDelta,
)
from agentkit.llm.calls.room import STRATEGY
from agentkit.teams.ending import without_ending
from agentkit.ui.steps import request, wording
from agentkit.ui.steps.kind import Kind, Remark, cut
from agentkit.ui.steps.step import Level, Steps, Writing
from agentkit.ui.steps.words import draw_growing
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_text

_FOR_PROGRAMS = ("{", "[", "<", "```json")
_WORDS_OF_CONSTANTS = ((None, "nothing"), (True, "yes"), (False, "no"))
"""How replies begin that a parser reads."""


class Call(Kind[ModelCalled]):
    """A request goes out to a model."""

    def enter(self, event: ModelCalled, seq: int, steps: Steps) -> None:
        """Show it, if it is one for a text."""
        if event.purpose == "chat":
            steps.put(event.call_id, event)
            if not wording.is_chooser(event.agent):
                steps.write(event.call_id, event.agent)

    def speaker(self, step: ModelCalled) -> str:
        """Of the agent, unless it chooses who speaks."""
        if wording.is_chooser(step.agent):
            return ""
        return step.agent

    def line(self, step: ModelCalled) -> str:
        """Who asks which model."""
        who = markdown.literal(wording.name_agent(step.agent))
        return f":material/edit_note: {who} asks {markdown.literal(step.model)}"

    def draw(self, step: ModelCalled, level: Level) -> None:
        """The line; with everything, what was sent, to unfold."""
        super().draw(step, level)
        if level == "everything":
            request.draw_folded(step)

    def describe_doing(self, step: ModelCalled) -> str:
        """Who waits for it."""
        return wording.thinks(step.agent)

    def is_small_print(self, step: ModelCalled) -> bool:
        """Always."""
        return True


class Replied(Kind[ModelReplied]):
    """A call ended."""

    def enter(self, event: ModelReplied, seq: int, steps: Steps) -> None:
        """Show it in the place of the request."""
        if event.purpose != "chat":
            return
        steps.put(event.call_id, event)
        steps.end_writing(event.call_id, whole=event.status in ("ok", "cached"))
        if wording.is_chooser(event.agent):
            steps.chooser_said = event.text

    def speaker(self, step: ModelReplied) -> str:
        """Of the agent, unless it chooses who speaks."""
        if wording.is_chooser(step.agent):
            return ""
        return step.agent

    def line(self, step: ModelReplied) -> str:
        """What it took, or why there is no reply."""
        name = markdown.literal(wording.name_agent(step.agent))
        who = f":material/edit_note: {name}, {markdown.literal(step.model)}"
        if step.status == "failed":
            error = markdown.literal(cut(wording.without_names(step.error)))
            return f"{who}: no reply at attempt {step.attempt}. {error}"
        usage = step.usage
        about = figures.about(usage)
        prompt, completion = figures.count(usage.prompt), figures.count(usage.completion)
        took = f"{about}{prompt} tokens in, {completion} out, {figures.seconds(step.seconds)}"
        return f"{who}: {took}{_end(step)}"

    def draw(self, step: ModelReplied, level: Level) -> None:
        """The line; to unfold: what the model thought before, and with everything what was sent."""
        if step.thinking:
            with st.expander(self.line(step), type="compact"):
                st.caption(thought(step.thinking))
                st.markdown(markdown.prose(step.thinking.text))
        else:
            super().draw(step, level)
        if level == "everything":
            request.draw_folded(step)

    def describe_doing(self, step: ModelReplied) -> str:
        """That it waits, if it is tried again."""
        if step.retry_in_s is None:
            return super().describe_doing(step)
        return wording.DOING["retries"]

    def is_small_print(self, step: ModelReplied) -> bool:
        """Unless the reply is not whole."""
        return step.status != "failed" and step.end not in wording.CUT


class Word(Kind[TokenDelta]):
    """A piece of a reply came."""

    def enter(self, event: TokenDelta, seq: int, steps: Steps) -> None:
        """Put it to what is written."""
        if writing := steps.find_writing(event.call_id):
            writing.pieces.append(event.text)


class Thought(Kind[ThinkingDelta]):
    """A piece of what a model thinks came."""

    def enter(self, event: ThinkingDelta, seq: int, steps: Steps) -> None:
        """Put it to what was thought, with what had been taken for words."""
        if writing := steps.find_writing(event.call_id):
            if event.was_text:
                writing.thoughts += writing.pieces
                writing.pieces.clear()
            writing.thoughts.append(event.text)


class Written(Kind[Writing]):
    """An agent writes to others."""

    def speaker(self, step: Writing) -> str:
        """Its own."""
        return step.agent

    def draw(self, step: Writing, level: Level) -> None:
        """Its words so far; of what is for programs, how much there is."""
        text = step.text
        if not text.strip():
            st.caption(f":material/more_horiz: thinking, {_count_passed(step)} s")
        elif level != "everything" and text.lstrip().startswith(_FOR_PROGRAMS):
            st.caption(f":material/more_horiz: writing, {figures.count(len(text), 'character')}")
        else:
            draw_growing(without_ending(text))

    def describe_doing(self, step: Writing) -> str:
        """Who writes, or is about to."""
        name = wording.name_agent(step.agent)
        if step.pieces:
            return f"{name} is writing"
        return wording.thinks(step.agent)


class Parsed(Remark[ReplyParsed]):
    """An agent's parser read a reply."""

    def line(self, step: ReplyParsed) -> str:
        """That it could not."""
        if step.ok:
            return ""
        who = markdown.literal(step.agent)
        return f":material/rule: {who}: reply {step.attempt} could not be read"

    def draw(self, step: ReplyParsed, level: Level) -> None:
        """What the others do not hear; or that, and why, it could not be read."""
        if step.ok:
            _draw_fields(step)
        elif level == "everything":
            st.caption(f"{self.line(step)}: {markdown.literal(step.error)}")
        else:
            super().draw(step, level)

    def speaker(self, step: ReplyParsed) -> str:
        """The agent's."""
        return step.agent

    def is_small_print(self, step: ReplyParsed) -> bool:
        """Where it could be read."""
        return step.ok


class Shortened(Remark[Compressed]):
    """A history was made shorter, or not."""

    def line(self, step: Compressed) -> str:
        """From how much to how much, and what that took."""
        took = figures.count(step.tokens_spent, "token")
        spent = f"; {took} spent" if step.tokens_spent else ""
        if not step.ok:
            error = markdown.literal(cut(step.error))
            return f":material/error: The chat was not shortened: {error}{spent}"
        before = figures.count(step.messages_before, "message")
        messages = f"{before} to {figures.count(step.messages_after)}"
        about = figures.about(step)
        after = figures.count(step.tokens_after, "token")
        tokens = f"{about}{figures.count(step.tokens_before)} to {after}"
        shorter = figures.count(step.results_shortened, "long result")
        results = ""
        if step.results_shortened:
            results = f", {shorter} cut in the middle"
        is_guard = step.strategy == STRATEGY
        what = "Sent less, to fit the model's window" if is_guard else "Shortened the chat"
        return f":material/compress: {what}: {messages}, {tokens}{results}{spent}"

    def draw(self, step: Compressed, level: Level) -> None:
        """The line; the summary to unfold."""
        if not step.summary:
            super().draw(step, level)
            return
        with st.expander(self.line(step), type="compact"):
            draw_text(step.summary)


def thought(thinking: Thinking) -> str:
    """How long a model thought, and how much."""
    about = figures.about(thinking)
    tokens = f"{about}{figures.count(thinking.tokens, 'token')}"
    how_long = ""
    if thinking.seconds is not None:
        how_long = f" for {figures.seconds(thinking.seconds)}"
    return f"Thought{how_long} · {tokens}"


def _count_passed(writing: Writing) -> int:
    """Seconds since the model was asked."""
    return int(max(0, time.time() - writing.since))


def _end(event: ModelReplied) -> str:
    if event.status == "stopped":
        return " (stopped)"
    if event.end in wording.CUT:
        return f" (cut: {wording.CUT[event.end]})"
    return ""


def _draw_fields(parsed: ReplyParsed) -> None:
    """What an agent keeps to itself, or tells only the program: fields that the others do not
    hear.
    """
    fields = parsed.fields
    if not isinstance(fields, dict):
        return
    unheard: dict[str, str] = {}
    for name, value in fields.items():
        text = _in_words(value)
        if text.strip() and text != parsed.content:
            unheard[name] = text
    if not unheard:
        return
    with st.container(gap=None):
        who = markdown.literal(parsed.agent)
        st.caption(f":material/psychology: **{who}**, unheard by the others")
        for name, text in unheard.items():
            st.markdown(f"{markdown.literal(name)}: {markdown.literal(text)}")


def _in_words(value: object) -> str:
    """A value of a reply in one line, without the signs of JSON."""
    if isinstance(value, dict):
        told = []
        for name, inner in value.items():
            if inner not in ("", None):
                told.append(f"{name}: {_in_words(inner)}")
        return ", ".join(told)
    if isinstance(value, list):
        return "; ".join(map(_in_words, value))
    for constant, word in _WORDS_OF_CONSTANTS:
        if value is constant:
            return word
    return str(value)
