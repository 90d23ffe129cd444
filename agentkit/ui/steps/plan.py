"""How a plan looks: its steps as a list, each with its state, and to unfold what it asked for and
what came of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from agentkit.core.given import list_missing
from agentkit.events import PlanMade, StepDone
from agentkit.ui.steps.kind import Kind, cut
from agentkit.ui.steps.step import Level, Planned, Steps
from agentkit.ui.steps.tools import draw_result
from agentkit.ui.text import figures, markdown

_THOUGHT, _SHOWN = (
    100,
    300,
)  # characters of what a step is for, and of arguments with the evidence put in
_MOST_IN_PICTURE = 20  # steps
_ICONS = {
    "proposed": ":material/contact_support:",
    "waiting": ":material/schedule:",
    "running": "spinner",
    "not run": ":material/do_not_disturb_on:",
    "done": ":material/check:",
    "failed": ":material/error:",
}


class Made(Kind[PlanMade]):
    """A planner wrote a plan; one that went back to it is a step by itself."""

    def enter(self, event: PlanMade, seq: int, steps: Steps) -> None:
        """Begin the plan, if it will run."""
        if event.error:
            steps.put(seq, event)
            if plan := steps.find_plan(event.plan_id):  # the person did not want it
                steps.put(event.plan_id, replace(plan, ended=True))
        else:
            steps.begin_plan(event)

    def line(self, step: PlanMade) -> str:
        """What is wrong with it."""
        error = markdown.literal(cut(step.error))
        return f":material/undo: {markdown.literal(step.agent)}'s plan was sent back: {error}"

    def describe_doing(self, step: PlanMade) -> str:
        """What comes next."""
        return "Planning again"


class StepEnd(Kind[StepDone]):
    """A step of a plan has its evidence, or failed."""

    def enter(self, event: StepDone, seq: int, steps: Steps) -> None:
        """Put it to its plan."""
        if plan := steps.find_plan(event.plan_id):
            done = {**plan.done, event.label: event}
            found = {**plan.found, event.label: steps.find_passages(event.passages)}
            steps.put(event.plan_id, replace(plan, done=done, found=found))


class Plan(Kind[Planned]):
    """A plan with what came of its steps so far."""

    def draw(self, step: Planned, level: Level) -> None:
        """One line, a picture where one helps, and the steps below; those of a plan that waits for
        the person stand in their question.
        """
        if step.held and not step.ended:
            st.markdown(_describe(step))
        else:
            draw_plan(step)

    def describe_doing(self, step: Planned) -> str:
        """That it runs."""
        if step.held:
            return "Waiting for you"
        return "Carrying out the plan"


def end_plan(steps: Steps) -> None:
    """The run has ended: no step of its plan goes on."""
    if plan := steps.find_plan():
        steps.put(plan.made.plan_id, replace(plan, ended=True))


def draw_plan(planned: Planned) -> None:
    """The plan as one line with its steps below."""
    steps = planned.made.steps
    with st.container(gap="xsmall"):
        st.markdown(_describe(planned))
        draw_graph(steps)
        for number, step in enumerate(steps):
            _draw_step(planned, step, f"plan-{planned.made.plan_id}-{number}")


def _describe(planned: Planned) -> str:
    """Who planned how much, and how far it is."""
    steps = planned.made.steps
    done = sum(step["label"] in planned.done for step in steps)
    how_far = "" if done == len(steps) or planned.held else f", {done} of them done"
    who = markdown.literal(planned.made.agent or "The team")
    count = figures.count(len(steps), "step")
    return f":material/checklist: :small[**{who}** planned {count}{how_far}]"


def draw_graph(steps: Sequence[dict[str, Any]]) -> None:
    """The picture of which step waits for which, where it tells something and has room."""
    if any(step["needs"] for step in steps) and len(steps) <= _MOST_IN_PICTURE:
        st.graphviz_chart(graph(steps, dark=st.context.theme.type == "dark"), width="content")


def graph(steps: Sequence[dict[str, Any]], *, dark: bool) -> str:
    """Which step waits for which, in Graphviz's language; the list below the picture says the same
    in words.
    """
    ink = "#bdb6a8" if dark else "#57524a"
    nodes = [f'"{step["label"]}";' for step in steps]
    edges = [f'"{need}" -> "{step["label"]}";' for step in steps for need in step["needs"]]
    return (
        "digraph { rankdir=LR; bgcolor=transparent; nodesep=0.12; ranksep=0.25; pad=0.02; "
        'node [shape=box, style=rounded, width=0.45, height=0.28, margin="0.06,0.02",'
        ' fontname="sans-serif", fontsize=10, '
        f'color="{ink}", fontcolor="{ink}"]; edge [color="{ink}", arrowsize=0.5];'
        f" {' '.join([*nodes, *edges])} }}"
    )


def _draw_step(planned: Planned, step: dict[str, Any], key: str) -> None:
    """One step; by its key it stays as the person left it, whatever its label says by then."""
    state, done = planned.state(step), planned.done.get(step["label"])
    told = _describe_state(state, done, list_missing(step["needs"], planned.done))
    label = (
        f"{markdown.literal(step['label'])}"
        f" {markdown.literal(_short(step['thought']) or step['tool'])} · {told}"
    )
    with st.expander(label, type="compact", icon=_ICONS[state], key=key):
        st.code(f"{step['tool']}[{step['arguments']}]", language=None, wrap_lines=True)
        if done:
            _draw_done(planned, done, with_evidence=bool(step["needs"]))


def _draw_done(planned: Planned, done: StepDone, *, with_evidence: bool) -> None:
    """What came of a step."""
    if with_evidence and len(done.arguments) <= _SHOWN:
        st.caption(f"With the evidence: {markdown.literal(done.arguments)}")
    title, shown = "Evidence", done.evidence
    if not done.ok:
        title, shown = "Why it failed", done.error or done.evidence
    st.caption(title)
    draw_result(shown, planned.found.get(done.label, ()))


def _describe_state(state: str, done: StepDone | None, missing: list[str]) -> str:
    """The state in words."""
    if done is None:
        if state == "waiting":
            return f"waits for {markdown.literal(', '.join(missing))}"
        return state
    if done.cached:
        return "the same as another step"
    tries = ""
    if done.attempts > 1:
        tries = f", {figures.count(done.attempts)} attempts"
    return f"{figures.seconds(done.seconds)}{tries}{'' if done.ok else ', failed'}"


def _short(thought: str) -> str:
    if len(thought) <= _THOUGHT:
        return thought
    return thought[:_THOUGHT].rsplit(" ", 1)[0] + " …"
