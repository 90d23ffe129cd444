"""What players and watchers are told: short sentences that small models follow, too."""

from __future__ import annotations

from collections.abc import Sequence

from agentkit.core.given import coalesce, find_first, list_missing
from agentkit.teams.werewolf.rules import Ballot, Role, Village, Winner

GAME = """You are {name}. You play the game of werewolf with {others}.

Two players are werewolves, two are villagers, one is the seer and one is the witch. Each night \
the werewolves kill one player,
the seer learns the role of one player, and the witch may save the victim (once in the game) or \
poison somebody (once).
Each day all living players talk, then vote; whoever gets the most votes is out. The village wins \
when both werewolves are
out. The werewolves win when they are at least as many as the other players. No role is made known \
before the end.

{role}

What others say begins with their name, and it may be a lie. Only what stands in this conversation \
has happened. Speak for
yourself only, and keep it short."""
_ROLES: dict[Role, str] = {
    "werewolf": (
        "Your role: you are a WEREWOLF, and so is {partner}. By day pretend to be of the village,"
        " draw suspicion to others, and never admit what you are."
    ),
    "villager": (
        "Your role: you are a VILLAGER. You know nothing but what is said by day. Find the"
        " werewolves, vote them out."
    ),
    "seer": (
        "Your role: you are the SEER. Each night you learn the role of one player. Lead the votes"
        " to the werewolves; the more openly you do it, the sooner they kill you."
    ),
    "witch": (
        "Your role: you are the WITCH. You have one healing potion and one poison for the whole"
        " game, and use at most one of them in a night. Do not waste them."
    ),
}
_SEATS: dict[Role, str] = {
    "werewolf": "a werewolf, and so is {partner}",
    "villager": "a villager",
    "seer": "the seer",
    "witch": "the witch",
}
_WINNERS: dict[Winner, str] = {
    "village": "The village wins: no werewolf is left.",
    "werewolves": "The werewolves win: they are at least as many as the others.",
    "draw": "A draw: neither side has won within {days} days.",
}


def system(name: str, village: Village, parts: Sequence[str] = (GAME,)) -> str:
    """Who a player is, and the rules, from parts that name {name}, {others} and {role}."""
    role = village.roles[name]
    others = list_missing(village.roles, [name])
    partner = _find_partner(name, village)
    told = {
        "name": name,
        "others": _names(others),
        "role": _ROLES[role].format(partner=partner),
    }
    filled = "\n\n".join(parts).strip()
    for key, value in told.items():
        filled = filled.replace(f"{{{key}}}", value)
    return filled


def seat(name: str, village: Village) -> str:
    """To a person who plays: who they are."""
    who = _SEATS[village.roles[name]].format(partner=_find_partner(name, village))
    return f"You are {name}, {who}."


def _find_partner(name: str, village: Village) -> str:
    """The other werewolf; empty when there is none."""
    partners = list_missing(village.roles, [name])
    wolf = find_first(partners, lambda partner: village.roles[partner] == "werewolf")
    return coalesce(wolf, "")


def night(village: Village) -> str:
    """To all, as the night falls."""
    return f"Night {village.day} begins. Alive: {_names(village.alive)}. Everybody goes to sleep."


def scheme(village: Village) -> str:
    """To the werewolves, before they talk."""
    return (
        "Werewolves, nobody else hears you now. Agree on one player to kill tonight:"
        f" {_names(village.prey, 'or')}."
    )


def hunt(village: Village) -> str:
    """To the werewolves, before they vote."""
    return f"Werewolves, vote now: whom do you kill tonight? Choose one of {_names(village.prey)}."


def report_hunt(ballot: Ballot) -> str:
    """To the werewolves, after their vote."""
    if ballot.chosen:
        return f"You have chosen {ballot.chosen}."
    return "You have not agreed, so you kill nobody tonight."


def heal(village: Village, witch: str) -> str:
    """To the witch, while she has her healing potion."""
    victim = "you" if village.victim == witch else village.victim
    return (
        f"Witch, the werewolves kill {victim} tonight. Do you use your only healing potion to save"
        f" {victim}?"
    )


def poison(village: Village, witch: str) -> str:
    """To the witch, while she has her poison."""
    return (
        "Witch, do you use your only poison tonight? You may kill one of"
        f" {_names(village.others(witch))}, or nobody."
    )


def look(village: Village, seer: str) -> str:
    """To the seer."""
    return (
        "Seer, whose role do you want to learn tonight? Choose one of"
        f" {_names(village.others(seer))}."
    )


def report_role(player: str, role: Role) -> str:
    """To the seer, who has looked."""
    if role in ("werewolf", "villager"):
        return f"{player} is a {role}."
    return f"{player} is the {role}."


def morning(village: Village, died: Sequence[str]) -> str:
    """To all that live, when the night is over."""
    what = "Nobody died in the night"
    if died:
        what = f"{_names(died)} died in the night"
    return f"Day {village.day} begins. {what}. Alive: {_names(village.alive)}."


def talk() -> str:
    """To all that live, before they talk."""
    return "Talk about who may be a werewolf. Each of you speaks once, one after the other."


def vote(village: Village) -> str:
    """To all that live, before they vote."""
    return (
        f"Vote now, all at the same time: which of {_names(village.alive)} is to leave? Not"
        " yourself; you may abstain."
    )


def report_vote(ballot: Ballot) -> str:
    """To all that have voted, the one who leaves included."""
    votes = ", ".join(f"{voter} {_tell_vote(choice)}" for voter, choice in ballot.votes.items())
    end = "Nobody leaves"
    if ballot.chosen:
        end = f"{ballot.chosen} has the most and leaves the game"
    return f"The votes: {votes}. {end}."


def _tell_vote(choice: str | None) -> str:
    if choice:
        return f"for {choice}"
    return "abstained"


def end(village: Village, winner: Winner) -> str:
    """To everybody, when the game is over."""
    return _WINNERS[winner].format(days=village.max_days)


def _names(names: Sequence[str], word: str = "and") -> str:
    if len(names) > 1:
        return f"{', '.join(names[:-1])} {word} {names[-1]}"
    return "".join(names)
