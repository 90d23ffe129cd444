"""How one kind of step is told: what becomes of its events, its line, its detail, what goes on."""

from __future__ import annotations

from typing import Generic, TypeVar

import streamlit as st

from agentkit.ui.steps.step import Level, Steps

S = TypeVar("S")
_SHOWN = 300  # characters of a message between agents, or of a passage


class Kind(Generic[S]):
    """An event without a step: it enters nowhere and draws nothing. Kinds of steps override their
    part.
    """

    def enter(self, event: S, seq: int, steps: Steps) -> None:
        """Take the event, the run's `seq`-th, into the steps."""

    def line(self, step: S) -> str:
        """The line for it, in Markdown; empty for an event without a step."""
        return ""

    def draw(self, step: S, level: Level) -> None:
        """Draw it as one small line, what belongs to it to unfold."""
        if line := self.line(step):
            st.caption(line)

    def describe_doing(self, step: S) -> str:
        """What goes on while this is the latest step, in words that do not change at every tick."""
        return "Working on the answer"

    def speaker(self, step: S) -> str | None:
        """In whose bubble it stands: an agent's, no one's (empty), or of whoever speaks (None)."""
        return ""

    def is_small_print(self, step: S) -> bool:
        """Whether it is shown at the level of everything alone."""
        return False


class Remark(Kind[S]):
    """An event that is a step by itself."""

    def enter(self, event: S, seq: int, steps: Steps) -> None:
        """Show it in its place."""
        steps.put(seq, event)  # type: ignore[arg-type]  # registered for events only


def cut(text: str) -> str:
    """The text, or its first words when it is long."""
    if len(text) <= _SHOWN:
        return text
    return text[:_SHOWN].rsplit(" ", 1)[0] + " …"
