"""What agents do with tools and code."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from agentkit.core.naming import name_source
from agentkit.core.unseen import reveal
from agentkit.events import CodeRan, ToolCalled, ToolReturned
from agentkit.ui.steps.kind import Kind, Remark, cut
from agentkit.ui.steps.step import Found, Level, Steps, ToolUse
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_runnable, draw_text, name_language


class Called(Kind[ToolCalled]):
    """A tool begins to run."""

    def enter(self, event: ToolCalled, seq: int, steps: Steps) -> None:
        """Begin a use of it, unless a plan's step shows the call."""
        plan = steps.find_plan()
        if plan and plan.runs and event.agent == plan.made.agent:
            steps.of_plan.add(event.call_id)
        else:
            since = steps.at if steps.live else None
            steps.put(event.call_id, ToolUse(event, since=since))
            steps.in_call = True


class Returned(Kind[ToolReturned]):
    """A tool has run."""

    def enter(self, event: ToolReturned, seq: int, steps: Steps) -> None:
        """Put the result to its call."""
        if event.call_id in steps.of_plan:
            return
        use = steps.shown.get(event.call_id)
        unknown = ToolCalled(event.call_id, event.agent, event.name, "")
        called = use.called if isinstance(use, ToolUse) else unknown
        steps.put(event.call_id, ToolUse(called, event, steps.find_passages(event.passages)))
        steps.in_call, steps.did = False, event.agent


class Use(Kind[ToolUse]):
    """A call with its result."""

    def speaker(self, step: ToolUse) -> None:
        """Of whoever speaks: it had the tool called."""

    def draw(self, step: ToolUse, level: Level) -> None:
        """To unfold: the arguments, and what came back."""
        called, returned = step.called, step.returned
        went_well = returned is None or returned.ok
        state = _describe_running(step) if returned is None else figures.seconds(returned.seconds)
        state += "" if went_well else ", failed"
        label = f"`{call_line(called.name, called.arguments)}` · {state}"
        icon = ":material/build:" if went_well else ":material/error:"
        # By its key it stays as the person left it, whatever its label says by then.
        with st.expander(label, type="compact", icon=icon, key=f"tool-{called.call_id}"):
            st.caption("Arguments")
            draw_runnable(called.arguments, "json")
            if returned is not None:
                st.caption("Result")
                draw_result(returned.content, step.found)

    def describe_doing(self, step: ToolUse) -> str:
        """Which tool runs, while it does."""
        if step.returned:
            return super().describe_doing(step)
        return f"Running {step.called.name}"


class Code(Remark[CodeRan]):
    """A block of code ran."""

    def enter(self, event: CodeRan, seq: int, steps: Steps) -> None:
        """Show it; the agent's next message hands on what came out."""
        super().enter(event, seq, steps)
        steps.did = event.agent

    def speaker(self, step: CodeRan) -> None:
        """Of whoever speaks: it wrote the code."""

    def draw(self, step: CodeRan, level: Level) -> None:
        """To unfold: the code, and what it put out."""
        icon = ":material/terminal:" if step.exit_code == 0 else ":material/error:"
        end = f"exit code {step.exit_code}"
        if step.stopped:
            icon, end = ":material/stop_circle:", "stopped, with its output so far"
        language = markdown.literal(name_language(step.language))
        label = f"Ran {language} · {end} · {figures.seconds(step.seconds)}"
        with st.expander(label, type="compact", icon=icon):
            draw_runnable(step.code, step.language)
            st.caption("Output")
            _draw_output(step.output)


def end_tools(steps: Steps) -> None:
    """The run has ended: no tool goes on."""
    for key, step in list(steps.shown.items()):
        if isinstance(step, ToolUse) and step.since is not None:
            steps.put(key, replace(step, since=None))


def _describe_running(use: ToolUse) -> str:
    """For how long; what a run that ended left behind runs no more."""
    if use.since is None:
        return "no result"
    return f"running {int(max(0, time.time() - use.since))} s"


def draw_result(text: str, found: Sequence[Found] = ()) -> None:
    """What a tool gave: passages with where they stand, anything else as it is."""
    for one in found:
        hit = one.hit
        source = name_source(hit["document"], hit.get("page"), hit.get("place"), hit.get("heading"))
        label = markdown.literal(f"[{one.marker}] {' '.join(source.split())}")
        st.caption(f"**{label}** {markdown.literal(cut(hit['text']))}")
    if not found:
        _draw_output(text)


def _draw_output(text: str) -> None:
    if text.strip():
        draw_text(text.strip("\n"))
    else:
        st.caption("There was none.")


def call_line(name: str, arguments: str) -> str:
    """A call in one short line, to stand between backticks."""
    inside = " ".join(reveal(arguments).text.replace("`", "'").split())
    inside = inside.removeprefix("{").removesuffix("}").strip()
    return f"{name}({inside if len(inside) <= 60 else inside[:59] + '…'})"
