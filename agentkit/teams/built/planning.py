"""The flow that plans first: its prompts, what its steps may use, and who speaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from agentkit.agents.rewoo import FunctionAction
from agentkit.agents.rewoo.executor import Action
from agentkit.agents.rewoo.prompts import SOLVER_PROMPT_CN, SOLVER_PROMPT_EN
from agentkit.core.given import pick_filled
from agentkit.core.tools import name_permission, origin_of
from agentkit.errors import Stopped
from agentkit.llm.compatible.wrapper import OpenAIWrapper
from agentkit.messages import Message
from agentkit.teams.built.agents import Policy
from agentkit.teams.built.flows import Plan
from agentkit.teams.built.members import Members
from agentkit.teams.built.tools import name_call
from agentkit.teams.findings import Findings
from agentkit.teams.planning.calculator import calculate
from agentkit.teams.planning.prompts import CALCULATE, PROMPTS, Prompts
from agentkit.teams.planning.team import (
    Material,
    ReadOut,
    Setup,
    build_lookups,
    carry_out,
    make_asker,
)
from agentkit.teams.planning_settings import READER, PlanLanguage, Planning
from agentkit.teams.task import Answer, Task

_LAGENT: Mapping[str, tuple[PlanLanguage, str]] = {
    "english": ("en", SOLVER_PROMPT_EN),
    "chinese": ("zh", SOLVER_PROMPT_CN),
}
_OWN = ("planner", "worker", "solver", "reformat", "replan")
"""The prompts that may be one's own; `<name>_prompt` in the flow."""


def plan_first(flow: Plan, members: Members, task: Task, found: Findings) -> Answer:
    """Plan, gather the evidence, answer from it."""
    planner = members.document.agent(flow.planner)
    limits = merge_limits(flow, task.asked.planning)
    prompts = choose_prompts(flow, task.question, limits.language)
    material = _find_material(flow, members, task, prompts)
    tools: dict[str, Callable[..., Any]] = {}
    policies: dict[str, Policy] = {}
    for use in members.list_uses(planner):
        called = name_call(use.name)
        policies[called] = use.approval
        tool = members.tool(use, flow.planner)
        if tool is not None:
            tools[called] = tool
    setup = Setup(
        prompts,
        limits,
        make_actions(material, tools),
        **to_settings(flow),
        policies=policies,
        permits={name: name_permission(tool, name) for name, tool in tools.items()},
        origins={name: origin_of(tool, name) for name, tool in tools.items()},
        models=_find_models(flow, members),
    )
    return carry_out(task, found, setup)


def _find_material(flow: Plan, members: Members, task: Task, prompts: Prompts) -> Material:
    """What plans can be made of: where things are looked up, and who reads them out."""
    planner = members.document.agent(flow.planner)
    read_out = None
    has_reader = flow.reads_results and task.model.is_language_model
    if has_reader:
        model = members.model(planner.choice)
        read_out = make_asker(model, planner.choice.to_parameters())
    if planner.documents is None:
        return Material(prompts, None, False, read_out)
    shelf = members.shelf(planner.documents)
    return Material(prompts, shelf, shelf.finds_exact, read_out)


def to_settings(flow: Plan) -> dict[str, Any]:
    """Names and limits as they stand in the flow."""
    names = ("planner", "solver", "max_turn", "at_once", "timeout_s", "retries")
    return {name: getattr(flow, name) for name in names}


def merge_limits(flow: Plan, asked: Planning | None) -> Planning:
    """What the chat is set to, where it is set; else what the team says."""
    usual, chat = asdict(Planning()), asdict(asked or Planning())
    changed = {name: value for name, value in chat.items() if value != usual[name]}
    of_team = Planning(
        most_steps=flow.most_steps,
        most_lookups=flow.most_lookups,
        replans=flow.replans,
    )
    return replace(of_team, **changed)


def choose_prompts(flow: Plan, question: str, language: PlanLanguage | None = None) -> Prompts:
    """The prompts that the flow names; ours in the language of the question."""
    if flow.prompts in _LAGENT:
        spoken, solver = _LAGENT[flow.prompts]
        return replace(PROMPTS[spoken], solver=solver)
    ours = PROMPTS[Planning(language=language).speaks(question)]
    if flow.prompts == "ours":
        return ours
    own = {name: getattr(flow, f"{name}_prompt") for name in _OWN}
    return replace(ours, **pick_filled(own))


def list_prompts(name: str) -> dict[str, str]:
    """The prompts of that name, by the fields in which one's own can stand."""
    known = choose_prompts(Plan.model_validate({"prompts": name}), "")
    return {f"{one}_prompt": getattr(known, one) for one in _OWN}


def make_actions(material: Material, tools: Mapping[str, Callable[..., Any]]) -> list[Action]:
    """What the steps may use: look-ups first, then tools in their order."""
    made: dict[str, Action] = dict(tools)
    if material.read_out and CALCULATE in made:  # what is told of it speaks of the reader
        made[CALCULATE] = FunctionAction(calculate, CALCULATE, material.prompts.calculate)
    return [*build_lookups(material), *made.values()]


def _find_models(flow: Plan, members: Members) -> dict[str, Any]:
    models: dict[str, Any] = {}
    for name in (flow.planner, flow.solver):
        choice = members.document.agent(name).choice
        models[name] = (members.model(choice), choice.to_parameters())
    return models


class Speakers:
    """For scripts: the models of planner and solver as one, asked by who speaks."""

    def __init__(self, configs: Mapping[str, Mapping[str, Any]]) -> None:
        """`configs`: an `llm_config` by name."""
        self._models = {name: OpenAIWrapper(**config) for name, config in configs.items()}

    def create(self, *, messages: Sequence[Message], agent: str) -> Any:
        """The reply of whoever speaks for that agent; raises Stopped."""
        model = self._models[agent]
        reply = model.create(messages=messages, agent=agent)
        if getattr(reply, "stopped", False):
            raise Stopped("stopped by the user")
        return model.extract_text_or_completion_object(reply)

    def extract_text_or_completion_object(self, reply: Any) -> Any:
        """The texts in the reply."""
        return reply

    def read_out(self, planner: str) -> ReadOut:
        """Lets the planner's model read results."""
        model = self._models[planner]

        def ask(messages: list[Message]) -> str:
            reply = model.create(messages=messages, agent=READER)
            return str(next(iter(model.extract_text_or_completion_object(reply)), ""))

        return ask
