"""Settings of agents that nobody reads, as the team works together."""

from __future__ import annotations

from collections.abc import Mapping

from agentkit.teams.built.agents import AgentDocument, Ending
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    TALKING,
    CitedAnswer,
    Dialogue,
    FieldTable,
    Plan,
    Research,
    Werewolf,
)
from agentkit.teams.built.naming import list_names

Fields = frozenset[str]
ALWAYS = frozenset(["name", "role", "description"])
"""What is told of an agent, whatever it does."""
_OF_TALKS = frozenset(
    [
        *("system_message", "llm", "documents", "tools", "own_tools", "code"),
        *("human_input_mode", "is_termination_msg", "max_consecutive_auto_reply"),
        *("default_auto_reply", "compress_config", "context_variables", "silent"),
    ]
)
_OF_RUNNERS = frozenset(["code", "human_input_mode", "max_consecutive_auto_reply"])
_LOOKING = frozenset(["system_message", "llm", "documents"])
_TOLD = frozenset(["system_message", "llm"])
READ: Mapping[type, Fields] = {
    **dict.fromkeys(TALKING, _OF_TALKS),
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
_LOST: Mapping[tuple[bool, bool, bool], Fields] = {
    (True, True, True): _OF_TALKS - _OF_RUNNERS,
    (True, True, False): _OF_TALKS - _OF_RUNNERS,
    (True, False, False): frozenset(["compress_config"]),
}
"""What is not read all the same: by whether agents talk, and one runs code, and has a model."""
_NOTHING: Fields = frozenset()
_OUTSIDE = frozenset(AgentDocument.model_fields) - {"name"}
"""Of an agent that takes no part its name alone is told, as that says enough."""
_DEFAULTS = [
    field.get_default(call_default_factory=True) for field in AgentDocument.model_fields.values()
]
_USUAL = [*_DEFAULTS, None, "", Ending(text=""), Ending(where="is")]
"""What is there without anybody having wished for it."""


def list_unread(document: TeamDocument) -> list[str]:
    """Their places, such as `agents[2].silent`; of an agent that takes no part that of its name."""
    kind = type(document.flow)
    talks = kind in TALKING
    read = {
        name: ALWAYS | _READ_AT.get((kind, place), READ[kind])
        for place, name in list_names(document)
    }
    found: list[str] = []
    for number, agent in enumerate(document.agents, start=1):
        state = (talks, agent.code is not None, agent.llm is not None)
        used = read.get(agent.name, _OUTSIDE) - _LOST.get(state, _NOTHING)
        unread = sorted(_find_said(agent) - used)
        found += [f"agents[{number}].{name}" for name in unread]
    return found


def _find_said(agent: AgentDocument) -> set[str]:
    """The fields that say something else than usual."""
    return {name for name, value in agent if value not in _USUAL}
