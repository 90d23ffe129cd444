"""What is wrong with a team, beyond the form of its document: each problem with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from agentkit.agents.retrieve_chat.prompts import fill_prompt
from agentkit.errors import AgentkitError, ConfigError
from agentkit.teams.built.agents import AgentDocument
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    Dialogue,
    Group,
    Plan,
    Queue,
    Queued,
    RetrieveChat,
    Single,
    Stage,
    TwoAgents,
)


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
    for place, agent in enumerate(document.agents, start=1):
        problems += _check_agent(agent, f"agents[{place}]", models, tools)
    return [*problems, *_check_flow(document)]


def _find_doubles(document: TeamDocument) -> Iterator[Problem]:
    counts = Counter(agent.name for agent in document.agents)
    for name, count in counts.items():
        if count > 1:
            yield Problem("agents", f"{count} agents are called {name!r}; give each its own name")


def _find_unknown_names(document: TeamDocument) -> Iterator[Problem]:
    known = {agent.name for agent in document.agents}
    for place, name in _list_names(document):
        if name not in known:
            yield Problem(place, f"there is no agent {name!r}; choose one of {_name(known)}")


def _list_names(document: TeamDocument) -> Iterator[tuple[str, str]]:
    """The agents that the flow names, with where."""
    flow = document.flow
    match flow:
        case Single():
            yield "flow.agent", flow.agent
        case TwoAgents():
            yield "flow.starts", flow.starts
            yield "flow.answers", flow.answers
            yield from _name_queued("flow.nested", flow.nested)
        case Group():
            yield "flow.writer", flow.writer
            yield from (("flow.agents", name) for name in flow.agents)
            for one in flow.transitions:
                yield "flow.transitions", one.after
                yield from (("flow.transitions", name) for name in one.speakers)
        case Queue():
            yield from _name_queued("flow.chats", flow.chats)
        case RetrieveChat():
            yield "flow.assistant", flow.assistant
        case Dialogue():
            yield from (("flow.agents", name) for name in flow.agents)
            for stage in flow.stages:
                yield from (("flow.stages", name) for name in stage.speakers)


def _name_queued(place: str, chats: list[Queued]) -> Iterator[tuple[str, str]]:
    for number, chat in enumerate(chats, start=1):
        yield f"{place}[{number}].sender", chat.sender
        yield f"{place}[{number}].recipient", chat.recipient


def _check_agent(
    agent: AgentDocument,
    place: str,
    models: Collection[str] | None,
    tools: Collection[str] | None,
) -> Iterator[Problem]:
    chosen = agent.llm.model if agent.llm else ""
    if models is not None and chosen and chosen not in models:
        text = f"the model {chosen!r} is not connected; choose one of {_name(models)}"
        yield Problem(f"{place}.llm.model", text)
    for use in agent.tools:
        if tools is not None and use.name not in tools:
            text = f"there is no tool {use.name!r}; choose one of {_name(tools)}"
            yield Problem(f"{place}.tools", text)
    if agent.llm is None and (agent.tools or agent.documents):
        yield Problem(f"{place}.llm", "without a model it cannot call tools; choose a model")
    compress = agent.compress_config
    if compress and compress.leave_last_n and compress.mode == "TERMINATE":
        text = "nothing is shortened in mode TERMINATE, so no messages can be left"
        yield Problem(f"{place}.compress_config.leave_last_n", text)


def _check_flow(document: TeamDocument) -> Iterator[Problem]:
    flow = document.flow
    match flow:
        case TwoAgents():
            yield from _check_pair(flow, document)
        case Group():
            yield from _check_group(flow, document)
        case Queue():
            yield from _check_chats("flow.chats", flow.chats)
        case RetrieveChat():
            yield from _check_retrieve_chat(flow, document)
        case Dialogue():
            yield from _check_dialogue(flow, document)
        case Plan() if flow.prompts == "own" and not flow.planner_prompt:
            yield Problem("flow.planner_prompt", "own prompts need one for the planner")


def _check_pair(flow: TwoAgents, document: TeamDocument) -> Iterator[Problem]:
    if flow.starts == flow.answers:
        yield Problem("flow.answers", "an agent cannot talk with itself; choose two")
    if not _has_model(document, flow.answers):
        yield Problem("flow.answers", f"{flow.answers} has no model to answer with")
    yield from _check_chats("flow.nested", flow.nested)
    within = {chat.sender for chat in flow.nested} - {flow.answers}
    if within:
        yield Problem("flow.nested", f"they begin with {flow.answers}, not with {_name(within)}")
    if any(chat.recipient == flow.starts for chat in flow.nested):
        text = f"a conversation within one cannot be with {flow.starts}: that would be a circle"
        yield Problem("flow.nested", text)


def _check_group(flow: Group, document: TeamDocument) -> Iterator[Problem]:
    if flow.writer not in flow.agents:
        yield Problem("flow.writer", f"{flow.writer} is not in the group")
    outside = {one.after for one in flow.transitions} - set(flow.agents)
    if outside:
        yield Problem("flow.transitions", f"{_name(outside)} is not in the group")
    if flow.transitions and flow.allow_repeat_speaker is not None:
        text = "give either transitions, or who may speak again"
        yield Problem("flow.allow_repeat_speaker", text)
    thinking = [name for name in flow.agents if _has_model(document, name)]
    if not thinking:
        yield Problem("flow.agents", "nobody in the group has a model")


def _check_chats(place: str, chats: list[Queued]) -> Iterator[Problem]:
    for number, chat in enumerate(chats, start=1):
        if chat.sender == chat.recipient:
            yield Problem(f"{place}[{number}]", f"{chat.sender} cannot talk with itself")


def _check_retrieve_chat(flow: RetrieveChat, document: TeamDocument) -> Iterator[Problem]:
    if flow.proxy == flow.assistant:
        yield Problem("flow.proxy", "the one who looks up needs a name of its own")
    if not _has_model(document, flow.assistant):
        yield Problem("flow.assistant", f"{flow.assistant} has no model to answer with")
    config = flow.retrieve_config
    if config.vector_db != "collection" and not (config.docs_path or config.get_or_create):
        text = "a store of its own needs documents, or a collection that is there already"
        yield Problem("flow.retrieve_config.docs_path", text)
    if config.customized_prompt:
        try:
            fill_prompt(config.customized_prompt, "", "", [])
        except AgentkitError as error:
            yield Problem("flow.retrieve_config.customized_prompt", str(error))


def _check_dialogue(flow: Dialogue, document: TeamDocument) -> Iterator[Problem]:
    for name in flow.agents:
        if not _has_model(document, name):
            yield Problem("flow.agents", f"{name} has no model to answer with")
    for number, stage in enumerate(flow.stages, start=1):
        yield from _check_stage(stage, f"flow.stages[{number}]")


def _check_stage(stage: Stage, place: str) -> Iterator[Problem]:
    names = [one.name for one in stage.fields]
    doubles = [name for name, count in Counter(names).items() if count > 1]
    if doubles:
        yield Problem(f"{place}.fields", f"{_name(doubles)} stands there twice")
    told = {one.name: one.type for one in stage.fields if one.told}
    if stage.kind == "vote" and stage.counted not in told:
        text = "a vote needs a field that is counted, and that the program is told"
        yield Problem(f"{place}.counted", text)
    if stage.ends_when and told.get(stage.ends_when) != "yes or no":
        text = "what ends a talk must be a yes-or-no field that the program is told"
        yield Problem(f"{place}.ends_when", text)


def _has_model(document: TeamDocument, name: str) -> bool:
    """Whether an agent has a model; of one that is not there, that is said elsewhere."""
    return all(agent.llm is not None for agent in document.agents if agent.name == name)


def _name(names: Collection[str]) -> str:
    return ", ".join(sorted(names))
