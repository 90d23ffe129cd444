"""What an agent is made of, how AutoGen's attribute names reach it, and what is asked of several.

The functions leave out agents of another make, which have no such parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agentkit.conversation.agent import Agent
from agentkit.conversation.code import Coder
from agentkit.conversation.history import History
from agentkit.conversation.hooks import Hooks
from agentkit.conversation.human import Human
from agentkit.conversation.model import Binding
from agentkit.conversation.replies import ReplyTable
from agentkit.conversation.tooling import Toolbox
from agentkit.core.twin import Mode, core_of_method
from agentkit.reasons import EndReason

if TYPE_CHECKING:
    from agentkit.llm.cache import AbstractCache


@dataclass(slots=True)
class Engine:
    """The parts of one agent."""

    history: History
    replies: ReplyTable
    hooks: Hooks
    human: Human
    tools: Toolbox
    binding: Binding
    coder: Coder


def part(path: str) -> Any:
    """An attribute of an agent that lies in a part of its engine, such as `history.messages`; reads
    and writes go there.
    """
    owner, name = path.split(".")
    part_of = attrgetter(f"_engine.{owner}")

    def write(agent: object, value: object) -> None:
        setattr(part_of(agent), name, value)

    return property(attrgetter(f"_engine.{path}"), write)


def check_faces(mode: Mode, agents: Iterable[Agent]) -> None:
    """Raise AsyncReplyInSyncChat when one has a reply function that a sync chat can neither call
    nor ignore.

    Warn of a `generate_reply` of its own that an async chat passes over, since that asks
    `a_generate_reply`.
    """
    check = _check_sync
    if mode.is_async:
        check = _warn_of_sync_only
    for agent in agents:
        check(agent)


def _check_sync(agent: Agent) -> None:
    for engine in _find_engines([agent]):
        engine.replies.check_sync()


def _warn_of_sync_only(agent: Agent) -> None:
    for _ in _find_engines([agent]):
        if not core_of_method(agent, "generate_reply") and core_of_method(
            agent, "a_generate_reply"
        ):
            text = (
                "has its own generate_reply, which async chats do not ask; override"
                " a_generate_reply, too."
            )
            warnings.warn(f"{agent.name} {text}", UserWarning, stacklevel=4)


@contextmanager
def lend_cache(agents: Iterable[Agent], cache: AbstractCache | None) -> Iterator[None]:
    """Let the models of the agents use the cache of a chat in the block."""
    with ExitStack() as lent:
        for engine in _find_engines(agents):
            lent.enter_context(engine.binding.lend(cache))
        yield


def ended(agent: Agent, peer: Agent, reason: EndReason) -> None:
    """Note why the agent stops replying to the other one: the `end` of their chat."""
    for engine in _find_engines([agent]):
        engine.human.reasons[peer] = reason


def why_ended(agent: Agent, peer: Agent) -> EndReason | None:
    """Why the agent last stopped replying to the other one; None when it did not."""
    for engine in _find_engines([agent]):
        return engine.human.reasons.get(peer)
    return None


def _find_engines(agents: Iterable[Agent]) -> Iterator[Engine]:
    for agent in agents:
        engine = getattr(agent, "_engine", None)
        if isinstance(engine, Engine):
            yield engine
