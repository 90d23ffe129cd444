"""Ready-made teams that the app offers, and their registry."""

from __future__ import annotations

from agentkit.errors import NotFound
from agentkit.teams import answer, assistant, extraction, group, planning, research, tools, werewolf
from agentkit.teams.question import Question
from agentkit.teams.task import Answer, Citation, Task, Team

TEAMS: tuple[Team, ...] = (
    answer.TEAM,
    research.TEAM,
    planning.TEAM,
    extraction.TEAM,
    assistant.TEAM,
    tools.TEAM,
    *group.TEAMS,
    werewolf.TEAM,
)
"""Variants of one kind stand together, the usual one first."""

__all__ = ["TEAMS", "Answer", "Citation", "Question", "Task", "Team", "team", "variants"]


def team(team_id: str) -> Team:
    """The team of that id, for a kind alone its usual variant; raises NotFound naming those there
    are.
    """
    for known in TEAMS:
        if team_id in (known.id, known.kind):
            return known
    raise NotFound(
        f"There is no team {team_id!r}; choose one of: {', '.join(known.id for known in TEAMS)}."
    )


def variants(kind: str) -> list[Team]:
    """All teams of a kind."""
    return [known for known in TEAMS if known.kind == kind]
