"""Pieces of Python in scripts of teams: models, calls, dicts, and a team that plans first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentkit.teams.built.agents import AgentDocument, ModelChoice
from agentkit.teams.built.flows import Plan


def write_model(choice: ModelChoice | None) -> str:
    """The `llm_config` of a choice."""
    if choice is None:
        return "False"
    given = choice.to_parameters()
    if choice.model:
        return f"{{**LLM, 'config_list': [{{**MODEL, 'model': {choice.model!r}}}], **{given!r}}}"
    return f"{{**LLM, **{given!r}}}" if given else "{**LLM}"


def write_call(name: str, arguments: Mapping[str, str], before: str = "") -> str:
    """A call with an argument in each line; `before` are those without a name."""
    first = f"    {before},\n" if before else ""
    rest = "".join(f"    {key}={value},\n" for key, value in arguments.items())
    return f"{name}(\n{first}{rest})"


def write_dict(values: Mapping[str, str]) -> str:
    """A dict with a value in each line."""
    inner = "".join(f"        {name!r}: {value},\n" for name, value in values.items())
    return f"{{\n{inner}    }}"


def write_plan(flow: Plan, planner: AgentDocument, solver: AgentDocument) -> Iterator[str]:
    """Lines that make planner, tools and solver, and ask them."""
    configs = {one.name: write_model(one.llm or ModelChoice()) for one in (planner, solver)}
    yield f"models = Speakers({write_dict(configs)})"
    yield write_call("flow = Plan", _to_changed(flow))
    yield "prompts = choose_prompts(flow, question)"
    yield f"material = {write_call('Material', _to_material(flow, planner))}"
    used = "".join(f"{use.name!r}: tools[{use.name!r}], " for use in planner.tools)
    yield f"actions = make_actions(material, {{{used.removesuffix(', ')}}})"
    yield "setup = Setup(prompts, merge_limits(flow, None), actions, **to_settings(flow))"
    arguments = {
        "llm": "models",
        "action_executor": "ActionExecutor(actions)",
        "protocol": "PlanProtocol(setup, question)",
        "max_turn": "setup.max_turn",
        "at_once": "setup.at_once",
        "timeout_s": "setup.timeout_s",
        "retries": "setup.retries",
        "replans": "setup.planning.replans",
        "names": "{'planner': setup.planner, 'solver': setup.solver}",
    }
    yield f"planner = {write_call('ReWOO', arguments)}"
    yield "print(planner.answer(question).response)"


def _to_changed(flow: Plan) -> dict[str, str]:
    """The settings that are not as they are by default."""
    given = flow.model_dump(exclude={"kind"}, exclude_defaults=True)
    return {name: repr(value) for name, value in given.items()}


def _to_material(flow: Plan, planner: AgentDocument) -> dict[str, str]:
    arguments = {"prompts": "prompts"}
    if planner.documents:
        arguments |= {"found": "found", "exact": repr(planner.documents.exact)}
    if flow.reads_results:
        arguments["read_out"] = f"models.read_out({flow.planner!r})"
    return arguments
