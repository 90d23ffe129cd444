"""The ready-made teams as documents: to be looked into, copied and changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkit.errors import NotFound
from agentkit.teams import (
    answer,
    assistant,
    group,
    registry,
    research,
    roster,
    tools,
)
from agentkit.teams.built.agents import AgentDocument, Code, Documents, Ending, ToolUse
from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    CitedAnswer,
    FieldTable,
    Flow,
    Group,
    Plan,
    Research,
    Single,
    Transition,
    TwoAgents,
    Werewolf,
)
from agentkit.teams.conversing import USER
from agentkit.teams.planning.calculator import calculate
from agentkit.teams.werewolf.prompts import GAME

_WORD = Ending(text="TERMINATE", where="is")
_CALCULATE = calculate.__name__
_TODAY = tools.todays_date.__name__


def ready_made(team_id: str) -> TeamDocument:
    """The document of a team that comes with the app; raises NotFound."""
    known = registry.team(team_id)
    if known.kind not in _MAKE:
        raise NotFound(f"The team {team_id!r} has no document.")
    variant = known.id.partition(":")[2]
    agents, flow = _MAKE[known.kind](variant)
    return TeamDocument(name=known.name, description=known.description, agents=agents, flow=flow)


def _make_answer(variant: str) -> tuple[list[AgentDocument], Flow]:
    agent = _assistant(roster.ASSISTANT, answer.INSTRUCTIONS.rstrip(), documents=Documents())
    flow = CitedAnswer(
        agent=agent.name, nothing_prompt=answer.NOTHING, rewrite_prompt=answer.REWRITE
    )
    return [agent], flow


def _make_research(variant: str) -> tuple[list[AgentDocument], Flow]:
    researcher = _assistant(roster.RESEARCHER, research.PLAN, documents=Documents())
    writer = _assistant(roster.WRITER, answer.INSTRUCTIONS.rstrip())
    flow = Research(
        researcher=researcher.name,
        writer=writer.name,
        parts=research.PARTS,
        per_part=research.PER_PART,
        passages=research.PASSAGES,
        nothing_prompt=answer.NOTHING,
        rewrite_prompt=answer.REWRITE,
    )
    return [researcher, writer], flow


def _make_plan(variant: str) -> tuple[list[AgentDocument], Flow]:
    planner = _assistant(
        roster.PLANNER,
        documents=Documents(),
        tools=[ToolUse(name=_CALCULATE)],
        own_tools=True,
    )
    return [planner, _assistant(roster.SOLVER)], Plan()


def _make_table(variant: str) -> tuple[list[AgentDocument], Flow]:
    flow = FieldTable()
    return [_assistant(flow.planner), _assistant(flow.reader)], flow


def _make_assistant(variant: str) -> tuple[list[AgentDocument], Flow]:
    agent = _assistant(roster.ASSISTANT, assistant.INSTRUCTIONS, documents=Documents())
    return [agent], Single(agent=agent.name, max_turns=assistant.SEARCHES)


def _make_tools(variant: str) -> tuple[list[AgentDocument], Flow]:
    runner = AgentDocument(name=roster.RUNNER, role="runner", llm=None, code=Code())
    agent = _assistant(
        roster.ASSISTANT,
        tools.INSTRUCTIONS,
        documents=Documents(),
        tools=[ToolUse(name=_TODAY)],
        own_tools=True,
    )
    flow = TwoAgents(starts=runner.name, answers=agent.name, max_turns=2 * tools.STEPS)
    return [runner, agent], flow


def _make_group(variant: str) -> tuple[list[AgentDocument], Flow]:
    members = [_make_member(name) for name in group.ROLES]
    person = AgentDocument(
        name=USER,
        role="person",
        llm=None,
        description=group.ABOUT_USER,
        default_auto_reply=group.PASSES,
    )
    names = [agent.name for agent in members]
    followers = [
        Transition(after=after, speakers=[name for name in names if name != after])
        for after in (*names, person.name)
    ]
    method: Any = variant
    flow = Group(
        agents=[*names, person.name],
        writer=roster.WRITER,
        speaker_selection_method=method,
        max_round=roster.ROUNDS,
        transitions=followers,
        reads_results=True,
    )
    return [*members, person], flow


def _make_member(name: str) -> AgentDocument:
    description, instructions = group.ROLES[name]
    documents = Documents() if name == roster.RESEARCHER else None
    return AgentDocument(
        name=name,
        system_message=group.TOGETHER.format(role=name.lower()) + instructions,
        description=description,
        documents=documents,
        is_termination_msg=Ending(text=""),
    )


def _make_werewolf(variant: str) -> tuple[list[AgentDocument], Flow]:
    flow = Werewolf(players=list(roster.PLAYERS), seat=variant == "seat", rules_prompt=GAME)
    return [_assistant(name) for name in roster.PLAYERS], flow


def _assistant(
    name: str,
    told: str = "",
    documents: Documents | None = None,
    tools: list[ToolUse] | None = None,
    own_tools: bool = False,
) -> AgentDocument:
    return AgentDocument(
        name=name,
        system_message=told,
        documents=documents,
        tools=tools or [],
        own_tools=own_tools,
        is_termination_msg=_WORD,
    )


_MAKE: Mapping[str, Callable[[str], tuple[list[AgentDocument], Any]]] = {
    "answer": _make_answer,
    "research": _make_research,
    "plan": _make_plan,
    "table": _make_table,
    "assistant": _make_assistant,
    "tools": _make_tools,
    "group": _make_group,
    "werewolf": _make_werewolf,
}
