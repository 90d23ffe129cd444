"""Where a shortened history is put: into the agent's own conversation, and, if wanted, into those
of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentkit.conversation.agent import Agent
from agentkit.conversation.compression.shape import Messages
from agentkit.conversation.conversable import ConversableAgent
from agentkit.messages import Stored, copied, has_calls, says_same


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
    if peer is None or not known or len(known) != len(shown) or known[:-1] != shown[:-1]:
        return False
    stored, count = agent.chat_messages[peer], len(known)
    if stored[:count] != known:
        return False
    same = (
        made and made[-1] == shown[-1]
    )  # a hook's text of the last message is not for the history
    agent.chat_messages[peer] = ([*made[:-1], known[-1]] if same else list(made)) + stored[count:]
    return True


def broadcast(agent: ConversableAgent, peer: Agent | None, before: Messages) -> None:
    """Let the peer know the agent's conversation as it is now; in a group chat (the peer is its
    manager) the members, too.

    Who knew something else than `before`, roles aside, keeps that.
    """
    if peer is None or not isinstance(peer, ConversableAgent):
        return
    made = agent.chat_messages[peer]
    if _same(peer.chat_messages.get(agent), before):
        peer.chat_messages[agent] = [_as_seen_by_peer(message) for message in made]
    members: Sequence[Any] = getattr(getattr(peer, "groupchat", None), "agents", ())
    for member in members:
        if (
            member is not agent
            and isinstance(member, ConversableAgent)
            and _same(member.chat_messages.get(peer), before)
        ):
            member.chat_messages[peer] = [
                _as_seen_by_member(message, member.name) for message in made
            ]


def _as_seen_by_peer(message: Stored) -> Stored:
    role = message.get("role", "user")
    turned = {"user": "assistant", "assistant": "user"}.get(role, role)
    return {**message, "role": "assistant" if has_calls(message) else turned}


def _as_seen_by_member(message: Stored, name: str) -> Stored:
    if has_calls(message) or message.get("role") not in ("user", "assistant"):
        return copied(message)
    return {**message, "role": "assistant" if message.get("name") == name else "user"}


def _same(messages: Messages | None, others: Messages) -> bool:
    """Whether two agents heard the same in a group."""
    if messages is None or len(messages) != len(others):
        return False
    return all(map(says_same, messages, others))
