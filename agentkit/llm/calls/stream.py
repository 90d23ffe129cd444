"""The text of a model call while it is on its way: clients say it piece by piece, `call` adds whose
it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from agentkit.core import bus
from agentkit.events import ThinkingDelta, TokenDelta
from agentkit.llm.calls.thinking import Kind, Part, Splitter


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
    thoughts: list[str] = field(default_factory=list)
    """What the model thought before it answered."""
    thinking_s: float | None = None
    """How long; None when nothing was thought."""
    tell: Callable[[Mapping[str, Any]], None] | None = None
    """Hears what goes out to the server."""
    is_told: bool = False
    """Whether it has heard that."""
    _began_thinking: float | None = None
    _splitter: Splitter = field(default_factory=Splitter)

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self.pieces)

    @property
    def thinking(self) -> str:
        """All that was thought so far."""
        return "".join(self.thoughts).strip()

    def send(self, request: Mapping[str, Any]) -> None:
        """This goes out to the server now."""
        self.is_told = True
        if self.tell:
            self.tell(request)

    def add(self, text: str) -> None:
        """Take the next piece of the reply, in which tags may tell thinking from the answer."""
        self._tell(self._splitter.feed(text))

    def think(self, text: str) -> None:
        """Take the next piece of thinking, which came beside the text."""
        self._splitter.thought_elsewhere()
        self._tell([Part("thinking", text)])

    def close(self) -> None:
        """Nothing more comes: tell what was held back, since it might have become a tag."""
        self._tell(self._splitter.close())
        self.seconds = time.monotonic() - self.began
        self._end_thinking()

    def _tell(self, parts: list[Part]) -> None:
        for part in parts:
            _TAKE[part.kind](self, part.text)

    def _take_text(self, text: str) -> None:
        self._end_thinking()
        if self.first_token_s is None:
            self.first_token_s = time.monotonic() - self.began
        self.pieces.append(text)
        bus.emit(TokenDelta(text, self.agent, self.call_id))

    def _take_thinking(self, text: str) -> None:
        if self._began_thinking is None:
            self._began_thinking = time.monotonic()
        self.thoughts.append(text)
        bus.emit(ThinkingDelta(text, self.agent, self.call_id))

    def _take_back(self, text: str) -> None:
        """All text so far was thinking."""
        self._began_thinking = self.began + (self.first_token_s or 0.0)
        self.thoughts, self.pieces = self.thoughts + self.pieces, []
        self.first_token_s = None
        bus.emit(ThinkingDelta(text, self.agent, self.call_id, was_text=True))

    def _end_thinking(self) -> None:
        if self.thinking_s is None and self._began_thinking is not None:
            self.thinking_s = time.monotonic() - self._began_thinking


_TAKE: Mapping[Kind, Callable[[Streamed, str], None]] = {
    "text": Streamed._take_text,
    "thinking": Streamed._take_thinking,
    "was_thinking": Streamed._take_back,
}
"""How a part of a reply is taken in, by its kind."""
_streamed: ContextVar[Streamed | None] = ContextVar("agentkit_streamed", default=None)


def delta(text: str) -> None:
    """Send the next piece of a reply on; a ModelClient calls this for what it streams."""
    if not text:
        return
    streamed = _streamed.get()
    if streamed is None:
        bus.emit(TokenDelta(text))
    else:
        streamed.add(text)


def thought(text: str) -> None:
    """Send the next piece of thinking on, which came beside the text; also for a ModelClient."""
    if not text:
        return
    streamed = _streamed.get()
    if streamed is None:
        bus.emit(ThinkingDelta(text))
    else:
        streamed.think(text)


def note_sent(request: Mapping[str, Any]) -> None:
    """Say what goes out to the server now; for a ModelClient that `says_what_it_sends`, each time
    that it does.
    """
    streamed = _streamed.get()
    if streamed is not None:
        streamed.send(request)


@contextmanager
def streaming(
    agent: str, call_id: str, tell: Callable[[Mapping[str, Any]], None] | None = None
) -> Iterator[Streamed]:
    """While the block runs, pieces belong to this call and are collected; `tell` hears what is
    sent.
    """
    streamed = Streamed(agent, call_id, tell=tell)
    token = _streamed.set(streamed)
    try:
        yield streamed
    finally:
        _streamed.reset(token)
