"""How the next speaker of a group chat is chosen: who may speak, and who of them does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentkit.agents.group.auto import ask_model
from agentkit.agents.group.members import Group
from agentkit.agents.group.settings import method_named
from agentkit.conversation.agent import Agent
from agentkit.core.twin import Mode
from agentkit.errors import NoEligibleSpeaker, WrongArgument
from agentkit.messages import AnyMessage, functions_of


@dataclass(frozen=True, slots=True)
class Choice:
    """Who speaks next, and how it came to that."""

    speaker: Agent
    method: str
    """`auto`, `manual`, `random`, `round_robin`, `custom` (a callable), `function` or `transition`
    (only one could).
    """
    candidates: list[str]
    """Names of those who might have been chosen."""


async def choose(mode: Mode, chat: Group, last_speaker: Agent, selector: Agent | None) -> Choice:
    """The next speaker; raises NoEligibleSpeaker when nobody may speak, WrongArgument for what
    cannot be.
    """
    method: object = chat.speaker_selection_method
    if callable(method):
        answer = await mode.invoke(method, last_speaker, chat)
        if isinstance(answer, Agent):
            return _custom(chat, answer)
        method = _method_of(answer)
    if len(chat.agents) < 2:
        raise WrongArgument(
            f"A group chat needs at least two agents, this one has {len(chat.agents)}; add some, or"
            " let two agents talk directly."
        )
    candidates, only = _candidates(chat, last_speaker)
    if len(candidates) == 1:
        return Choice(candidates[0], only, [candidates[0].name])
    speaker, method = await _by_method(
        mode, chat, method_named(method), last_speaker, selector, candidates
    )
    return Choice(speaker, method, [agent.name for agent in candidates])


def _custom(chat: Group, agent: Agent) -> Choice:
    if agent not in chat.agents:
        raise WrongArgument(
            f"speaker_selection_method returned {agent.name!r}, which is not in the group"
            f" {chat.agent_names}."
        )
    return Choice(agent, "custom", chat.agent_names)


def _method_of(answer: object) -> str:
    if answer is None:
        raise NoEligibleSpeaker("speaker_selection_method returned None.")
    if not isinstance(answer, str):
        raise WrongArgument(
            "speaker_selection_method must return an agent, the name of a method or None, not"
            f" {answer!r}."
        )
    return method_named(answer)


def _candidates(chat: Group, last_speaker: Agent) -> tuple[list[Agent], str]:
    """Who may speak now, in the order of the group, and what is to blame when it is only one."""
    able = _able(chat)
    allowed = _allowed(chat, last_speaker)
    if able is not None:
        # A call must be answered: when no transition leads to who can, the call goes first.
        return [agent for agent in able if agent in allowed] or able, "function"
    candidates = [agent for agent in chat.agents if agent in allowed]
    if not candidates:
        raise NoEligibleSpeaker(f"No transition leads on from {last_speaker.name}.")
    return candidates, "transition"


def _allowed(chat: Group, last_speaker: Agent) -> list[Agent]:
    """Who may follow; anybody may follow somebody from outside, or when nothing was said about
    transitions.
    """
    if last_speaker not in chat.agents:
        return chat.agents
    if chat.speaker_transitions_type is None and chat.allow_repeat_speaker is True:
        return chat.agents
    return chat.allowed_speaker_transitions_dict.get(last_speaker, [])


def _able(chat: Group) -> list[Agent] | None:
    """Who can execute what the last message calls: all of it, else some of it, else any function at
    all, so that the model is told what went wrong; None when there is nothing to route.
    """
    called = _called(chat.messages[-1]) if chat.func_call_filter and chat.messages else []
    if not called:
        return None
    executors: list[Any] = [
        agent for agent in chat.agents if hasattr(agent, "can_execute_function")
    ]
    able = _executing(executors, called)
    if not able:
        raise WrongArgument(
            f"No agent of the group {chat.agent_names} can execute {', '.join(called)}; register"
            " the functions for execution."
        )
    return able


def _executing(executors: Sequence[Any], called: Sequence[str]) -> list[Agent]:
    all_of_it = [agent for agent in executors if agent.can_execute_function(called)]
    if all_of_it:
        return all_of_it
    some = [agent for agent in executors if any(map(agent.can_execute_function, called))]
    return some or [agent for agent in executors if getattr(agent, "function_map", None)]


def _called(message: AnyMessage) -> list[str]:
    """Names of the functions that a message calls."""
    return [str(call["name"]) for call in functions_of(message) if call.get("name")]


async def _by_method(
    mode: Mode,
    chat: Group,
    method: str,
    last_speaker: Agent,
    selector: Agent | None,
    candidates: list[Agent],
) -> tuple[Agent, str]:
    """The speaker and the method that chose it: round robin where the given one chose nobody."""
    chosen: Agent | None = None
    if method == "random":
        chosen = chat.random_select_speaker(candidates)
    elif method == "manual":
        chosen = await mode.block(chat.manual_select_speaker, candidates)
    elif method == "auto":
        chosen = await ask_model(mode, chat, candidates, selector)

    if chosen is None:
        return chat.next_agent(last_speaker, candidates), "round_robin"
    return chosen, method
