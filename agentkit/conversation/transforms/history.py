"""A limit on the number of messages."""

from __future__ import annotations

from agentkit.conversation.transforms.base import Messages
from agentkit.conversation.transforms.groups import check_limit, split_head
from agentkit.core.given import coalesce


class MessageHistoryLimiter:
    """Keeps the newest messages, at most `max_messages` (None: all), and drops the older ones.

    A system message at the head is kept and counts; so does whatever message is first with
    `keep_first_message`. A tool call and its results stay or go together. A model cannot go on
    without the newest of them: where there is room for a message, the newest call is kept with all
    its results, even above the limit. Raises WrongArgument below 1.
    """

    def __init__(self, max_messages: int | None = None, keep_first_message: bool = False) -> None:
        check_limit("MessageHistoryLimiter", "max_messages", max_messages, 1)
        self._max_messages = max_messages
        self._keep_first_message = keep_first_message

    def apply_transform(self, messages: Messages) -> Messages:
        """The messages that remain, in order, as a new list of the same dicts."""
        most = coalesce(self._max_messages, len(messages))
        if len(messages) <= most:
            return list(messages)
        head, rest = split_head(messages, keep_first=self._keep_first_message)
        if rest and len(head) > most:
            head = []
        return head + _keep_newest(rest, most - len(head))

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        """How many messages were removed, and whether any were."""
        before, after = len(pre_transform_messages), len(post_transform_messages)
        if before <= after:
            return "No messages were removed.", False
        told = f"Number of messages reduced from {before} to {after}."
        return f"Removed {before - after} messages. {told}", True


def _keep_newest(groups: list[Messages], room: int) -> Messages:
    """The messages of the newest groups, at most so many; of the very newest all, where there is
    room for any.
    """
    if room <= 0 or not groups:
        return []
    kept = groups[-1]
    for group in reversed(groups[-room:-1]):
        if len(kept) + len(group) > room:
            break
        kept = group + kept
    return kept
