"""Six scripted players around a table: who they are is dealt by a seed, what they reply is said
phase by phase.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from agentkit.messages import text_of
from agentkit.teams.roster import PLAYERS
from agentkit.teams.werewolf.rules import deal

SEED = 7
ROLES = deal(PLAYERS, Random(SEED))
WOLVES, VILLAGERS = (
    [name for name in PLAYERS if ROLES[name] == role] for role in ("werewolf", "villager")
)
(SEER,), (WITCH,) = (
    [name for name in PLAYERS if ROLES[name] == role] for role in ("seer", "witch")
)


@dataclass(frozen=True)
class Turn:
    """What a scripted player sees of the request that it answers."""

    player: str
    phase: str
    day: int
    retry: bool
    alive: tuple[str, ...]
    options: tuple[str, ...]
    """Whom it may choose."""


Way = Callable[[Turn], Any]
"""What is replied: a text as it is, or an object, or a value for the phase's own field."""


def turn_of(messages: Sequence[Mapping[str, Any]]) -> Turn:
    """Read off the prompt who is asked for what."""
    text = "\n".join(text_of(message["content"]) for message in messages)
    asked = text_of(messages[-1]["content"])
    player = re.search(r"You are (\w+)\.", text)
    assert player, text
    fields = {
        "scheme": "finish_discussion",
        "heal": "heal",
        "poison": "poison",
        "look": "look",
        "vote": "vote",
    }
    phase = next((phase for phase, field in fields.items() if f'"{field}"' in asked), "talk")
    if phase == "vote" and "whom you kill" in asked:
        phase = "hunt"
    alive = re.findall(r"Alive: ([\w, ]+)\.", text)[-1].replace(" and ", ", ").split(", ")
    options = re.findall(r"exactly one of ([\w, ]+?)(?:, or nobody)?\"", asked)
    nights = [int(day) for day in re.findall(r"Night (\d+) begins", text)]
    return Turn(
        player[1],
        phase,
        max(nights),
        "could not be read" in asked,
        tuple(alive),
        tuple(options[-1].split(", ") if options else ()),
    )


def thought(player: str) -> str:
    """What stands in every thought of a player."""
    return f"Secretly, {player} thinks of home"


def answer(turn: Turn, value: Any) -> str:
    """A value as the reply of a player in this phase."""
    if isinstance(value, str) and value.startswith("raw:"):
        return value.removeprefix("raw:")
    said: dict[str, Any] = {"thought": thought(turn.player)}
    if turn.phase in ("talk", "scheme"):
        said |= {
            "speak": f"{turn.player} speaks",
            **({"finish_discussion": True} if turn.phase == "scheme" else {}),
        }
        said |= value or {}
    else:
        said |= {"vote" if turn.phase == "hunt" else turn.phase: value}
    return f"```json\n{json.dumps(said, ensure_ascii=False)}\n```"


def players(**ways: Way) -> Callable[[Mapping[str, Any]], str]:
    """A script for all players; a phase without a way of its own is played harmlessly.

    The wolves kill the first of the others, the witch keeps her potions, the seer looks at the
    first, nobody votes.
    """

    def harmless(turn: Turn) -> Any:
        if turn.phase in ("hunt", "look"):
            return turn.options[0]
        return {"talk": None, "scheme": None, "heal": False, "poison": "nobody", "vote": "nobody"}[
            turn.phase
        ]

    def reply(request: Mapping[str, Any]) -> str:
        turn = turn_of(request["messages"])
        return answer(turn, ways.get(turn.phase, harmless)(turn))

    return reply


def first_alive(turn: Turn, names: Sequence[str]) -> str:
    """The first of the names that lives and is not the one who is asked; nobody when there is
    none.
    """
    return next((name for name in names if name in turn.alive and name != turn.player), "nobody")
