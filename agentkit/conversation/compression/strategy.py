"""What a strategy of compression is given, and what it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from agentkit.conversation.compression.meter import Meter, model_asked_by
from agentkit.conversation.compression.shape import Messages


@dataclass(frozen=True, slots=True)
class Scope:
    """What a strategy has to know about where it works."""

    meter: Meter
    """Counts as the agent's model does."""
    room: int
    """Tokens that the shortened messages should take at most."""
    cited: frozenset[int] = frozenset()
    """Numbers of the passages that are cited somewhere in the history."""
    client: Any = None
    """The OpenAIWrapper that the agent asks; None without a model."""
    agent: Any = None
    """Who asks."""

    @property
    def window(self) -> int | None:
        """The window of the model behind the client in tokens, if known."""
        return model_asked_by(self.client)[1]


@runtime_checkable
class Strategy(Protocol):
    """One way to make messages shorter; also for your own."""

    name: str
    """As events tell it."""

    def shorten(self, messages: Messages, scope: Scope) -> Messages:
        """Messages that stand for those given, as a new list; those given stay as they are.

        A message that stands for others is made by `summary_message`. Calls stay with their
        results. Raises AgentkitError (or whatever a client raises) when it cannot; the history is
        left whole then.
        """
