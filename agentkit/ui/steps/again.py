"""Running a finished answer again: from one of its model calls, with another model, setting of the
team, reply or instructions, or with one step of its plan done anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import pick_filled
from agentkit.errors import AgentkitError
from agentkit.events import ModelReplied
from agentkit.ledger import run_list
from agentkit.messages import text_of
from agentkit.teams import variants
from agentkit.teams.repeating import Repeat
from agentkit.ui.shared import dialogs, state
from agentkit.ui.steps import wording
from agentkit.ui.steps.step import Planned, Step
from agentkit.ui.text import figures, markdown
from agentkit.workspace.repeating import find_finished, find_step

_FROM_HERE = "Run again from here"
_AS_IT_WAS = ""
"""No other model."""
_MOST_EDITED = 50_000
"""Characters of a text that can be changed here."""
_TOO_LONG = "too many to be changed here. What is written here takes their place."
_HELP = (
    "What was done before this call is taken over and costs nothing; what comes after is done anew,"
    " as an answer beside this one."
)


@dataclass(frozen=True, slots=True)
class _Told:
    """What the model was told and replied, as it can be changed."""

    instructions: str
    reply: str


def _stay(run_id: str) -> None:
    """Go on with the page as it is."""


def draw_ways(step: Step, run_id: str, *, with_calls: bool) -> None:
    """The ways to run again from this step of a finished run, if there are any."""
    match step:
        case ModelReplied(purpose="chat") if with_calls:
            draw_call(step, run_id)
        case Planned() if step.done:
            _draw_plan(step, run_id)
        case _:
            pass


def draw_problem(run_id: str) -> None:
    """Why the last try of this session to run it again came to nothing, if it did."""
    made = st.session_state.get(_key("made", run_id))
    problem = st.session_state.get(_key("problem", run_id), "")
    if made and not problem:
        problem = runs.find_error(made, state.owner())
    if problem:
        st.error(f"It was not run again. {markdown.literal(problem)}", icon=":material/error:")


def draw_call(call: ModelReplied, run_id: str, on_begun: Callable[[str], None] = _stay) -> None:
    """The button that opens the form to run again from this call, and the open form. `on_begun` is
    given the id of the new run.
    """
    asked = (_FROM_HERE, call.call_id)
    st.button(
        _FROM_HERE,
        icon=":material/replay:",
        type="tertiary",
        key=_key("from", call.call_id),
        on_click=dialogs.ask,
        args=asked,
    )
    if dialogs.read_open() == asked:
        _draw_form(call, run_id, on_begun)


@dialogs.dialog(_FROM_HERE, width="medium")
def _draw_form(call: ModelReplied, run_id: str, on_begun: Callable[[str], None]) -> None:
    told = _read_told(call)
    st.caption(_HELP)
    with st.form(_key("form", call.call_id), border=False):
        _draw_option("Model from here on", "model", call, _list_models())
        _draw_settings(call, run_id)
        _draw_field("What it is told", "told", call, told.instructions)
        _draw_field("Reply, where it is to have said something else", "reply", call, told.reply)
        st.form_submit_button(
            "Run again",
            icon=":material/replay:",
            type="primary",
            on_click=_begin,
            args=(call, run_id, told, on_begun),
        )
    draw_problem(run_id)


def _draw_settings(call: ModelReplied, run_id: str) -> None:
    """Other settings of the team, of those that it has: who speaks next, when the person is asked,
    most tokens.
    """
    team = state.find_team(run_list.one(state.workspace().ledger, state.owner(), run_id).team)
    if team and team.variant:
        others = {one.id: one.variant for one in variants(team.kind) if one.id != team.id}
        _draw_option(wording.VARIANTS.get(team.kind, "Variant"), "variant", call, others)
    if team and team.takes_part:
        modes: dict[str, str] = {mode: name for mode, (name, _) in wording.TAKING_PART.items()}
        _draw_option("When you are asked", "asked", call, modes)
    st.number_input(
        "Most tokens",
        min_value=1,
        value=None,
        step=1_000,
        placeholder="As it was",
        key=_key("tokens", call.call_id),
    )


def _draw_field(label: str, name: str, call: ModelReplied, before: str) -> None:
    """What is to stand there instead."""
    st.text_area(label, _shorten(before), height=120, key=_key(name, call.call_id))
    if len(before) > _MOST_EDITED:
        st.caption(f"{figures.count(len(before), 'character')}: {_TOO_LONG}")


def _shorten(text: str) -> str:
    """What can be changed of it: all or nothing."""
    return text if len(text) <= _MOST_EDITED else ""


def _draw_option(label: str, name: str, call: ModelReplied, options: Mapping[str, str]) -> None:
    """One of these; empty for what it was."""
    named = {_AS_IT_WAS: "As it was", **options}
    key = _key(name, call.call_id)
    st.selectbox(label, list(named), format_func=named.__getitem__, key=key)


def _find_change(text: str, before: str) -> str | None:
    """The text, if it is another one."""
    return text if text.strip() != before.strip() else None


def _read_told(call: ModelReplied) -> _Told:
    """The system message, or the last one where there is none; empty where it is gone."""
    try:
        sent: Any = state.workspace().ledger.request_of(state.owner(), call.call_id).messages
    except AgentkitError:
        return _Told("", call.text)
    first = [one for one in sent[:1] if one.get("role") == "system"]
    chosen: Mapping[str, Any] = next(iter([*first, *sent[-1:]]), {})
    return _Told(text_of(chosen.get("content")), call.text)


def _list_models() -> dict[str, str]:
    return {one.id: one.label for one in state.workspace().models()}


def _begin(call: ModelReplied, run_id: str, told: _Told, on_begun: Callable[[str], None]) -> None:
    """Run again from the call as the form says, once, and show that."""
    if state.is_repeated(told):
        return

    def read(name: str) -> Any:
        return st.session_state.get(_key(name, call.call_id))

    facts = {
        "model_id": read("model"),
        "team_id": read("variant"),
        "human_input": read("asked"),
        "max_tokens": read("tokens"),
    }
    reply = _find_change(read("reply"), _shorten(told.reply))
    instructions = _find_change(read("told"), _shorten(told.instructions))

    def start() -> None:
        finished = find_finished(state.workspace().ledger, state.owner(), run_id)
        step = find_step(finished.events, call.call_id)
        on_begun(_start(Repeat(run_id, step, reply=reply, instructions=instructions), facts))
        dialogs.close()

    _try(start, run_id)


def _try(start: Callable[[], object], run_id: str) -> None:
    """Begin it, or keep for the page why not."""
    st.session_state.pop(_key("problem", run_id), None)
    try:
        start()
    except AgentkitError as error:
        st.session_state[_key("problem", run_id)] = str(error)
    st.rerun()


def _start(repeat: Repeat, facts: Mapping[str, Any]) -> str:
    """Begin the run with those of the facts that are changed; its id."""
    changed: Any = pick_filled(facts)
    run = state.workspace().run_again(state.owner(), repeat, **changed)
    st.session_state[_key("made", repeat.run_id)] = run.id
    return run.id


def _draw_plan(planned: Planned, run_id: str) -> None:
    """A button for each step that was done."""
    with st.popover(
        "Run a step again",
        icon=":material/replay:",
        type="tertiary",
        key=_key("steps", planned.made.plan_id),
    ):
        st.caption(
            "The step is done anew, and the answer is written anew from all results; those of the"
            " other steps are taken over and cost nothing."
        )
        for step in planned.made.steps:
            if step["label"] in planned.done:
                _draw_step(step, planned.made.plan_id, run_id)


def _draw_step(step: Mapping[str, Any], plan_id: str, run_id: str) -> None:
    label = str(step["label"])
    st.button(
        markdown.literal(f"{label} {step['thought'] or step['tool']}"),
        key=_key("step", plan_id, label),
        width="stretch",
        on_click=_begin_step,
        args=(Repeat(run_id, label=label),),
    )


def _begin_step(repeat: Repeat) -> None:
    if not state.is_repeated(repeat):
        _try(lambda: _start(repeat, {}), repeat.run_id)


def _key(*parts: str) -> str:
    return "-".join(["again", *parts])
