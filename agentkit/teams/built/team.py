"""A team of a document: it is chosen, asked and watched as the ready-made ones are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.given import list_missing
from agentkit.llm.calls.wishes import setting_agents
from agentkit.teams.built import dialogue, fixed, planning, talking
from agentkit.teams.built.agents import AgentDocument, ModelChoice
from agentkit.teams.built.document import TeamDocument, read_document
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
from agentkit.teams.built.members import Members
from agentkit.teams.built.problems import check_document
from agentkit.teams.findings import Findings
from agentkit.teams.planning_settings import READER
from agentkit.teams.roster import MODERATOR
from agentkit.teams.task import Answer, Task, Team

SELECTING = "speaker_selection_agent"
"""Whose model chooses who speaks next in a group."""
_WRITING: Mapping[type, str] = {
    Single: "agent",
    TwoAgents: "answers",
    Group: "writer",
    RetrieveChat: "assistant",
    Plan: "solver",
    CitedAnswer: "agent",
    Research: "writer",
    FieldTable: "reader",
}
"""The fields of flows that name who writes the answer."""
Play = Callable[[Any, Members, Task, Findings], Answer]
_PLAY: Mapping[type, Play] = {
    Single: talking.answer_alone,
    TwoAgents: talking.talk_in_pairs,
    Group: talking.talk_in_group,
    Queue: talking.talk_in_queue,
    RetrieveChat: talking.look_up_and_ask,
    Plan: planning.plan_first,
    CitedAnswer: fixed.answer_from_passages,
    Research: fixed.look_up_parts,
    FieldTable: fixed.fill_table,
    Werewolf: fixed.play_werewolf,
    Dialogue: dialogue.discuss,
}


def build_team(document: TeamDocument, team_id: str) -> Team:
    """The team; raises ConfigError with what is wrong in the document.

    `team_id` is `<team>:<version>`: what its agents remember follows the team, whatever its
    version.
    """
    check_document(document)
    flow = document.flow

    def work(task: Task) -> Answer:
        found = Findings(task)
        members = Members(document, task, found)
        with setting_agents(_list_parameters(document)):
            try:
                return _PLAY[type(document.flow)](document.flow, members, task, found)
            finally:
                members.close()

    return Team(
        team_id,
        document.name,
        document.description or "A team of your own.",
        find_speakers(document),
        work,
        answers_at_once=isinstance(flow, CitedAnswer | Research),
        needs_language_model=_needs_model(document),
        calls_tools=_opens(flow) or any(map(_calls_tools, document.agents)),
        hears=isinstance(flow, Group),
        takes_part=isinstance(flow, Single | TwoAgents | Group | RetrieveChat),
        plans=isinstance(flow, Plan),
        speaks_in_fields=isinstance(flow, Dialogue | FieldTable | Werewolf),
        keeps_secrets=isinstance(flow, Werewolf) and flow.seat,
    )


def _list_parameters(document: TeamDocument) -> dict[str, dict[str, Any]]:
    """With what each agent's model is asked, by the agent's name."""
    given: dict[str, dict[str, Any]] = {}
    for agent in document.agents:
        if agent.llm:
            given[agent.name] = agent.llm.to_parameters()
    match document.flow:
        case Plan(planner=planner) if planner in given:
            given[READER] = given[planner]
        case Group(select_speaker_auto_llm_config=ModelChoice() as selecting):
            given[SELECTING] = selecting.to_parameters()
    return given


def _needs_model(document: TeamDocument) -> bool:
    """Whether it can do nothing without a language model."""
    if isinstance(document.flow, Single):
        return document.agent(document.flow.agent).documents is None
    return not isinstance(document.flow, Plan | CitedAnswer | Research | FieldTable)


def _opens(flow: object) -> bool:
    """Whether the flow itself makes use of more than its agents are given."""
    match flow:
        case Plan():
            return True
        case RetrieveChat(retrieve_config=config):
            return config.has_own_store
    return False


def _calls_tools(agent: AgentDocument) -> bool:
    if agent.code:
        return True
    return bool(agent.tools or agent.own_tools)


def team_from_json(given: str | bytes | Mapping[str, Any], team_id: str = "my-team") -> Team:
    """The team of a document as it is kept and exported; raises ConfigError with what is wrong in
    it. Nothing of it runs before it is asked.
    """
    return build_team(read_document(given), team_id)


def find_speakers(document: TeamDocument) -> tuple[str, ...]:
    """The names of the agents; the one that writes the answer is the last."""
    writer = _find_writer(document)
    names = [agent.name for agent in document.agents]
    others = list_missing(names, [writer])
    return (*others, writer)


def _find_writer(document: TeamDocument) -> str:
    flow = document.flow
    kind = type(flow)
    if kind in _WRITING:
        name: str = getattr(flow, _WRITING[kind])
        return name
    match flow:
        case Werewolf():
            return MODERATOR
        case Queue(chats=chats):
            return chats[-1].recipient
    return dialogue.HOST
