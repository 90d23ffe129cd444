"""The text of a model call while it is on its way: clients say it piece by piece, `call` adds whose it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from agentkit.core import bus
from agentkit.events import TokenDelta


@dataclass(slots=True)
class Streamed:
    """What one call has streamed so far."""

    agent: str = ""
    call_id: str = ""
    began: float = field(default_factory=time.monotonic)
    first_token_s: float | None = None
    seconds: float = 0.0
    """Until the client was done, whichever way."""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self.pieces)


_streamed: ContextVar[Streamed | None] = ContextVar("agentkit_streamed", default=None)


def delta(text: str) -> None:
    """Send the next piece of a reply on; a ModelClient calls this for what it streams."""
    streamed = _streamed.get() or Streamed()
    if not text:
        return
    if streamed.first_token_s is None:
        streamed.first_token_s = time.monotonic() - streamed.began
    streamed.pieces.append(text)
    bus.emit(TokenDelta(text, streamed.agent, streamed.call_id))


@contextmanager
def streaming(agent: str, call_id: str) -> Iterator[Streamed]:
    """While the block runs, pieces belong to this call and are collected."""
    streamed = Streamed(agent, call_id)
    token = _streamed.set(streamed)
    try:
        yield streamed
    finally:
        _streamed.reset(token)
