"""The teams that there are; their modules are loaded with the first question for one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from agentkit.errors import NotFound

if TYPE_CHECKING:
    from agentkit.teams.task import Team


@cache
def teams() -> tuple[Team, ...]:
    """All of them; variants of one kind stand together, the usual one first."""
    from agentkit.teams import (
        answer,
        assistant,
        extraction,
        group,
        planning,
        research,
        tools,
        werewolf,
    )

    return (
        answer.TEAM,
        research.TEAM,
        planning.TEAM,
        extraction.TEAM,
        assistant.TEAM,
        tools.TEAM,
        *group.TEAMS,
        *werewolf.TEAMS,
    )


def team(team_id: str) -> Team:
    """The team of that id, for a kind alone its usual variant; raises NotFound naming those there
    are.
    """
    for known in teams():
        if team_id in (known.id, known.kind):
            return known
    raise NotFound(
        f"There is no team {team_id!r}; choose one of: {', '.join(known.id for known in teams())}."
    )


def variants(kind: str) -> list[Team]:
    """All teams of a kind."""
    return [known for known in teams() if known.kind == kind]
