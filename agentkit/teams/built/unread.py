"""Settings of agents that nobody reads, as the team works together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkit.teams.built.agents import AgentDocument, Ending
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    CitedAnswer,
    Dialogue,
    FieldTable,
    Group,
    Plan,
    Queue,
    Research,
    RetrieveChat,
    Single,
    TwoAgents,
    Werewolf,
)
from agentkit.teams.built.naming import list_names

Fields = frozenset[str]
_USUAL = (None, "", Ending(text=""), Ending(where="is"))
"""What is there without anybody having wished for it."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A setting that nobody reads, or an agent that takes no part."""

    place: str
    """Such as `agents[2].compress_config`; of an agent as a whole its `name`."""
    takes_no_part: bool = False


ALWAYS = frozenset(["name", "role", "description"])
"""What is told of an agent, whatever it does."""
_TALKING = frozenset(
    [
        *("system_message", "llm", "documents", "tools", "own_tools", "code"),
        *("human_input_mode", "is_termination_msg", "max_consecutive_auto_reply"),
        *("default_auto_reply", "compress_config", "context_variables", "silent"),
    ]
)
_RUNNING = frozenset(["code", "human_input_mode", "max_consecutive_auto_reply"])
"""What is read of a talking agent that runs code."""
_OF_MODELS = frozenset(["compress_config"])
"""What is read only where a model speaks."""
_LOOKING = frozenset(["system_message", "llm", "documents"])
_TOLD = frozenset(["system_message", "llm"])
READ: Mapping[type, Fields] = {
    Single: _TALKING,
    TwoAgents: _TALKING,
    Group: _TALKING,
    Queue: _TALKING,
    RetrieveChat: _TALKING,
    Plan: frozenset(["llm", "documents", "tools", "own_tools"]),
    Dialogue: frozenset(["system_message", "llm", "documents", "tools", "own_tools", "dialog"]),
    CitedAnswer: _LOOKING,
    Research: _LOOKING,
    FieldTable: frozenset(["llm"]),
    Werewolf: _TOLD,
}
"""What is read of the agents that a way of working names."""
_READ_AT: Mapping[tuple[type, str], Fields] = {
    (Plan, "flow.solver"): frozenset(["llm"]),
    (Research, "flow.writer"): _TOLD,
}
"""The same of those that have less to do than others."""
TALKS = tuple(kind for kind, fields in READ.items() if fields is _TALKING)
"""Ways of working in which agents talk freely, and run code."""


def list_unread(document: TeamDocument) -> list[Unread]:
    """All of them, agent by agent."""
    kind = type(document.flow)
    read = {name: _READ_AT.get((kind, at), READ[kind]) for at, name in list_names(document)}
    found: list[Unread] = []
    for place, agent in enumerate(document.agents, start=1):
        if agent.name in read:
            unread = _list_of(agent, _narrow(agent, read[agent.name]))
            found += [Unread(f"agents[{place}].{name}") for name in unread]
        else:
            found.append(Unread(f"agents[{place}].name", takes_no_part=True))
    return found


def _narrow(agent: AgentDocument, read: Fields) -> Fields:
    if "code" in read and agent.code is not None:
        return read & _RUNNING
    if agent.llm is None:
        return read - _OF_MODELS
    return read


def _list_of(agent: AgentDocument, read: Fields) -> Iterator[str]:
    """The fields that say something, and are not read."""
    for name, field in AgentDocument.model_fields.items():
        usual = field.get_default(call_default_factory=True)
        nothing: Sequence[object] = (usual, *_USUAL)
        if name not in read | ALWAYS and getattr(agent, name) not in nothing:
            yield name
