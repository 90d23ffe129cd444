"""What an agent has said and heard, by the agent it talked with; messages are stored in AutoGen's
form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from agentkit.conversation.agent import Agent
from agentkit.conversation.checks import check_conversations
from agentkit.core.given import coalesce, copy_nested
from agentkit.errors import UnknownName, WrongArgument
from agentkit.messages import (
    SAID,
    THINKING,
    AnyMessage,
    Stored,
    answers_calls,
    as_dict,
    to_stored,
)


def snapshot(messages: Iterable[AnyMessage]) -> list[Stored]:
    """Copies of the messages that share nothing of what is said, but their other keys."""
    return [
        cast(Stored, {**each, **{key: copy_nested(each[key]) for key in SAID if key in each}})
        for each in messages
    ]


class History:
    """The conversations of one agent; each is a list, oldest message first."""

    def __init__(
        self, owner: str, chat_messages: Mapping[Agent, Sequence[AnyMessage]] | None = None
    ) -> None:
        """Begin with earlier conversations, whose lists are copied; raises WrongType for
        anything else.
        """
        check_conversations(owner, chat_messages)
        self.owner = owner
        self._thought = ("", "")
        self.messages: dict[Agent, list[Stored]] = defaultdict(list)
        for agent, messages in coalesce(chat_messages, {}).items():
            self.messages[agent] = cast(list[Stored], list(messages))

    def add(self, message: AnyMessage | str, role: str, peer: Agent, speaker: str) -> bool:
        """Store a message of the conversation with `peer`; False when it has neither content nor a
        call.
        """
        given = as_dict(self.owner, message)
        stored = to_stored(given, role, speaker)
        if stored is None:
            return False
        if speaker == self.owner:
            self._add_thinking(stored, given)
        self.messages[peer].append(stored)
        return True

    def keep_thinking(self, content: str, thinking: str) -> None:
        """What the model thought before it wrote `content`: it is stored with that, never sent."""
        self._thought = (content, thinking)

    def _add_thinking(self, stored: Stored, given: AnyMessage) -> None:
        thinking = given.get(THINKING)
        if not thinking and stored.get("content") == self._thought[0]:
            thinking = self._thought[1]
            self._thought = ("", "")
        if thinking:
            stored["reasoning_content"] = thinking

    def last(self, peer: Agent | None) -> Stored | None:
        """The newest message with `peer`, by default of the only conversation; None when there is
        none.

        Raises WrongArgument when several conversations are possible, UnknownName for a peer that
        was never met.
        """
        messages = self._find_only() if peer is None else self._find(peer)
        return next(reversed(messages), None)

    def _find_only(self) -> list[Stored]:
        if len(self.messages) > 1:
            raise WrongArgument(
                f"{self.owner} is in more than one conversation; name the agent whose last"
                " message you want as agent=."
            )
        return next(iter(self.messages.values()), [])

    def _find(self, peer: Agent) -> list[Stored]:
        if peer not in self.messages:
            known = [each.name for each in self.messages]
            raise UnknownName(
                f"{self.owner}: the agent {peer.name!r} is in no conversation with it; those with"
                f" {known} are known."
            )
        return self.messages[peer]

    def clear(self, peer: Agent | None, preserve: int | None, told: Callable[[str], None]) -> None:
        """Forget one conversation or all; the newest `preserve` messages stay, with the calls that
        their results answer.
        """
        count = coalesce(preserve, 0)
        if peer is not None:
            self.messages[peer] = self._keep_newest(self.messages[peer], count, told)
            return
        if count == 0:
            self.messages.clear()
        for each, messages in self.messages.items():
            self.messages[each] = self._keep_newest(messages, count, told)

    def _keep_newest(
        self, messages: list[Stored], count: int, told: Callable[[str], None]
    ) -> list[Stored]:
        if count <= 0:
            messages.clear()
            return messages
        start = max(0, len(messages) - count)
        while start > 0 and answers_calls(messages[start]):
            start -= 1
            told("One more message is kept: a call must stay with its result.")
        return messages[start:]
