"""Where a shortened history is put: into the agent's own conversation, and, if wanted, into those
of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from agentkit.conversation.agent import Agent
from agentkit.conversation.compression.shape import Messages
from agentkit.conversation.conversable import ConversableAgent
from agentkit.core.given import list_missing
from agentkit.messages import Stored, copy_message, has_calls, says_same

_TURNED = {"user": "assistant", "assistant": "user"}


def keep(
    agent: ConversableAgent, peer: Agent | None, known: Messages, shown: Messages, made: Messages
) -> bool:
    """Put the shortened history into the agent's conversation with the peer; the list that was
    there does not change.

    `known` is a copy of the conversation as it was when `shown` was shortened. Where hooks had
    changed more of it than the last message, `shown` is a view of one reply: the conversation then
    stays as it is, and the result is False. So it is where the conversation was cleared meanwhile;
    what came in meanwhile stays behind the shortened history.
    """
    if peer is None or not _differ_in_last_only(known, shown):
        return False
    stored = agent.chat_messages[peer]
    before, since = stored[: len(known)], stored[len(known) :]
    if before != known:
        return False
    if made[-1:] == shown[-1:]:  # a hook's text of the last message is not for the history
        made = [*made[:-1], known[-1]]
    agent.chat_messages[peer] = [*made, *since]
    return True


def _differ_in_last_only(known: Messages, shown: Messages) -> bool:
    """Whether the lists are the same but perhaps for the last message; empty ones have none."""
    if not known or len(known) != len(shown):
        return False
    return known[:-1] == shown[:-1]


def broadcast(agent: ConversableAgent, peer: Agent | None, before: Messages) -> None:
    """Let the peer know the agent's conversation as it is now; in a group chat (the peer is its
    manager) the members, too.

    Who knew something else than `before`, roles aside, keeps that.
    """
    if not isinstance(peer, ConversableAgent):
        return
    made = agent.chat_messages[peer]
    _replace(peer, agent, before, map(_to_peer_view, made))
    for member in _find_other_members(peer, agent):
        views = map(_to_member_view, made, repeat(member.name))
        _replace(member, peer, before, views)


def _replace(
    listener: ConversableAgent, speaker: Agent, before: Messages, after: Iterable[Stored]
) -> None:
    """Put the messages in place of what the listener knows, if that is what was said before."""
    known = listener.chat_messages.get(speaker, [])
    if len(known) == len(before) and all(map(says_same, known, before)):
        listener.chat_messages[speaker] = list(after)


def _find_other_members(manager: ConversableAgent, agent: Agent) -> Iterator[ConversableAgent]:
    """The members of the group that the manager leads; none, when it leads no group."""
    group = getattr(manager, "groupchat", None)
    for member in list_missing(getattr(group, "agents", ()), [agent]):
        if isinstance(member, ConversableAgent):
            yield member


def _to_peer_view(message: Stored) -> Stored:
    """The message as who hears it keeps it; a call stays one of an assistant."""
    view = copy_message(message)
    role = message.get("role", "user")
    view["role"] = _TURNED.get(role, role)
    if has_calls(message):
        view["role"] = "assistant"
    return view


def _to_member_view(message: Stored, name: str) -> Stored:
    """The message as a member of this name keeps it."""
    view = copy_message(message)
    if has_calls(message) or message.get("role") not in _TURNED:
        return view
    view["role"] = "user"
    if message.get("name") == name:
        view["role"] = "assistant"
    return view
