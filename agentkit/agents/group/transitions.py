"""Who may speak after whom: a directed graph of agents."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from agentkit.conversation.agent import Agent
from agentkit.core.given import is_list_of, list_missing, list_new_objects
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
        return _allow_everybody(agents, allow_repeat)

    check_transitions(given, agents)
    allowed = dict(zip(given, map(list, given.values()), strict=True))
    if kind != "allowed":
        allowed = {agent: list_missing(agents, given.get(agent, ())) for agent in agents}
    _warn_of_oddities(allowed, agents)
    return allowed


def _allow_everybody(agents: Sequence[Agent], allow_repeat: bool | Sequence[Agent]) -> Transitions:
    """Each agent is followed by all others, and last by itself if it may repeat."""
    repeating: Sequence[Agent] = []
    if isinstance(allow_repeat, Sequence):
        repeating = allow_repeat
    elif allow_repeat:
        repeating = agents
    allowed: Transitions = {}
    for agent in agents:
        followers = list_new_objects([agent], agents)
        if agent in repeating:
            followers.append(agent)
        allowed[agent] = followers
    return allowed


def _warn_of_oddities(allowed: Transitions, agents: Sequence[Agent]) -> None:
    """Warn of agents that no transition leads to or on from, and of followers that stand there
    twice.
    """
    linked = [*filter(allowed.get, allowed), *chain(*allowed.values())]
    isolated = _name_all(list_missing(agents, linked))
    if isolated:
        _warn(f"No transition leads to or from {isolated}.")
    for agent, followers in allowed.items():
        repeated = Counter(followers) - Counter(set(followers))
        if repeated:
            names = sorted(_name_all(repeated))
            _warn(f"The transitions of {_show(agent)} name {names} more than once.")


def _name_all(agents: Iterable[Agent]) -> list[str]:
    return list(map(attrgetter("name"), agents))


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=6)


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
        if not is_list_of(followers, Agent):
            raise WrongArgument(
                f"{what} of {_show(agent)} must be a list of agents, not {followers!r}."
            )
        strangers = _name_all(list_missing(followers, agents))
        if strangers:
            _warn(f"{what} of {_show(agent)} names {strangers}, who are not in the group.")


def _show(agent: object) -> str:
    return repr(getattr(agent, "name", agent))
