"""Who may speak after whom: a directed graph of agents."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TypeGuard

from agentkit.conversation.agent import Agent
from agentkit.errors import WrongArgument

Transitions = dict[Agent, list[Agent]]


def build_transitions(
    agents: Sequence[Agent],
    allow_repeat: bool | Sequence[Agent],
    given: Mapping[Agent, Sequence[Agent]] | None,
    kind: str | None,
) -> Transitions:
    """Who may follow each agent: as given if `kind` is `allowed`, everybody but those given if it
    is `disallowed`.

    Without `given` everybody may follow everybody, themselves as `allow_repeat` says. Raises
    WrongArgument.
    """
    if given is None:
        return _allow_everybody(agents, _find_repeating(agents, allow_repeat))

    check_transitions(given, agents)
    if kind == "allowed":
        allowed = {agent: list(followers) for agent, followers in given.items()}
    else:
        allowed = {
            agent: [other for other in agents if other not in given.get(agent, ())]
            for agent in agents
        }
    _warn_of_oddities(allowed, agents)
    return allowed


def _find_repeating(
    agents: Sequence[Agent], allow_repeat: bool | Sequence[Agent]
) -> Sequence[Agent]:
    """The agents that may speak twice in a row."""
    if isinstance(allow_repeat, bool):
        return agents if allow_repeat else ()
    return allow_repeat


def _allow_everybody(agents: Sequence[Agent], repeating: Sequence[Agent]) -> Transitions:
    """Each agent is followed by all others, and last by itself if it is repeating."""
    allowed: Transitions = {}
    for agent in agents:
        followers = [other for other in agents if other is not agent]
        if agent in repeating:
            followers.append(agent)
        allowed[agent] = followers
    return allowed


def _warn_of_oddities(allowed: Transitions, agents: Sequence[Agent]) -> None:
    """Warn of agents that no transition leads to or on from, and of followers that stand there
    twice.
    """
    linked = [*filter(allowed.get, allowed), *chain(*allowed.values())]
    if isolated := [agent.name for agent in agents if agent not in linked]:
        warnings.warn(f"No transition leads to or from {isolated}.", UserWarning, stacklevel=5)
    for agent, followers in allowed.items():
        if repeated := Counter(followers) - Counter(set(followers)):
            names = sorted(each.name for each in repeated)
            warnings.warn(
                f"The transitions of {_show(agent)} name {names} more than once.",
                UserWarning,
                stacklevel=5,
            )


def check_transitions(given: object, agents: Sequence[Agent]) -> None:
    """Raise WrongArgument unless it is a graph over these agents; warn of followers that are not in
    the group.
    """
    what = "allowed_or_disallowed_speaker_transitions"
    if not isinstance(given, Mapping):
        raise WrongArgument(f"{what} must be a dict of agents and lists of agents, not {given!r}.")
    for agent, followers in given.items():
        if agent not in agents:
            raise WrongArgument(
                f"{what} has the key {_show(agent)}, which is not among the agents of the group."
            )
        if not _is_list_of_agents(followers):
            raise WrongArgument(
                f"{what} of {_show(agent)} must be a list of agents, not {followers!r}."
            )
        if strangers := [follower.name for follower in followers if follower not in agents]:
            warnings.warn(
                f"{what} of {_show(agent)} names {strangers}, who are not in the group.",
                UserWarning,
                stacklevel=5,
            )


def _is_list_of_agents(value: object) -> TypeGuard[list[Agent]]:
    return isinstance(value, list) and all(isinstance(each, Agent) for each in value)


def _show(agent: object) -> str:
    return repr(agent.name if isinstance(agent, Agent) else agent)
