"""Shortening the results of tools: usually the bulk of a history, and soon of little use."""

from __future__ import annotations

from agentkit.conversation.compression.shape import Messages
from agentkit.conversation.compression.strategy import Scope
from agentkit.core.given import join_filled
from agentkit.errors import WrongArgument
from agentkit.llm.offline.passages import format_passages, parse_passages, without_passages
from agentkit.messages import Stored, text_of, with_contents


class ToolOutput:
    """Cuts results of tools to their beginning, the oldest first, until the messages fit; nothing
    else is changed.

    `keep` is how many tokens of each are left. Passages that are cited stay whole. Raises
    WrongArgument for a negative `keep`.
    """

    name = "tool output"

    def __init__(self, keep: int = 32) -> None:
        if keep < 0:
            raise WrongArgument(f"ToolOutput: keep={keep} must be 0 or more tokens.")
        self._keep = keep

    def shorten(self, messages: Messages, scope: Scope) -> Messages:
        """The messages with shorter results, as far as that is needed."""
        made = list(messages)
        total = scope.meter.count(made)
        for place, message in enumerate(messages):
            if total <= scope.room:
                break
            shorter = self._cut(message, scope)
            if (saved := scope.meter.count([message]) - scope.meter.count([shorter])) > 0:
                made[place] = shorter
                total -= saved
        return made

    def _cut(self, message: Stored, scope: Scope) -> Stored:
        return with_contents(message, lambda content: self._text(content, scope))

    def _text(self, content: object, scope: Scope) -> str:
        text, meter = text_of(content), scope.meter
        rest = without_passages(text)
        start = meter.cut(rest, self._keep).rstrip()
        lost = meter.text(rest) - meter.text(start)
        note = f" … [{lost} more tokens of this result were dropped]"
        cut = rest
        if lost > meter.text(note):
            cut = start + note
        cited = [found for found in parse_passages(text) if found.marker in scope.cited]
        return join_filled("\n", (cut, format_passages(cited)))
