"""How the next speaker of a group chat is chosen: who may speak, and who of them does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from agentkit.agents.group.auto import ask_model
from agentkit.agents.group.members import Group
from agentkit.agents.group.settings import read_method
from agentkit.conversation.agent import Agent
from agentkit.core.given import list_known
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
    names = list(map(attrgetter("name"), candidates))
    if len(candidates) == 1:
        return Choice(candidates[0], only, names)
    name = read_method(method)
    chosen = await _WAYS[name](mode, chat, candidates, selector)
    if chosen is None:
        return Choice(chat.next_agent(last_speaker, candidates), "round_robin", names)
    return Choice(chosen, name, names)


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
    return answer


def _find_candidates(chat: Group, last_speaker: Agent) -> tuple[list[Agent], str]:
    """Who may speak now, in the order of the group, and what is to blame when it is only one."""
    followers = _find_followers(chat, last_speaker)
    called: list[str] = []
    if chat.func_call_filter:
        called = _list_called(chat)
    if called:
        able = _find_executors(chat, called)
        following = _select(able, followers)
        # A call must be answered: when no transition leads to who can, the call goes first.
        return following or able, "function"
    candidates = _select(chat.agents, followers)
    if not candidates:
        raise NoEligibleSpeaker(f"No transition leads on from {last_speaker.name}.")
    return candidates, "transition"


def _select(agents: list[Agent], allowed: list[Agent]) -> list[Agent]:
    return list_known(agents, allowed)


def _find_followers(chat: Group, last_speaker: Agent) -> list[Agent]:
    """Who may follow; anybody may follow somebody from outside, or when nothing was said about
    transitions.
    """
    if last_speaker not in chat.agents:
        return chat.agents
    says_nothing = (chat.speaker_transitions_type, chat.allow_repeat_speaker) == (None, True)
    if says_nothing:
        return chat.agents
    return chat.allowed_speaker_transitions_dict.get(last_speaker, [])


def _list_called(chat: Group) -> list[str]:
    """The names of the functions that the last message calls."""
    if not chat.messages:
        return []
    called = functions_of(chat.messages[-1])
    return [str(call["name"]) for call in called if call.get("name")]


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
    able = zip(chat.agents, abilities, strict=True)
    return [agent for agent, ability in able if ability == best]


def _rate_ability(agent: Any, called: list[str]) -> int:
    """How much of what is called the agent can execute: all 3, some 2, other functions 1."""
    can_execute = getattr(agent, "can_execute_function", None)
    if can_execute is None:
        return 0
    if can_execute(called):
        return 3
    if any(map(can_execute, called)):
        return 2
    if getattr(agent, "function_map", None):
        return 1
    return 0


_Way = Callable[[Mode, Group, list[Agent], Agent | None], Awaitable[Agent | None]]
"""Gives the speaker, or None to leave it to the order of the group."""


async def _choose_by_chance(
    mode: Mode, chat: Group, candidates: list[Agent], selector: Agent | None
) -> Agent | None:
    return chat.random_select_speaker(candidates)


async def _let_person_choose(
    mode: Mode, chat: Group, candidates: list[Agent], selector: Agent | None
) -> Agent | None:
    chosen: Agent | None = await mode.block(chat.manual_select_speaker, candidates)
    return chosen


async def _leave_to_order(
    mode: Mode, chat: Group, candidates: list[Agent], selector: Agent | None
) -> Agent | None:
    return None


_WAYS: dict[str, _Way] = {
    "auto": ask_model,
    "manual": _let_person_choose,
    "random": _choose_by_chance,
    "round_robin": _leave_to_order,
}
