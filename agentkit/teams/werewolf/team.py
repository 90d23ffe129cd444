"""Werewolf as a team that one watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentkit.conversation import announcing
from agentkit.core import replay
from agentkit.core.io import IOStream, Quiet
from agentkit.errors import LimitReached, Stopped
from agentkit.events import MessageStatus
from agentkit.llm.calls.limits import end_of
from agentkit.reasons import ANSWERED, STOPPED, EndReason
from agentkit.teams.roster import MAX_DAYS, MODERATOR, PLAYERS
from agentkit.teams.task import Answer, Task
from agentkit.teams.werewolf import prompts
from agentkit.teams.werewolf.game import Game
from agentkit.teams.werewolf.rules import (
    Ballot,
    Cause,
    Death,
    Village,
    Winner,
    deal,
)


@dataclass(frozen=True, slots=True)
class Setup:
    """Who plays, and how."""

    players: Sequence[str] = PLAYERS
    seat: bool = False
    """Whether the person is one of the players, by chance."""
    max_days: int = MAX_DAYS
    """After so many days it is a draw."""
    told: str = prompts.GAME
    """What players are told, with {name}, {others} and {role}."""
    characters: Mapping[str, str] = field(default_factory=dict)
    """What single players are told beside that."""
    llm_configs: Mapping[str, Any] = field(default_factory=dict)
    """Of each player; empty for the task's."""


def work(task: Task, *, seat: bool = False) -> Answer:
    """Play a game; whatever was asked is what begins it. Stopped, it tells how far it came, if
    anything happened.

    With a `seat` the person is one of the players, by chance.
    """
    return carry_out(task, Setup(seat=seat))


def carry_out(task: Task, setup: Setup) -> Answer:
    """`work`, as it is set up."""
    chance = replay.chance()
    village = Village(deal(setup.players, chance), setup.max_days)
    person = None
    if setup.seat:
        person = chance.choice(setup.players)
    configs = setup.llm_configs or task.llm_config
    told: dict[str, list[str]] = {}
    for name in setup.players:
        character = setup.characters.get(name, "")
        told[name] = [setup.told, character]
    game = Game(village, configs, person, told)
    try:
        winner = _play(task, game)
    except (Stopped, LimitReached) as error:
        if not village.ballots:
            raise
        if isinstance(error, Stopped):
            return _conclude(task, village, None, "stopped", STOPPED)
        return _conclude(task, village, None, "complete", end_of(error))
    return _conclude(task, village, winner, "complete", ANSWERED)


def _play(task: Task, game: Game) -> Winner:
    with IOStream.set_default(Quiet()), announcing.following(task.parent_id) as last:
        try:
            return game.play().winner
        finally:
            task.parent_id = last()


def _conclude(
    task: Task, village: Village, winner: Winner | None, status: MessageStatus, end: EndReason
) -> Answer:
    text = report(village, winner)
    extra: dict[str, Any] = {
        "citations": [],
        "model": task.model.id,
        "winner": winner,
        "roles": village.roles,
    }
    if not winner:
        extra["end"] = end.to_json()
    task.say(MODERATOR, "user", text, status=status, final=True, extra=extra)
    return Answer(text, (), end)


_FATES: dict[Cause, str] = {
    "werewolves": "killed by the werewolves",
    "poison": "poisoned by the witch",
    "vote": "voted out",
}


def report(village: Village, winner: Winner | None) -> str:
    """Markdown: the result, a table of the roles, and a line for each day; `winner` is None for a
    game that was stopped.
    """
    result = (
        prompts.end(village, winner)
        if winner
        else f"The game was stopped on day {village.day}; nobody has won."
    )
    fates = {death.player: f"{_FATES[death.cause]} on day {death.day}" for death in village.deaths}
    rows = [
        f"| {name} | {role} | {fates.get(name, 'alive')} |" for name, role in village.roles.items()
    ]
    days = [
        f"- **Day {day}:** {'; '.join(_day(village, day))}." for day in range(1, village.days + 1)
    ]
    return "\n".join(
        [f"**{result}**", "", "| Player | Role | Fate |", "| --- | --- | --- |", *rows, "", *days]
    )


def _day(village: Village, day: int) -> Iterator[str]:
    deaths = [death for death in village.deaths if death.day == day]
    yield _night(deaths)
    for ballot in village.ballots:
        is_of_day = ballot.day == day and ballot.phase == "day"
        if is_of_day:
            yield _vote(ballot)


def _night(deaths: list[Death]) -> str:
    lost: list[str] = []
    for death in deaths:
        if death.cause != "vote":
            fate = _FATES[death.cause]
            lost.append(f"{death.player} was {fate}")
    return " and ".join(lost) or "nobody died in the night"


def _vote(ballot: Ballot) -> str:
    voters = len(ballot.votes)
    votes = list(filter(None, ballot.votes.values()))
    if ballot.chosen is None:
        return f"nobody was voted out ({len(votes)} of {voters} voted)"
    against = votes.count(ballot.chosen)
    return f"{ballot.chosen} was voted out with {against} of {voters} votes"
