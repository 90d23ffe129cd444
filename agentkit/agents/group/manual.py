"""A person chooses the next speaker, by number."""

from __future__ import annotations

from agentkit.conversation.agent import Agent
from agentkit.conversation.human import ask

_TRIES = 3


def asked_person(agents: list[Agent]) -> Agent | None:
    """The agent whose number a person gives; None for an empty answer or `q`, and after three wrong ones."""
    listed = "\n".join(["Who speaks next?", *(f"{number}: {agent.name}" for number, agent in enumerate(agents, 1))])
    question = f"{listed}\nNumber of the next speaker (1 to {len(agents)}; nothing or q: the next in line): "
    wrong = ""
    for _ in range(_TRIES):
        answer = ask("the group chat", wrong + question).strip()
        if answer in ("", "q"):
            return None
        if answer.isdecimal() and 1 <= int(answer) <= len(agents):
            return agents[int(answer) - 1]
        wrong = f"{answer!r} is no number from 1 to {len(agents)}. "
    return None
