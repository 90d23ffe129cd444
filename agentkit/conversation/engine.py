"""What an agent is made of, and how AutoGen's attribute names reach it."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from agentkit.conversation.code import Coder
from agentkit.conversation.history import History
from agentkit.conversation.hooks import Hooks
from agentkit.conversation.human import Human
from agentkit.conversation.model import Voice
from agentkit.conversation.replies import ReplyTable
from agentkit.conversation.tooling import Toolbox


@dataclass(slots=True)
class Engine:
    """The parts of one agent."""

    history: History
    replies: ReplyTable
    hooks: Hooks
    human: Human
    tools: Toolbox
    voice: Voice
    coder: Coder


def part(path: str) -> Any:
    """An attribute of an agent that lies in a part of its engine, such as `history.messages`; reads and writes go there."""
    owner, name = path.split(".")
    part_of = attrgetter(f"_engine.{owner}")

    def write(agent: Any, value: Any) -> None:
        setattr(part_of(agent), name, value)

    return property(attrgetter(f"_engine.{path}"), write)
