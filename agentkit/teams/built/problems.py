"""What is wrong with a team, beyond the form of its document: each problem with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.agents.group.templates import fill as fill_template
from agentkit.agents.retrieve_chat.prompts import fill_prompt
from agentkit.agents.rewoo import ReWOOProtocol
from agentkit.core.given import list_missing
from agentkit.core.tools import read_function
from agentkit.errors import AgentkitError, ConfigError, WrongArgument
from agentkit.teams.built.agents import AgentDocument, WrittenFunction
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    TALKING,
    TEMPLATES,
    Dialogue,
    FieldTable,
    Group,
    Plan,
    Queue,
    Queued,
    Research,
    RetrieveChat,
    Stage,
    TwoAgents,
    Werewolf,
)
from agentkit.teams.built.naming import list_names
from agentkit.teams.built.offers.catalog import CATALOG
from agentkit.teams.extraction.question import read_stated


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that has to be changed before the team can work."""

    place: str
    """Where in the document, such as `flow.writer`."""
    text: str
    """What is wrong, and what to do."""


def check_document(
    document: TeamDocument,
    models: Collection[str] | None = None,
    tools: Collection[str] | None = None,
) -> None:
    """Raise ConfigError that names every problem."""
    if problems := find_problems(document, models, tools):
        told = "; ".join(f"{one.place}: {one.text}" for one in problems)
        raise ConfigError(f"The team “{document.name}” cannot work. {told}")


def find_problems(
    document: TeamDocument,
    models: Collection[str] | None = None,
    tools: Collection[str] | None = None,
) -> list[Problem]:
    """All that is wrong; of models and tools only where it is said which there are."""
    problems = [*_find_doubles(document), *_find_unknown_names(document)]
    problems += _check_functions(document.functions)
    if tools is not None:
        tools = [*tools, *(one.name for one in document.functions)]
    for place, agent in enumerate(document.agents, start=1):
        problems += _check_agent(agent, f"agents[{place}]", models, tools)
    return [*problems, *_check_runners(document), *_check_flow(document)]


def _when(is_wrong: object, place: str, text: str) -> list[Problem]:
    """The problem, where it is one."""
    return [Problem(place, text)] if is_wrong else []


def _find_doubles(document: TeamDocument) -> Iterator[Problem]:
    counts = Counter(agent.name for agent in document.agents)
    for name, count in counts.items():
        yield from _when(
            count > 1, "agents", f"{count} agents are called {name!r}; give each its own name"
        )


def _check_functions(functions: Sequence[WrittenFunction]) -> Iterator[Problem]:
    """Whether each can be offered to a model; none of them runs for that."""
    counts = Counter(one.name for one in functions)
    for number, one in enumerate(functions, start=1):
        place = f"functions[{number}].name"
        yield from _when(
            counts[one.name] > 1, place, f"there are several functions {one.name!r}; rename one"
        )
        text = f"{one.name!r} is the name of a built-in tool; choose another"
        yield from _when(one.name in CATALOG, place, text)
        try:
            read_function(one.code, one.name)
        except WrongArgument as error:
            yield Problem(f"functions[{number}].code", str(error))


def _find_unknown_names(document: TeamDocument) -> Iterator[Problem]:
    known = {agent.name for agent in document.agents}
    for place, name in list_names(document):
        yield from _when(
            name not in known, place, f"there is no agent {name!r}; choose one of {_name(known)}"
        )


def _check_agent(
    agent: AgentDocument,
    place: str,
    models: Collection[str] | None,
    tools: Collection[str] | None,
) -> Iterator[Problem]:
    if models is not None and agent.llm:
        chosen = agent.llm.model
        text = f"the model {chosen!r} is not connected; choose one of {_name(models)}"
        yield from _when(chosen not in ("", *models), f"{place}.llm.model", text)
    if tools is not None:
        for number, use in enumerate(agent.tools, start=1):
            text = f"there is no tool {use.name!r}; choose one of {_name(tools)}"
            yield from _when(use.name not in tools, f"{place}.tools[{number}].name", text)
    calls_tools = agent.tools or agent.documents
    yield from _when(
        calls_tools and agent.llm is None,
        f"{place}.llm",
        "without a model it cannot call tools; choose a model",
    )
    compress = agent.compress_config
    if compress and compress.mode == "TERMINATE":
        yield from _when(
            compress.leave_last_n,
            f"{place}.compress_config.leave_last_n",
            "nothing is shortened in mode TERMINATE, so no messages can be left",
        )


def _check_runners(document: TeamDocument) -> Iterator[Problem]:
    """Who runs code in a talk has no model that could call tools."""
    if not isinstance(document.flow, TALKING):
        return
    text = "it runs code and calls no tools; give them to another agent"
    for number, agent in enumerate(document.agents, start=1):
        calls = agent.tools or agent.documents or agent.own_tools
        yield from _when(agent.code is not None and calls, f"agents[{number}].code", text)


def _check_flow(document: TeamDocument) -> Iterator[Problem]:
    flow = document.flow
    check = _CHECKS.get(type(flow))
    if check is not None:
        yield from check(flow, document)


def _check_pair(flow: TwoAgents, document: TeamDocument) -> Iterator[Problem]:
    yield from _when(
        flow.starts == flow.answers, "flow.answers", "an agent cannot talk with itself; choose two"
    )
    yield from _when(
        not _has_model(document, flow.answers),
        "flow.answers",
        f"{flow.answers} has no model to answer with",
    )
    yield from _check_chats("flow.nested", flow.nested)
    within = {chat.sender for chat in flow.nested} - {flow.answers}
    yield from _when(
        within, "flow.nested", f"they begin with {flow.answers}, not with {_name(within)}"
    )
    text = f"a conversation within one cannot be with {flow.starts}: that would be a circle"
    yield from _when(
        any(chat.recipient == flow.starts for chat in flow.nested), "flow.nested", text
    )


def _check_group(flow: Group, document: TeamDocument) -> Iterator[Problem]:
    yield from _when(
        flow.writer not in flow.agents, "flow.writer", f"{flow.writer} is not in the group"
    )
    outside = {one.after for one in flow.transitions} - set(flow.agents)
    yield from _when(outside, "flow.transitions", f"{_name(outside)} is not in the group")
    text = "give either transitions, or who may speak again"
    yield from _when(
        flow.transitions and flow.allow_repeat_speaker is not None,
        "flow.allow_repeat_speaker",
        text,
    )
    yield from _check_templates(flow)
    thinking = [name for name in flow.agents if _has_model(document, name)]
    yield from _when(not thinking, "flow.agents", "nobody in the group has a model")


def _check_templates(flow: Group) -> Iterator[Problem]:
    """Whether what a manager says can be filled in."""
    for name in TEMPLATES:
        try:
            fill_template(getattr(flow, name), [])
        except WrongArgument as error:
            yield Problem(f"flow.{name}", str(error))


def _check_fields(flow: FieldTable, document: TeamDocument) -> Iterator[Problem]:
    """Whether a table can be made of them, where they stand there as fields."""
    try:
        read_stated(flow.fields)
    except ConfigError as error:
        yield Problem("flow.fields", str(error))


def _check_chats(place: str, chats: list[Queued]) -> Iterator[Problem]:
    for number, chat in enumerate(chats, start=1):
        yield from _when(
            chat.sender == chat.recipient,
            f"{place}[{number}]",
            f"{chat.sender} cannot talk with itself",
        )


def _check_retrieve_chat(flow: RetrieveChat, document: TeamDocument) -> Iterator[Problem]:
    yield from _when(
        flow.proxy == flow.assistant, "flow.proxy", "the one who looks up needs a name of its own"
    )
    yield from _when(
        not _has_model(document, flow.assistant),
        "flow.assistant",
        f"{flow.assistant} has no model to answer with",
    )
    config = flow.retrieve_config
    text = "a store of its own needs documents, or a collection that is there already"
    yield from _when(
        config.vector_db != "collection" and not (config.docs_path or config.get_or_create),
        "flow.retrieve_config.docs_path",
        text,
    )
    if config.customized_prompt:
        try:
            fill_prompt(config.customized_prompt, "", "", [])
        except AgentkitError as error:
            yield Problem("flow.retrieve_config.customized_prompt", str(error))


_MUST_HOLD: Mapping[str, Sequence[str]] = {
    "planner_prompt": ["{tool_description}"],
    "worker_prompt": ["{thought}", "{action_resp}"],
    "solver_prompt": ["{question}", "{worker_log}"],
    "reformat_prompt": ["{err_msg}"],
    "replan_prompt": ["{worker_log}"],
}
"""What own prompts of a plan have to hold, as nothing else tells it."""


def _check_plan(flow: Plan, document: TeamDocument) -> Iterator[Problem]:
    yield from _when(
        flow.planner == flow.solver, "flow.solver", "planner and solver need a name each"
    )
    speaks = {"flow.planner": flow.planner, "flow.solver": flow.solver}
    told = {agent.name for agent in document.agents if agent.system_message}
    for place, name in speaks.items():
        text = f"what {name} is told stands in the prompts; leave its own instructions empty"
        yield from _when(name in told, place, text)
        yield from _when(
            not _has_model(document, name), place, f"{name} has no model to speak with"
        )
    yield from _when(
        flow.prompts == "own" and not flow.planner_prompt,
        "flow.planner_prompt",
        "own prompts need one for the planner",
    )
    for name, wanted in _MUST_HOLD.items():
        yield from _check_prompt(name, getattr(flow, name), wanted)


def _check_prompt(name: str, prompt: str, wanted: Sequence[str]) -> Iterator[Problem]:
    """Whether it can be filled in, and holds what nothing else tells."""
    if not prompt:
        return
    try:
        ReWOOProtocol(**{name: prompt})
    except AgentkitError as error:
        yield Problem(f"flow.{name}", str(error))
        return
    if missing := list_missing(wanted, prompt):
        yield Problem(f"flow.{name}", f"it has to hold {_name(missing)}")


def _check_dialogue(flow: Dialogue, document: TeamDocument) -> Iterator[Problem]:
    for name in flow.agents:
        yield from _when(
            not _has_model(document, name), "flow.agents", f"{name} has no model to answer with"
        )
    for number, stage in enumerate(flow.stages, start=1):
        yield from _check_stage(stage, f"flow.stages[{number}]")


def _check_stage(stage: Stage, place: str) -> Iterator[Problem]:
    counts = Counter(one.name for one in stage.fields)
    doubles = [name for name, count in counts.items() if count > 1]
    yield from _when(doubles, f"{place}.fields", f"{_name(doubles)} stands there twice")
    told = {one.name: one.type for one in stage.fields if one.told}
    lacks_count = stage.kind == "vote" and stage.counted not in told
    text = "a vote needs a field that is counted, and that the program is told"
    yield from _when(lacks_count, f"{place}.counted", text)
    lacks_end = stage.ends_when and told.get(stage.ends_when) != "yes or no"
    text = "what ends a talk must be a yes-or-no field that the program is told"
    yield from _when(lacks_end, f"{place}.ends_when", text)


def _has_model(document: TeamDocument, name: str) -> bool:
    """Whether an agent has a model; of one that is not there, that is said elsewhere."""
    runs = isinstance(document.flow, TALKING)
    return all(
        agent.llm is not None and not (runs and agent.code)
        for agent in document.agents
        if agent.name == name
    )


def _name(names: Collection[str] | None) -> str:
    return ", ".join(sorted(names or ()))


def _check_queue(flow: Queue, document: TeamDocument) -> Iterator[Problem]:
    yield from _check_chats("flow.chats", flow.chats)


def _check_research(flow: Research, document: TeamDocument) -> Iterator[Problem]:
    text = "researcher and writer need a name each"
    yield from _when(flow.researcher == flow.writer, "flow.writer", text)


def _check_werewolf(flow: Werewolf, document: TeamDocument) -> Iterator[Problem]:
    text = "six different players are needed"
    yield from _when(len(set(flow.players)) < len(flow.players), "flow.players", text)


_CHECKS: Mapping[type, Callable[[Any, TeamDocument], Iterator[Problem]]] = {
    TwoAgents: _check_pair,
    Group: _check_group,
    Queue: _check_queue,
    RetrieveChat: _check_retrieve_chat,
    Dialogue: _check_dialogue,
    Plan: _check_plan,
    Research: _check_research,
    FieldTable: _check_fields,
    Werewolf: _check_werewolf,
}
"""What looks for problems of a flow, where there can be any."""
