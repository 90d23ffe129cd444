"""A sliding window: the newest messages as they are, and a running summary of all before."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from agentkit.conversation.compression.extraction import Extraction
from agentkit.conversation.compression.shape import Messages, split_into_blocks
from agentkit.conversation.compression.strategy import Scope, Strategy
from agentkit.errors import WrongArgument


class SlidingWindow:
    """Keeps the newest messages whole and lets `summary` (by default an extraction) renew the
    summary of the older ones.

    `share` is how much of the room the whole messages may take. Raises WrongArgument for a share
    that is not between 0 and 1.
    """

    def __init__(self, summary: Strategy | None = None, share: float = 0.5) -> None:
        if not 0 < share < 1:
            raise WrongArgument(f"SlidingWindow: share={share!r} must be between 0 and 1.")
        self._summary = summary or Extraction()
        self._share = share
        self.name = f"sliding window, {self._summary.name}"

    def shorten(self, messages: Messages, scope: Scope) -> Messages:
        """The running summary, then the newest messages; raises what the summary raises."""
        older = split_into_blocks(messages)
        left = int(self._share * scope.room)
        newer: Messages = []
        while len(older) > 1 and (size := scope.meter.count(older[-1])) <= left:
            left -= size
            newer = older.pop() + newer
        narrower = replace(scope, room=scope.room - scope.meter.count(newer))
        summary = self._summary.shorten(list(chain.from_iterable(older)), narrower)
        return summary + newer
