"""The mark and the colour of each agent, the same wherever it speaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from zlib import crc32

LIGHT = (
    *("#0f6b6e", "#9a4a0c", "#4a3a96", "#a0336f"),
    *("#3f6b1f", "#1f5a9e", "#9b2d2d", "#6f5600"),
)
DARK = (
    *("#7fc9c6", "#e6a36b", "#b3a6f5", "#ef9cc9"),
    *("#a9cf86", "#8fbcf2", "#f19b93", "#dcc06a"),
)
"""The colours by their number, on a light and on a dark page; `style.css` has the same."""
_WORD = re.compile(r"[^\W\d_]+|\d+")


def find_colour(agent: str, members: Sequence[str]) -> int:
    """The number of the agent's colour: by its place in the team, else by its name.

    Who is not of the team takes none of the team's colours as long as others are left.
    """
    if agent in members:
        return members.index(agent) % len(LIGHT)
    taken = len(members) % len(LIGHT)
    return taken + crc32(agent.encode()) % (len(LIGHT) - taken)


def make_mark(agent: str) -> str:
    """One or two letters that stand for the name: `R` for Researcher, `P3` for Player 3."""
    words = _WORD.findall(agent)
    return "".join(map(itemgetter(0), words[:2])).upper() or f"{agent}?"[0]
