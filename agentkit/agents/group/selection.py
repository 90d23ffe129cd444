"""How the next speaker of a group chat is chosen: who may speak, and who of them does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentkit.agents.group.auto import ask_model
from agentkit.agents.group.members import Group
from agentkit.agents.group.settings import read_method
from agentkit.conversation.agent import Agent
from agentkit.core.twin import Mode
from agentkit.errors import NoEligibleSpeaker, WrongArgument
from agentkit.messages import functions_of


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
            return _check_member(chat, answer)
        method = _read_answer(answer)
    if len(chat.agents) < 2:
        raise WrongArgument(
            f"A group chat needs at least two agents, this one has {len(chat.agents)}; add some, or"
            " let two agents talk directly."
        )
    candidates, only = _find_candidates(chat, last_speaker)
    if len(candidates) == 1:
        return Choice(candidates[0], only, [candidates[0].name])
    speaker, method = await _choose_by(
        mode, chat, read_method(method), last_speaker, selector, candidates
    )
    return Choice(speaker, method, [agent.name for agent in candidates])


def _check_member(chat: Group, agent: Agent) -> Choice:
    if agent not in chat.agents:
        raise WrongArgument(
            f"speaker_selection_method returned {agent.name!r}, which is not in the group"
            f" {chat.agent_names}."
        )
    return Choice(agent, "custom", chat.agent_names)


def _read_answer(answer: object) -> str:
    if answer is None:
        raise NoEligibleSpeaker("speaker_selection_method returned None.")
    if not isinstance(answer, str):
        raise WrongArgument(
            "speaker_selection_method must return an agent, the name of a method or None, not"
            f" {answer!r}."
        )
    return read_method(answer)


def _find_candidates(chat: Group, last_speaker: Agent) -> tuple[list[Agent], str]:
    """Who may speak now, in the order of the group, and what is to blame when it is only one."""
    followers = _find_followers(chat, last_speaker)
    if called := _list_called(chat):
        able = _find_executors(chat, called)
        # A call must be answered: when no transition leads to who can, the call goes first.
        return _select(able, followers) or able, "function"
    candidates = _select(chat.agents, followers)
    if not candidates:
        raise NoEligibleSpeaker(f"No transition leads on from {last_speaker.name}.")
    return candidates, "transition"


def _select(agents: list[Agent], allowed: list[Agent]) -> list[Agent]:
    return [agent for agent in agents if agent in allowed]


def _find_followers(chat: Group, last_speaker: Agent) -> list[Agent]:
    """Who may follow; anybody may follow somebody from outside, or when nothing was said about
    transitions.
    """
    if last_speaker not in chat.agents:
        return chat.agents
    if chat.speaker_transitions_type is None and chat.allow_repeat_speaker is True:
        return chat.agents
    return chat.allowed_speaker_transitions_dict.get(last_speaker, [])


def _list_called(chat: Group) -> list[str]:
    """The names of the functions that the last message calls, where that decides who speaks."""
    if not chat.func_call_filter or not chat.messages:
        return []
    return [str(call["name"]) for call in functions_of(chat.messages[-1]) if call.get("name")]


def _find_executors(chat: Group, called: list[str]) -> list[Agent]:
    """Who can execute what is called: all of it, else some of it, else any function at all, so that
    the model is told what went wrong. Raises WrongArgument when nobody can.
    """
    abilities = [_rate_ability(agent, called) for agent in chat.agents]
    best = max(abilities)
    if best == 0:
        raise WrongArgument(
            f"No agent of the group {chat.agent_names} can execute {', '.join(called)}; register"
            " the functions for execution."
        )
    return [agent for agent, rate in zip(chat.agents, abilities, strict=True) if rate == best]


def _rate_ability(agent: Any, called: list[str]) -> int:
    """How much of what is called the agent can execute: all 3, some 2, other functions 1."""
    can_execute = getattr(agent, "can_execute_function", None)
    if can_execute is None:
        return 0
    if can_execute(called):
        return 3
    if any(map(can_execute, called)):
        return 2
    return 1 if getattr(agent, "function_map", None) else 0


async def _choose_by(
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
