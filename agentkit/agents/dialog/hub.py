"""Hubs, in which agents hear one another, and pipelines of agents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from agentkit.agents.dialog.base import AgentBase, announce_once, list_agents
from agentkit.agents.dialog.memory import list_messages
from agentkit.agents.dialog.msg import Msg
from agentkit.conversation import announcing
from agentkit.core.io import is_quiet
from agentkit.errors import WrongArgument

Operator = Callable[[Any], Any]
"""An agent, a pipeline, or any callable from a message to a message."""


class MsgHub:
    """While it is open, its participants hear what each of them replies; hubs may lie in one
    another.
    """

    def __init__(
        self, participants: Sequence[AgentBase], announcement: Msg | Sequence[Msg] | None = None
    ) -> None:
        self.participants = list(dict.fromkeys(list_agents(participants)))
        list_messages(announcement)  # raises before the hub is half open
        self.announcement = announcement
        self._before: dict[AgentBase, list[AgentBase] | None] = {}

    def __enter__(self) -> MsgHub:
        self._listen(self.participants)
        if self.announcement is not None:
            self.broadcast(self.announcement)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for agent in list(self._before):
            self._leave(agent)

    def add(self, new_participant: AgentBase | Sequence[AgentBase]) -> None:
        """Let agents join; they hear what is said from now on."""
        for agent in list_agents(new_participant):
            if agent in self.participants:
                announcing.note(agent.name, "is in the hub already", is_quiet())
            else:
                self.participants.append(agent)
        self._listen(self.participants)

    def delete(self, participant: AgentBase | Sequence[AgentBase]) -> None:
        """Let agents leave."""
        for agent in list_agents(participant):
            if agent in self.participants:
                self.participants.remove(agent)
                self._leave(agent)
            else:
                announcing.note(agent.name, "is not in the hub, so it cannot leave it", is_quiet())
        self._listen(self.participants)

    def broadcast(self, msg: Msg | Sequence[Msg]) -> None:
        """Let all participants hear something; what nobody was told of is told as MessageSent."""
        for agent in self.participants:
            agent.observe(msg)
        for said in list_messages(msg):
            announce_once(said, "everyone", silent=is_quiet())

    def _listen(self, agents: Sequence[AgentBase]) -> None:
        for agent in agents:
            self._before.setdefault(agent, agent.audience)
            agent.reset_audience(agents)

    def _leave(self, agent: AgentBase) -> None:
        before = self._before.pop(agent, None)
        agent.clear_audience()
        if before is not None:
            agent.reset_audience(before)


def msghub(
    participants: Sequence[AgentBase], announcement: Msg | Sequence[Msg] | None = None
) -> MsgHub:
    """A hub for a `with` block; all participants hear the announcement first. Raises WrongType
    for participants that are not dialog agents, WrongArgument for an announcement of another type.
    """
    return MsgHub(participants, announcement)


def sequential_pipeline(operators: Sequence[Operator], x: Any = None) -> Any:
    """Give `x` to the first operator, its result to the second and so on; gives the last result.

    Raises WrongArgument (a ValueError) without operators.
    """
    for operator in _check_operators(operators):
        x = operator(x)
    return x


async def a_sequential_pipeline(operators: Sequence[Operator], x: Any = None) -> Any:
    """The same in an event loop: agents by `a_call`, results of other operators are awaited where
    they can be.
    """
    for operator in _check_operators(operators):
        if isinstance(operator, AgentBase):
            x = await operator.a_call(x)
            continue
        x = operator(x)
        if inspect.isawaitable(x):
            x = await x
    return x


class SequentialPipeline:
    """A pipeline to be used again."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = operators
        self.participants = list(operators)

    def __call__(self, x: Any = None) -> Any:
        """`sequential_pipeline` of the operators."""
        return sequential_pipeline(self.operators, x)


def _check_operators(operators: Sequence[Operator]) -> Sequence[Operator]:
    if not operators:
        raise WrongArgument("A pipeline needs operators; give at least one agent.")
    return operators
