"""Going through a finished run step by step, forward and back, from what is stored: nothing is done
or paid for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import streamlit as st

from agentkit import events
from agentkit.core.given import pick_kind
from agentkit.events import Recorded
from agentkit.ledger import queries
from agentkit.ui.shared import state
from agentkit.ui.steps.registry import kind_of
from agentkit.ui.steps.step import Step
from agentkit.ui.steps.turns import steps

_HEARD, _RUNS_KEPT = "runs-stepped-through", 2
_MOMENTS = (
    *(events.MessageSent, events.ModelReplied, events.Retrieved, events.ToolReturned),
    *(events.CodeRan, events.PlanMade, events.StepDone, events.SpeakerSelected),
    *(events.HumanInputRequested, events.HumanAnswered, events.Compressed, events.Noted),
    *(events.RunFinished, events.RunFailed, events.RunStopped),
)
"""Events after which there is something new to see."""


@dataclass(frozen=True, slots=True)
class Stepping:
    """A run with the moments at which one can stop."""

    heard: Sequence[Recorded]
    moments: Sequence[int]
    """The numbers of events before and at each moment, in order."""

    @classmethod
    def through(cls, heard: Sequence[Recorded]) -> Stepping:
        """All of a run."""
        places = enumerate(heard, start=1)
        return cls(heard, [n for n, one in places if isinstance(one.event, _MOMENTS)])

    def at(self, moment: int) -> list[Step]:
        """The steps as they stood then; moments count from 1."""
        return steps(self.heard[: self.moments[moment - 1]])

    def answer(self, moment: int) -> str:
        """What had been answered then; empty before that."""
        heard = map(attrgetter("event"), self.heard[: self.moments[moment - 1]])
        said = pick_kind(heard, events.MessageSent)
        own = [
            one.content for one in said if one.role == "assistant" and not one.extra.get("inner")
        ]
        return own[-1] if own else ""

    def describe(self, moment: int) -> str:
        """What happened then, in Markdown; empty where that has no line."""
        event = self.heard[self.moments[moment - 1] - 1].event
        return kind_of(event).line(event)


def choose_steps(run_id: str) -> list[Step] | None:
    """The way to go through a finished run, and its steps up to there; None for all of them."""
    if draw_switch(run_id):
        return draw_moments(run_id)
    return None


def draw_switch(run_id: str) -> bool:
    """Whether one goes through the run."""
    return st.toggle(
        "Step through",
        key=_key("on", run_id),
        help="Forward and back through what was done, from what is stored; it costs nothing.",
    )


def draw_moments(run_id: str) -> list[Step] | None:
    """The moments of the run, to go to one, and its steps up to there; None where it has hardly
    any.
    """
    stepping = _read(run_id)
    count, key = len(stepping.moments), _key("at", run_id)
    if count < 2:
        return None
    moment = min(max(int(st.session_state.get(key, 1)), 1), count)
    st.session_state[key] = moment
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _draw_move("Back", ":material/arrow_back:", run_id, moment - 1, moment == 1)
        _draw_move("Forward", ":material/arrow_forward:", run_id, moment + 1, moment == count)
        st.slider("Step", 1, count, key=key, label_visibility="collapsed")
    told = stepping.describe(moment)
    st.caption(f"{moment} of {count}{f' · {told}' if told else ''}")
    return stepping.at(moment)


def find_answer(run_id: str) -> str:
    """What had been answered at the moment that is looked at."""
    stepping, moment = _read(run_id), st.session_state.get(_key("at", run_id))
    return stepping.answer(moment) if moment else ""


def _draw_move(label: str, icon: str, run_id: str, to: int, disabled: bool) -> None:
    key = _key(label.lower(), run_id)
    st.button(label, key=key, icon=icon, disabled=disabled, on_click=_go, args=(run_id, to))


def _go(run_id: str, to: int) -> None:
    st.session_state[_key("at", run_id)] = to


def _read(run_id: str) -> Stepping:
    """The run, which does not change: the last ones looked at are kept."""
    known: dict[str, Stepping] = st.session_state.setdefault(_HEARD, {})
    if run_id not in known:
        ledger, owner = state.workspace().ledger, state.owner()
        heard = queries.events(ledger, owner, run_id, with_requests=False)
        known[run_id] = Stepping.through(heard)
        for old in list(known)[:-_RUNS_KEPT]:
            del known[old]
    return known[run_id]


def _key(what: str, run_id: str) -> str:
    return f"stepping-{what}-{run_id}"
