"""The rules of werewolf for six, without agents: who may do what, who dies of what, who has won.

Each day begins with its night. At night the werewolves choose one of the others, the witch may undo
that with her one healing potion (also for herself) or use her one poison, not both in the same
night, and the seer learns the role of one player; all three act even when they die of that night.
In the morning the dead are named, neither their roles nor what they died of.
By day the living vote. The most votes decide, by night as by day; a tie, or no vote at all, harms
nobody. A vote for somebody who cannot be chosen is an abstention. Roles are told when the game is
over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from agentkit.core.given import list_missing
from agentkit.errors import WrongArgument
from agentkit.teams.roster import MAX_DAYS

Role = Literal["werewolf", "villager", "seer", "witch"]
Winner = Literal["village", "werewolves", "draw"]
Cause = Literal["werewolves", "poison", "vote"]
Phase = Literal["night", "day"]

ROLES: tuple[Role, ...] = ("werewolf", "werewolf", "villager", "villager", "seer", "witch")


@dataclass(frozen=True, slots=True)
class Death:
    """Who died on which day (counted from 1, its night included), and of what."""

    player: str
    day: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Ballot:
    """Who voted for whom, None for an abstention, and who was chosen; by night only werewolves
    vote.
    """

    day: int
    phase: Phase
    votes: Mapping[str, str | None]
    chosen: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a game ended; roles by player in the order of the table, deaths and ballots in the order
    of the game.
    """

    winner: Winner
    days: int
    roles: Mapping[str, Role]
    deaths: tuple[Death, ...]
    ballots: tuple[Ballot, ...]


def deal(players: Sequence[str], random: Random) -> dict[str, Role]:
    """Give every player a role by chance; raises WrongArgument unless there are six different
    names.
    """
    names = set(filter(str.strip, players))
    if not len(names) == len(players) == len(ROLES):
        raise WrongArgument(
            f"players: a game of werewolf needs {len(ROLES)} different names, not"
            f" {list(players)!r:.200}."
        )
    return dict(zip(players, random.sample(ROLES, len(ROLES)), strict=True))


class Village:
    """A game as it stands: `day` counts from 1, `victim` is whom the werewolves chose tonight."""

    def __init__(self, roles: Mapping[str, Role], max_days: int = MAX_DAYS) -> None:
        """Raises WrongArgument when the game would have no day."""
        if max_days < 1:
            raise WrongArgument(f"max_days: a game has at least one day, not {max_days!r}.")
        self.roles = dict(roles)
        self.max_days = max_days
        self.day = 1
        self.deaths: list[Death] = []
        self.ballots: list[Ballot] = []
        self.victim: str | None = None
        self.poisoned: str | None = None
        self.has_healing = True
        self.has_poison = True
        self._healed = False

    @property
    def alive(self) -> list[str]:
        """The living, in the order of the table."""
        dead = {death.player for death in self.deaths}
        return list_missing(self.roles, dead)

    def list_living(self, role: Role) -> list[str]:
        """The living of a role."""
        return [player for player in self.alive if self.roles[player] == role]

    def others(self, *players: str) -> list[str]:
        """Everybody alive but these players: whom one may vote out, look at or poison."""
        return list_missing(self.alive, players)

    @property
    def prey(self) -> list[str]:
        """Whom the werewolves may choose: everybody alive but themselves."""
        return self.others(*self.list_living("werewolf"))

    def hunt(self, votes: Mapping[str, str | None]) -> Ballot:
        """Count the votes of the werewolves for their victim."""
        wolves = self.list_living("werewolf")
        candidates = dict.fromkeys(wolves, self.prey)
        ballot = self._count("night", votes, candidates)
        self.victim = ballot.chosen
        return ballot

    @property
    def may_heal(self) -> bool:
        """Whether the witch can save tonight's victim."""
        if self.victim is None:
            return False
        return self.has_healing and self._has_witch

    def heal(self) -> None:
        """The witch saves the victim; raises WrongArgument when she cannot."""
        if not self.may_heal:
            raise WrongArgument(
                f"heal: on day {self.day} there is no victim, no witch, or no healing potion left."
            )
        self.has_healing, self._healed, self.victim = False, True, None

    @property
    def may_poison(self) -> bool:
        """Whether the witch can kill tonight: once in the game, and not in a night in which she
        healed.
        """
        if self._healed:
            return False
        return self.has_poison and self._has_witch

    @property
    def _has_witch(self) -> bool:
        return bool(self.list_living("witch"))

    def poison(self, player: str) -> None:
        """The witch kills another player; raises WrongArgument when she cannot, or not this one."""
        others = self.others(*self.list_living("witch"))
        if not self.may_poison or player not in others:
            raise WrongArgument(
                f"poison: {player!r} cannot be poisoned on day {self.day}; it takes the witch's"
                " poison, which she has once and not after healing, and another living player."
            )
        self.has_poison, self.poisoned = False, player

    def look(self, player: str) -> Role:
        """The role that the seer sees; raises WrongArgument for the dead, the seer, and without a
        seer.
        """
        seers = self.list_living("seer")
        others = self.others(*seers)
        if not seers or player not in others:
            raise WrongArgument(
                f"look: {player!r} cannot be looked at on day {self.day}; it takes a living seer"
                f" and another living player: {', '.join(self.alive)}."
            )
        return self.roles[player]

    def dawn(self) -> list[str]:
        """The night is over: who died of it, in the order of the table, which gives away no
        cause.
        """
        causes: dict[str | None, Cause] = {self.poisoned: "poison", self.victim: "werewolves"}
        died: list[str] = []
        for player in self.alive:
            if player in causes:
                died.append(player)
                self.deaths.append(Death(player, self.day, causes[player]))
        self.victim, self.poisoned, self._healed = None, None, False
        return died

    def vote(self, votes: Mapping[str, str | None]) -> Ballot:
        """Count the votes of the living, let the chosen one die, and go on to the next day."""
        candidates = {voter: self.others(voter) for voter in self.alive}
        ballot = self._count("day", votes, candidates)
        if ballot.chosen:
            death = Death(ballot.chosen, self.day, "vote")
            self.deaths.append(death)
        self.day += 1
        return ballot

    @property
    def winner(self) -> Winner | None:
        """Who has won by now, looked at after the night and after the vote; a draw when the days
        are over.
        """
        wolves, prey = self.list_living("werewolf"), self.prey
        if not wolves:
            return "village"
        if len(wolves) >= len(prey):
            return "werewolves"
        if self.day > self.max_days:
            return "draw"
        return None

    @property
    def days(self) -> int:
        """How many days there were, the last one perhaps only with its night."""
        if not self.ballots:
            return 0
        return self.ballots[-1].day

    def outcome(self, winner: Winner) -> Outcome:
        """The game as it ended."""
        return Outcome(
            winner,
            self.days,
            roles=dict(self.roles),
            deaths=tuple(self.deaths),
            ballots=tuple(self.ballots),
        )

    def _count(
        self, phase: Phase, votes: Mapping[str, str | None], candidates: Mapping[str, Sequence[str]]
    ) -> Ballot:
        """Votes of those who may vote, for those they may vote for; the rest are abstentions, or of
        no account.
        """
        valid: dict[str, str | None] = dict.fromkeys(candidates)
        for voter, known in candidates.items():
            choice = votes.get(voter)
            if choice in known:
                valid[voter] = choice
        chosen = _find_leader(valid.values())
        ballot = Ballot(self.day, phase, valid, chosen)
        self.ballots.append(ballot)
        return ballot


def _find_leader(choices: Iterable[str | None]) -> str | None:
    """Who has more votes than anybody else."""
    votes = Counter(filter(None, choices))
    most = max(votes.values(), default=0)
    leaders = [choice for choice, count in votes.items() if count == most]
    if len(leaders) != 1:
        return None
    [leader] = leaders
    return leader
