"""Werewolf, the game of lies for six: rules, one parser per phase, and the play between agents."""

from agentkit.teams.werewolf.game import play
from agentkit.teams.werewolf.rules import Ballot, Death, Outcome, Village
from agentkit.teams.werewolf.team import TEAM, TEAMS

__all__ = ["TEAM", "TEAMS", "Ballot", "Death", "Outcome", "Village", "play"]
