"""Where a shortened history is put: into the agent's own conversation, and, if wanted, into those
of the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentkit.conversation.agent import Agent
from agentkit.conversation.compression.shape import Messages
from agentkit.conversation.conversable import ConversableAgent
from agentkit.messages import Stored, copied, has_calls, says_same

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
    stored, count = agent.chat_messages[peer], len(known)
    if stored[:count] != known:
        return False
    if made[-1:] == shown[-1:]:  # a hook's text of the last message is not for the history
        made = [*made[:-1], known[-1]]
    agent.chat_messages[peer] = [*made, *stored[count:]]
    return True


def _differ_in_last_only(known: Messages, shown: Messages) -> bool:
    """Whether the lists are the same but perhaps for the last message; empty ones have none."""
    return bool(known) and len(known) == len(shown) and known[:-1] == shown[:-1]


def broadcast(agent: ConversableAgent, peer: Agent | None, before: Messages) -> None:
    """Let the peer know the agent's conversation as it is now; in a group chat (the peer is its
    manager) the members, too.

    Who knew something else than `before`, roles aside, keeps that.
    """
    if not isinstance(peer, ConversableAgent):
        return
    made = agent.chat_messages[peer]
    if _heard_same(peer.chat_messages.get(agent, []), before):
        peer.chat_messages[agent] = [_to_peer_view(message) for message in made]
    for member in _find_other_members(peer, agent):
        if _heard_same(member.chat_messages.get(peer, []), before):
            member.chat_messages[peer] = [_to_member_view(message, member.name) for message in made]


def _find_other_members(manager: ConversableAgent, agent: Agent) -> Iterator[ConversableAgent]:
    """The members of the group that the manager leads; none, when it leads no group."""
    group = getattr(manager, "groupchat", None)
    for member in getattr(group, "agents", ()):
        if member is not agent and isinstance(member, ConversableAgent):
            yield member


def _to_peer_view(message: Stored) -> Stored:
    if has_calls(message):
        return {**message, "role": "assistant"}
    role = message.get("role", "user")
    return {**message, "role": _TURNED.get(role, role)}


def _to_member_view(message: Stored, name: str) -> Stored:
    if has_calls(message) or message.get("role") not in _TURNED:
        return copied(message)
    return {**message, "role": "assistant" if message.get("name") == name else "user"}


def _heard_same(messages: Messages, others: Messages) -> bool:
    return len(messages) == len(others) and all(map(says_same, messages, others))
