"""What is wrong with a team, beyond the form of its document: each problem with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentkit.agents.group.templates import fill as fill_template
from agentkit.agents.retrieve_chat.prompts import fill_prompt
from agentkit.agents.rewoo import ReWOOProtocol
from agentkit.core.given import list_missing
from agentkit.core.tools import read_function
from agentkit.errors import AgentkitError, ConfigError
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

T = TypeVar("T")


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
    problems = find_problems(document, models, tools)
    if problems:
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
        written = [one.name for one in document.functions]
        tools = [*tools, *written]
    for place, agent in _number("agents", document.agents):
        problems += _check_agent(agent, place, models, tools)
    problems += _check_runners(document)
    problems += _check_flow(document)
    return problems


def _when(is_wrong: object, place: str, text: str) -> list[Problem]:
    """The problem, where it is one."""
    if not is_wrong:
        return []
    return [Problem(place, text)]


def _number(place: str, parts: Iterable[T]) -> Iterator[tuple[str, T]]:
    """The parts of a list in the document, each with its place: `agents[1]`."""
    for number, part in enumerate(parts, start=1):
        yield f"{place}[{number}]", part


def _try(place: str, check: Callable[..., object], *given: object) -> list[Problem]:
    """What is wrong with these values, as a check of them says that raises an error of ours."""
    try:
        check(*given)
    except AgentkitError as error:
        return [Problem(place, str(error))]
    return []


def _count_doubles(names: Iterable[str]) -> dict[str, int]:
    """How often names stand there that do so several times."""
    counts = Counter(names)
    return {name: count for name, count in counts.items() if count > 1}


def _find_doubles(document: TeamDocument) -> Iterator[Problem]:
    doubles = _count_doubles(agent.name for agent in document.agents)
    for name, count in doubles.items():
        text = f"{count} agents are called {name!r}; give each its own name"
        yield Problem("agents", text)


def _check_functions(functions: Sequence[WrittenFunction]) -> Iterator[Problem]:
    """Whether each can be offered to a model; none of them runs for that."""
    doubles = _count_doubles(one.name for one in functions)
    for place, one in _number("functions", functions):
        at_name = f"{place}.name"
        text = f"there are several functions {one.name!r}; rename one"
        yield from _when(one.name in doubles, at_name, text)
        text = f"{one.name!r} is the name of a built-in tool; choose another"
        yield from _when(one.name in CATALOG, at_name, text)
        yield from _try(f"{place}.code", read_function, one.code, one.name)


def _find_unknown_names(document: TeamDocument) -> Iterator[Problem]:
    known = {agent.name for agent in document.agents}
    for place, name in list_names(document):
        text = f"there is no agent {name!r}; choose one of {_name(known)}"
        yield from _when(name not in known, place, text)


def _check_agent(
    agent: AgentDocument,
    place: str,
    models: Collection[str] | None,
    tools: Collection[str] | None,
) -> Iterator[Problem]:
    if models is not None:
        chosen = agent.choice.model
        text = f"the model {chosen!r} is not connected; choose one of {_name(models)}"
        yield from _when(chosen not in ("", *models), f"{place}.llm.model", text)
    if tools is not None:
        for at, use in _number(f"{place}.tools", agent.tools):
            text = f"there is no tool {use.name!r}; choose one of {_name(tools)}"
            yield from _when(use.name not in tools, f"{at}.name", text)
    if agent.llm is None:
        calls_tools = agent.tools or agent.documents
        text = "without a model it cannot call tools; choose a model"
        yield from _when(calls_tools, f"{place}.llm", text)
    compress = agent.compress_config
    if compress is None:
        return
    if compress.mode == "TERMINATE":
        at = f"{place}.compress_config.leave_last_n"
        text = "nothing is shortened in mode TERMINATE, so no messages can be left"
        yield from _when(compress.leave_last_n, at, text)


def _check_runners(document: TeamDocument) -> Iterator[Problem]:
    """Who runs code in a talk has no model that could call tools."""
    if not isinstance(document.flow, TALKING):
        return
    text = "it runs code and calls no tools; give them to another agent"
    for place, agent in _number("agents", document.agents):
        if agent.code is not None:
            yield from _when(agent.may_call, f"{place}.code", text)


def _check_flow(document: TeamDocument) -> Iterator[Problem]:
    flow = document.flow
    check = _CHECKS.get(type(flow))
    if check is None:
        return
    yield from check(flow, document)


def _check_pair(flow: TwoAgents, document: TeamDocument) -> Iterator[Problem]:
    text = "an agent cannot talk with itself; choose two"
    yield from _when(flow.starts == flow.answers, "flow.answers", text)
    yield from _check_answering(document, "flow.answers", flow.answers)
    yield from _check_chats("flow.nested", flow.nested)
    within = {chat.sender for chat in flow.nested} - {flow.answers}
    text = f"they begin with {flow.answers}, not with {_name(within)}"
    yield from _when(within, "flow.nested", text)
    asked = {chat.recipient for chat in flow.nested}
    text = f"a conversation within one cannot be with {flow.starts}: that would be a circle"
    yield from _when(flow.starts in asked, "flow.nested", text)


def _check_answering(document: TeamDocument, place: str, name: str) -> list[Problem]:
    """Whether an agent that has to answer can."""
    lacks_model = not _has_model(document, name)
    return _when(lacks_model, place, f"{name} has no model to answer with")


def _check_group(flow: Group, document: TeamDocument) -> Iterator[Problem]:
    text = f"{flow.writer} is not in the group"
    yield from _when(flow.writer not in flow.agents, "flow.writer", text)
    outside = {one.after for one in flow.transitions} - set(flow.agents)
    text = f"{_name(outside)} is not in the group"
    yield from _when(outside, "flow.transitions", text)
    outside = set(flow.repeaters) - set(flow.agents)
    text = f"{_name(outside)} is not in the group"
    yield from _when(outside, "flow.allow_repeat_speaker", text)
    has_both = flow.transitions and flow.allow_repeat_speaker is not None
    text = "give either transitions, or who may speak again"
    yield from _when(has_both, "flow.allow_repeat_speaker", text)
    for name in TEMPLATES:
        template = getattr(flow, name)
        yield from _try(f"flow.{name}", fill_template, template, [])
    can_speak = any(_has_model(document, name) for name in flow.agents)
    text = "nobody in the group has a model"
    yield from _when(not can_speak, "flow.agents", text)


def _check_fields(flow: FieldTable, _: TeamDocument) -> Iterator[Problem]:
    """Whether a table can be made of them, where they stand there as fields."""
    yield from _try("flow.fields", read_stated, flow.fields)


def _check_chats(place: str, chats: list[Queued]) -> Iterator[Problem]:
    for at, chat in _number(place, chats):
        text = f"{chat.sender} cannot talk with itself"
        yield from _when(chat.sender == chat.recipient, at, text)


def _check_retrieve_chat(flow: RetrieveChat, document: TeamDocument) -> Iterator[Problem]:
    text = "the one who looks up needs a name of its own"
    yield from _when(flow.proxy == flow.assistant, "flow.proxy", text)
    yield from _check_answering(document, "flow.assistant", flow.assistant)
    config = flow.retrieve_config
    has_passages = config.docs_path or config.get_or_create
    text = "a store of its own needs documents, or a collection that is there already"
    yield from _when(
        config.has_own_store and not has_passages,
        "flow.retrieve_config.docs_path",
        text,
    )
    prompt = config.customized_prompt
    if prompt:
        place = "flow.retrieve_config.customized_prompt"
        yield from _try(place, fill_prompt, prompt, "", "", [])


_MUST_HOLD: Mapping[str, Sequence[str]] = {
    "planner_prompt": ["{tool_description}"],
    "worker_prompt": ["{thought}", "{action_resp}"],
    "solver_prompt": ["{question}", "{worker_log}"],
    "reformat_prompt": ["{err_msg}"],
    "replan_prompt": ["{worker_log}"],
}
"""What own prompts of a plan have to hold, as nothing else tells it."""


def _check_plan(flow: Plan, document: TeamDocument) -> Iterator[Problem]:
    text = "planner and solver need a name each"
    yield from _when(flow.planner == flow.solver, "flow.solver", text)
    speaks = {"flow.planner": flow.planner, "flow.solver": flow.solver}
    told = {agent.name for agent in document.agents if agent.system_message}
    for place, name in speaks.items():
        text = f"what {name} is told stands in the prompts; leave its own instructions empty"
        yield from _when(name in told, place, text)
        lacks_model = not _has_model(document, name)
        yield from _when(lacks_model, place, f"{name} has no model to speak with")
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
    place = f"flow.{name}"
    wrong = _try(place, _make_protocol, name, prompt)
    if wrong:
        yield from wrong
        return
    missing = list_missing(wanted, prompt)
    yield from _when(missing, place, f"it has to hold {_name(missing)}")


def _make_protocol(name: str, prompt: str) -> ReWOOProtocol:
    """A protocol with this prompt; raises AgentkitError for one that cannot be filled in."""
    return ReWOOProtocol(**{name: prompt})


def _check_dialogue(flow: Dialogue, document: TeamDocument) -> Iterator[Problem]:
    for name in flow.agents:
        yield from _check_answering(document, "flow.agents", name)
    for place, stage in _number("flow.stages", flow.stages):
        outside = set(stage.speakers) - set(flow.agents)
        text = f"{_name(outside)} is not among those who take part"
        yield from _when(outside, f"{place}.speakers", text)
        yield from _check_stage(stage, place)


def _check_stage(stage: Stage, place: str) -> Iterator[Problem]:
    doubles = _count_doubles(one.name for one in stage.fields)
    text = f"{_name(doubles)} stands there twice"
    yield from _when(doubles, f"{place}.fields", text)
    told = {one.name: one.type for one in stage.fields if one.told}
    if stage.kind == "vote":
        lacks_count = stage.counted not in told
        text = "a vote needs a field that is counted, and that the program is told"
        yield from _when(lacks_count, f"{place}.counted", text)
    if stage.ends_when:
        lacks_end = told.get(stage.ends_when) != "yes or no"
        text = "what ends a talk must be a yes-or-no field that the program is told"
        yield from _when(lacks_end, f"{place}.ends_when", text)


def _has_model(document: TeamDocument, name: str) -> bool:
    """Whether an agent has a model; of one that is not there, that is said elsewhere."""
    agents = [agent for agent in document.agents if agent.name == name]
    if isinstance(document.flow, TALKING):
        return all(agent.thinks for agent in agents)
    return all(agent.llm for agent in agents)


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
