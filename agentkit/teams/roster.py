"""What the ready-made teams and their agents are called, apart from how they work: that is loaded
when a team is asked.
"""

from __future__ import annotations

ASSISTANT, LIBRARY, RUNNER = "Assistant", "Library", "Runner"
RESEARCHER, CRITIC, WRITER = "Researcher", "Critic", "Writer"
PLANNER, SOLVER = "Planner", "Solver"
EXTRACTOR = "Extractor"
MODERATOR = "Moderator"
PLAYERS = tuple(f"Player{number}" for number in range(1, 7))
TALKING, WITH_TOOLS = "assistant", "tools"
"""Ids of teams whose agents a chat keeps."""
ROUNDS = 16
"""Messages that one discussion of the group may have, the question and the results of searches
included.
"""
METHODS = {
    "auto": "The model decides",
    "round_robin": "In turn",
    "random": "By chance",
    "manual": "You decide",
}
"""How the group's next speaker is chosen, and its name for people; the usual one first."""
MAX_DAYS = 6
"""After so many days a game of werewolf is a draw."""
