"""A game as a text: who has won, who was who, and what happened on each day."""

from __future__ import annotations

from collections.abc import Iterator

from agentkit.teams.werewolf import prompts
from agentkit.teams.werewolf.rules import Ballot, Cause, Death, Village, Winner

_FATES: dict[Cause, str] = {
    "werewolves": "killed by the werewolves",
    "poison": "poisoned by the witch",
    "vote": "voted out",
}


def report(village: Village, winner: Winner | None) -> str:
    """Markdown: the result, a table of the roles, and a line for each day; `winner` is None for a game that was stopped."""
    result = prompts.end(village, winner) if winner else f"The game was stopped on day {village.day}; nobody has won."
    fates = {death.player: f"{_FATES[death.cause]} on day {death.day}" for death in village.deaths}
    rows = [f"| {name} | {role} | {fates.get(name, 'alive')} |" for name, role in village.roles.items()]
    days = [f"- **Day {day}:** {'; '.join(_day(village, day))}." for day in range(1, village.days + 1)]
    return "\n".join([f"**{result}**", "", "| Player | Role | Fate |", "| --- | --- | --- |", *rows, "", *days])


def _day(village: Village, day: int) -> Iterator[str]:
    deaths = [death for death in village.deaths if death.day == day]
    yield _night(deaths)
    for ballot in village.ballots:
        if (ballot.day, ballot.phase) == (day, "day"):
            yield _vote(ballot)


def _night(deaths: list[Death]) -> str:
    lost = [f"{death.player} was {_FATES[death.cause]}" for death in deaths if death.cause != "vote"]
    return " and ".join(lost) or "nobody died in the night"


def _vote(ballot: Ballot) -> str:
    votes = [choice for choice in ballot.votes.values() if choice]
    if ballot.chosen is None:
        return f"nobody was voted out ({len(votes)} of {len(ballot.votes)} voted)"
    return f"{ballot.chosen} was voted out with {votes.count(ballot.chosen)} of {len(ballot.votes)} votes"
