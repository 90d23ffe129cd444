"""What was done for a stored answer, who spoke to whom, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from agentkit.errors import NotFound
from agentkit.events import events_of
from agentkit.ledger import StoredMessage, queries
from agentkit.ledger.queries import Totals
from agentkit.ui.composer import choices
from agentkit.ui.shared import state
from agentkit.ui.steps import stepping
from agentkit.ui.steps.flow import Flow, draw_flow
from agentkit.ui.steps.step import Level, Said, Step
from agentkit.ui.steps.transcript import View, draw_transcript
from agentkit.ui.steps.turns import Turn, steps
from agentkit.ui.text import figures, markdown

_FOUND = "passages-found"
_READ, _RUNS_KEPT = "steps-read", 4


@dataclass(frozen=True, slots=True)
class Took:
    """What an answer took, in all and by agent."""

    whole: Totals
    by_agent: Mapping[str, Totals] = field(default_factory=dict)


NOTHING = Took(Totals())


def read_totals(answers: Sequence[str]) -> dict[str, Took]:
    """What each of these answers took, by its id, but for those that took nothing."""
    ledger, owner = state.workspace().ledger, state.owner()
    whole = queries.of_messages(ledger, owner, answers)
    by_agent = queries.of_agents(ledger, owner, answers)
    return {answer: Took(totals, by_agent.get(answer, {})) for answer, totals in whole.items()}


def count_passages(turns: Sequence[Turn]) -> None:
    """What was found for stored turns does not change: each is counted once in a session."""
    known: dict[str, int] = st.session_state.setdefault(_FOUND, {})
    if unknown := [turn.run_id for turn in turns if turn.run_id not in known]:
        known |= queries.passages(state.workspace().ledger, state.owner(), unknown)


def has_found(turn: Turn) -> bool:
    """Whether any passage was found for a turn that was counted."""
    known: dict[str, int] = st.session_state[_FOUND]
    return known[turn.run_id] > 0


def draw_steps(turn: Turn, took: Took, *, unfolded: bool) -> None:
    """What was done; `unfolded` where the work of those who had finished is all there is."""
    level = choices.level()
    if level == "answer":
        return
    folded = st.expander(
        _describe_steps(turn, took.whole),
        type="compact",
        icon=":material/account_tree:",
        key=f"steps-{turn.run_id}",
        on_change="rerun",
        expanded=unfolded,
    )
    if folded.open:
        with folded:
            st.fragment(_draw_transcript)(turn.run_id, turn.asked.team_id, level)


def draw_way(said: Said | None) -> None:
    """To the run in which this was said: what happened there, step by step."""
    if isinstance(said, StoredMessage) and said.run_id:
        st.page_link(
            state.PAGES / "runs.py",
            label="Run",
            icon=":material/timeline:",
            query_params={"run": said.run_id},
        )


def _describe_steps(turn: Turn, took: Totals) -> str:
    """What was done for an answer, in figures."""
    found = st.session_state[_FOUND][turn.run_id]
    parts = [figures.count(found, "passage")] if found else []
    if took.calls:
        parts += [figures.count(took.calls, "call"), figures.seconds(took.seconds)]
    return " · ".join(["Steps", ", ".join(parts)] if parts else ["Steps"])


def _draw_transcript(run_id: str, team_id: str, level: Level) -> None:
    """What was said and done in a run; what is unfolded in it is drawn by itself."""
    try:
        made, flow = _read_steps(run_id)
    except NotFound as error:
        st.caption(markdown.literal(str(error)))
        return
    members = _find_members(team_id)
    draw_flow(flow, run_id, members)
    so_far = stepping.choose_steps(run_id)
    if so_far is not None:
        made = so_far
    draw_transcript(made, View(run_id, level, members))


def _read_steps(run_id: str) -> tuple[list[Step], Flow]:
    """The steps of a stored run, which do not change: the last ones looked at are kept."""
    known: dict[str, tuple[list[Step], Flow]] = st.session_state.setdefault(_READ, {})
    if run_id not in known:
        ledger, owner = state.workspace().ledger, state.owner()
        heard = queries.events(ledger, owner, run_id, with_requests=False)
        known[run_id] = steps(heard), Flow().follow(events_of(heard))
        for old in list(known)[:-_RUNS_KEPT]:
            del known[old]
    return known[run_id]


def _find_members(team_id: str) -> tuple[str, ...]:
    """The agents of a team; none of one that was deleted."""
    found = state.find_team(team_id)
    return found.agents if found else ()
