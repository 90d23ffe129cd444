"""A game of werewolf between agents: each night and day is played by the rules until one side has
won.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from agentkit.agents.dialog import AgentBase, DictDialogAgent, Msg, msghub
from agentkit.conversation import announcing
from agentkit.core.given import list_missing
from agentkit.core.io import is_quiet, quietly
from agentkit.errors import WrongArgument
from agentkit.parsers import ModelResponse
from agentkit.teams.roster import MAX_DAYS, MODERATOR, PLAYERS
from agentkit.teams.werewolf import parsers, prompts
from agentkit.teams.werewolf.parsers import NOBODY, PhaseParser
from agentkit.teams.werewolf.rules import Outcome, Phase, Village, deal
from agentkit.teams.werewolf.seat import Seat

ROUNDS = 3
"""How often each werewolf speaks in a night at most; they end sooner when both are content."""
RETRIES = 1
"""How often a player is told that a reply cannot be read or a vote cannot be; after that it is
silence, no, or an abstention.
"""


def play(
    llm_config: Mapping[str, object],
    *,
    seed: int | None = None,
    players: Sequence[str] = PLAYERS,
    max_days: int = MAX_DAYS,
) -> Outcome:
    """Play a game to its end; `seed` decides who gets which role.

    `llm_config` is that of an agent, for all players, or one for each player by name. After
    `max_days` days it is a draw.
    Raises WrongArgument for players or days that cannot be, ModelError when a model fails, Stopped
    when the run is stopped.
    """
    return Game(Village(deal(players, Random(seed)), max_days), llm_config).play()


class Game:
    """The players around a village, and the moderator who leads them through it."""

    def __init__(
        self,
        village: Village,
        llm_config: Mapping[str, object],
        person: str | None = None,
        told: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`person`: the player whom a person plays, who hears no more than that player does;
        `told`: the parts of what each player is told, by default the rules alone.
        """
        self.village = village
        self._told = told or {}
        self.person = person
        self.moderator = AgentBase(MODERATOR, use_memory=False)
        self._said_last = ""
        self.players: dict[str, DictDialogAgent | Seat] = {
            name: Seat(name, MODERATOR, prompts.seat(name, village), lambda: self._said_last)
            if name == person
            else self._player(name, config)
            for name, config in _configs(llm_config, village).items()
        }

    def play(self) -> Outcome:
        """Nights and days until the end."""
        winner = None
        if self.person:
            self._announce([self.person], prompts.seat(self.person, self.village))
        while winner is None:
            self._night()
            if (winner := self.village.winner) is None:
                self._day()
                winner = self.village.winner
        self._announce(list(self.players), prompts.end(self.village, winner))
        return self.village.outcome(winner)

    def _night(self) -> None:
        village = self.village
        self._announce(village.alive, prompts.night(village), _phase(village, "night"))
        self._hunt(village.list_living("werewolf"))
        for witch in village.list_living("witch"):
            self._brew(witch)
        for seer in village.list_living("seer"):
            self._look(seer)
        died = village.dawn()
        self._announce(
            village.alive, prompts.morning(village, died), {**_phase(village, "day"), "died": died}
        )

    def _day(self) -> None:
        village = self.village
        voters = village.alive
        with self._hub(voters):
            self._say(prompts.talk())
            for name in voters:
                self._hear(name, parsers.for_talk(name))
            self._say(prompts.vote(village))
        votes = {
            name: self._choose(name, "vote", "who is to leave", village.others(name))
            for name in voters
        }
        self._announce(voters, prompts.report_vote(village.vote(votes)))

    def _hunt(self, wolves: Sequence[str]) -> None:
        village = self.village
        with self._hub(wolves):
            if len(wolves) > 1:
                self._say(prompts.scheme(village))
                self._scheme(wolves)
            self._say(prompts.hunt(village))
        votes = {
            wolf: self._choose(wolf, "vote", "whom you kill", village.prey, may_abstain=False)
            for wolf in wolves
        }
        self._announce(wolves, prompts.report_hunt(village.hunt(votes)))

    def _scheme(self, wolves: Sequence[str]) -> None:
        for _ in range(ROUNDS):
            agreed = [self._hear(wolf, parsers.for_scheme(wolf)) for wolf in wolves]
            if all(agreed):
                return

    def _brew(self, witch: str) -> None:
        village = self.village
        if village.may_heal:
            self._announce([witch], prompts.heal(village, witch))
            asked = parsers.for_decision("heal", "whether you use your healing potion")
            if self._tell(witch, asked):
                village.heal()
        if not village.may_poison:
            return
        self._announce([witch], prompts.poison(village, witch))
        others = village.others(witch)
        target = self._choose(witch, "poison", "whom you poison", others)
        if target:
            village.poison(target)

    def _look(self, seer: str) -> None:
        village = self.village
        self._announce([seer], prompts.look(village, seer))
        target = self._choose(
            seer, "look", "whose role you want to learn", village.others(seer), may_abstain=False
        )
        if target:
            self._announce([seer], prompts.report_role(target, village.look(target)))

    # Who hears whom

    @contextmanager
    def _hub(self, names: Sequence[str]) -> Iterator[None]:
        """These players hear one another and the moderator; whoever watches hears it, too, unless
        it is kept from them.
        """
        with (
            quietly(is_quiet() or self._is_kept_from_person(names)),
            msghub([self.moderator, *(self.players[name] for name in names)]),
        ):
            yield

    def _is_kept_from_person(self, names: Sequence[str]) -> bool:
        """Whether it is said behind the back of a person who plays and lives."""
        return self.person in self.village.alive and self.person not in names

    def _announce(
        self, names: Sequence[str], text: str, begins: Mapping[str, Any] | None = None
    ) -> None:
        with self._hub(names):
            self._say(text, begins)

    def _say(self, text: str, begins: Mapping[str, Any] | None = None) -> None:
        """The moderator to those in the hub; `begins` tells whoever watches which night or day it
        is.
        """
        self._said_last = text
        told = None
        if begins:
            told = {"begins": dict(begins)}
        said = Msg(MODERATOR, text, "assistant", told)
        self.moderator.speak(said)
        for listener in self.moderator.audience or ():
            listener.observe(said)

    def _choose(
        self, name: str, key: str, what: str, candidates: Sequence[str], *, may_abstain: bool = True
    ) -> str | None:
        """A choice that only the moderator hears; None for nobody."""
        parser = parsers.for_choice(
            key, what, candidates, list(self.players), may_abstain=may_abstain
        )
        choice = self._tell(name, parser)
        return None if choice == NOBODY else str(choice)

    def _tell(self, name: str, parser: PhaseParser) -> Any:
        """What a player tells the moderator alone."""
        with self._hub([name]):
            return self._hear(name, parser)

    def _hear(self, name: str, parser: PhaseParser) -> Any:
        """Let a player reply to what it has heard; gives what the reply tells the program."""
        player = self.players[name]
        player.set_parser(parser)
        return player().metadata

    def _player(self, name: str, llm_config: dict[str, Any]) -> DictDialogAgent:
        def passes(response: ModelResponse) -> dict[str, Any]:
            """The game goes on without this reply."""
            assert isinstance(player.parser, PhaseParser)  # no other is set
            passed = player.parser.passed
            announcing.note(name, f"no valid reply; taken as: {player.parser.to_content(passed)}")
            return passed

        player = DictDialogAgent(
            name,
            prompts.system(name, self.village, self._told.get(name, [prompts.GAME])),
            max_retries=RETRIES,
            llm_config=llm_config,
            fault_handler=passes,
        )
        return player


def _phase(village: Village, phase: Phase) -> dict[str, Any]:
    return {"phase": phase, "day": village.day, "alive": village.alive}


def _configs(llm_config: Mapping[str, Any], village: Village) -> dict[str, dict[str, Any]]:
    """One configuration for each player; raises WrongArgument when only some have one."""
    missing = list_missing(village.roles, llm_config)
    if not missing:
        return {name: dict(llm_config[name]) for name in village.roles}
    has_none = len(missing) == len(village.roles)
    if has_none:
        return {name: dict(llm_config) for name in village.roles}
    raise WrongArgument(
        f"llm_config: it has none for {', '.join(missing)}; give one for every player, or one for"
        " all."
    )
