"""Flows in a fixed order: an answer from passages, research, a table, and a game."""

from __future__ import annotations

from typing import Any

from agentkit.teams import answer, research
from agentkit.teams.answer import Binding, look_up_and_answer
from agentkit.teams.built.flows import CitedAnswer, FieldTable, Research, Werewolf
from agentkit.teams.built.members import Members
from agentkit.teams.extraction import team as table
from agentkit.teams.findings import Findings
from agentkit.teams.task import Answer, Task
from agentkit.teams.werewolf import prompts, team


def answer_from_passages(
    flow: CitedAnswer, members: Members, task: Task, found: Findings
) -> Answer:
    """Look the question up once, and answer."""
    binding = _bind_agent(flow, members, flow.agent)
    return look_up_and_answer(task, members.look_up(flow.agent), flow.agent, binding)


def look_up_parts(flow: Research, members: Members, task: Task, found: Findings) -> Answer:
    """Look each part of the question up, then write."""
    plan = members.document.agent(flow.researcher).system_message
    setup = research.Setup(
        flow.researcher,
        flow.writer,
        flow.parts,
        flow.per_part,
        flow.passages,
        plan or research.PLAN,
        _bind_agent(flow, members, flow.researcher),
        _bind_agent(flow, members, flow.writer),
    )
    return research.carry_out(task, members.look_up(flow.researcher), setup)


def fill_table(flow: FieldTable, members: Members, task: Task, found: Findings) -> Answer:
    """Read the fields out of each document."""
    planner, reader = members.model_of(flow.planner), members.model_of(flow.reader)
    return table.carry_out(task, table.Setup(flow.fields, planner, reader))


def play_werewolf(flow: Werewolf, members: Members, task: Task, found: Findings) -> Answer:
    """Play a game."""
    characters: dict[str, str] = {}
    configs: dict[str, Any] = {}
    for name in flow.players:
        agent = members.document.agent(name)
        characters[name] = agent.system_message
        configs[name] = members.llm_config(agent.choice)
    setup = team.Setup(
        flow.players,
        flow.seat,
        flow.max_days,
        flow.rules_prompt or prompts.GAME,
        characters,
        configs,
    )
    return team.carry_out(task, setup)


def _bind_agent(flow: CitedAnswer | Research, members: Members, name: str) -> Binding:
    known = members.document.agent(name)
    choice = known.choice
    told = known.system_message.rstrip()
    return Binding(
        f"{told}\n\n" if told else answer.INSTRUCTIONS,
        flow.nothing_prompt or answer.NOTHING,
        flow.rewrite_prompt or answer.REWRITE,
        members.model(choice),
        choice.to_parameters(),
    )
