"""Ready-made teams that the app offers, and their registry."""

from __future__ import annotations

from agentkit.errors import NotFound
from agentkit.teams import answer, research
from agentkit.teams.task import Answer, Citation, Task, Team

TEAMS: tuple[Team, ...] = (answer.TEAM, research.TEAM)

__all__ = ["TEAMS", "Answer", "Citation", "Task", "Team", "team"]


def team(team_id: str) -> Team:
    """The team of that id; raises NotFound naming those there are."""
    for known in TEAMS:
        if known.id == team_id:
            return known
    raise NotFound(f"There is no team {team_id!r}; choose one of: {', '.join(known.id for known in TEAMS)}.")
