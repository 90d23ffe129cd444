"""Workflows as AutoGen Studio 0.1 exports them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from agentkit.core.given import pick
from agentkit.core.tools import find_only
from agentkit.errors import ConfigError
from agentkit.teams.built.document import MOST_AGENTS, describe_errors
from agentkit.teams.built.importing.taken import OF_GROUP, Imported, Loose, Taken

_OF_TYPE = {"userproxy": "UserProxyAgent", "assistant": "AssistantAgent"}
"""The classes of the agents of AutoGen Studio."""


def list_workflows(data: object) -> list[str]:
    """What the workflows of a whole set are called; none where it is a single one."""
    return [one.name for one in _read(_Defaults, data).workflows]


def import_studio(data: object, wanted: int = 0) -> Imported:
    """A workflow as AutoGen Studio 0.1 exports it; of a whole set the `wanted` one, from 0."""
    taken = Taken()
    flow = _find_workflow(data, wanted, taken)
    linked = sorted(flow.agents, key=lambda one: one.link.sequence_id)
    in_turn = [one.agent for one in linked if one.link.agent_type == "sequential"]
    if in_turn:
        made = _take_sequence(in_turn, taken)
        return taken.finish(flow.name, flow.description, made)
    made = _take_pair(flow, linked, taken)
    return taken.finish(flow.name, flow.description, made)


def _take_pair(flow: _Workflow, linked: Sequence[_Linked], taken: Taken) -> dict[str, Any]:
    """A chat of a sender with a receiver, which may lead a group; raises ConfigError without
    them.
    """
    ends = {"sender": flow.sender, "receiver": flow.receiver}
    for one in linked:
        ends[one.link.agent_type] = one.agent
    sender, receiver = ends["sender"], ends["receiver"]
    if sender is None or receiver is None:
        raise ConfigError("It has no workflow with a sender and a receiver, and none in sequence.")
    starts = _take_studio_agent(sender, taken)
    return _take_receiver(receiver, starts, taken)


M = TypeVar("M", bound=BaseModel)


class _Skill(Loose):
    name: str = ""
    title: str = ""
    content: str = ""


class _StudioAgent(Loose):
    type: str = ""
    config: dict[str, Any] = Field(default_factory=dict)
    groupchat_config: dict[str, Any] = Field(default_factory=dict)
    skills: list[_Skill] = Field(default_factory=list, max_length=MOST_AGENTS)
    agents: list[_StudioAgent] = Field(default_factory=list, max_length=MOST_AGENTS)
    task_instruction: str | None = None


class _Link(Loose):
    agent_type: str = ""
    sequence_id: int = 0


class _Linked(Loose):
    agent: _StudioAgent
    link: _Link = _Link()


class _Workflow(Loose):
    name: str = "Imported team"
    description: str = ""
    agents: list[_Linked] = Field(default_factory=list, max_length=MOST_AGENTS)
    sender: _StudioAgent | None = None
    receiver: _StudioAgent | None = None


class _Defaults(Loose):
    workflows: list[_Workflow] = Field(default_factory=list)


def _read(model: type[M], data: object) -> M:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"The workflow cannot be read. {describe_errors(error)}") from error


def _find_workflow(data: object, wanted: int, taken: Taken) -> _Workflow:
    known = _read(_Defaults, data).workflows
    if not known:
        known = [_read(_Workflow, data)]
    if wanted not in range(len(known)):
        wanted = 0
    chosen = known.pop(wanted)
    for other in known:
        taken.remark(other.name, "this workflow is a team of its own; import it, too")
    return chosen


def _take_sequence(agents: list[_StudioAgent], taken: Taken) -> dict[str, Any]:
    """A queue: each agent is asked in turn, and knows what came before."""
    arguments = {"name": "Lead", "human_input_mode": "NEVER"}
    lead = taken.agent("UserProxyAgent", arguments)
    chats = []
    for one in agents:
        instruction = one.task_instruction or ""
        recipient = _take_studio_agent(one, taken)
        chat = {
            "sender": lead,
            "recipient": recipient,
            "message": f"{instruction}\n{{question}}".lstrip(),
        }
        chats.append(chat)
    return {"kind": "queue", "chats": chats}


def _take_receiver(receiver: _StudioAgent, starts: str, taken: Taken) -> dict[str, Any]:
    """The flow of a chat with this agent, or with the group that it leads."""
    if receiver.type != "groupchat":
        answers = _take_studio_agent(receiver, taken)
        return {"kind": "two_agents", "starts": starts, "answers": answers}
    settings = {**receiver.config, **receiver.groupchat_config}
    within = _read(_StudioAgent, {"agents": settings.get("agents", [])})
    members = [*within.agents, *receiver.agents]
    names = [_take_studio_agent(one, taken) for one in members]
    shared = pick(dict(sorted(settings.items())), OF_GROUP)
    return taken.group(shared, names, starts)


def _take_studio_agent(agent: _StudioAgent, taken: Taken) -> str:
    kind = _OF_TYPE.get(agent.type, "ConversableAgent")
    own = agent.config.keys() - OF_GROUP.keys()
    arguments = pick(dict(sorted(agent.config.items())), own)
    name = taken.agent(kind, arguments)
    for skill in agent.skills:
        _take_skill(skill, name, taken)
    return name


def _take_skill(skill: _Skill, owner: str, taken: Taken) -> None:
    """As a function of the team, where it is one."""
    function = find_only(skill.content)
    if function:
        taken.bring(function, skill.content, [owner])
        return
    called = f"{skill.name}{skill.title}"[:60]
    taken.remark(owner, f"the skill {called!r} was not taken: it is not one function")
