"""What happens at a call of a model: it goes out, text arrives, and it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentkit.event_values import CallStatus, Purpose, ReplyEnd, Thinking, Usage


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A request goes out to a model."""

    call_id: str
    agent: str
    provider: str
    model: str
    purpose: Purpose = "chat"
    messages: list[dict[str, Any]] = field(default_factory=list)
    """As they were sent."""
    request: dict[str, Any] = field(default_factory=dict)
    """All that was sent, in its order, with None for the messages; empty when unknown."""
    asked: str = ""
    """The hash of what was asked, before it was shortened or put in order for the model."""


@dataclass(frozen=True, slots=True)
class TokenDelta:
    """The next piece of text of a streamed reply; it is stored only until the reply is there."""

    text: str
    agent: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The next piece of what a model thinks before it answers; shown, never stored."""

    text: str
    agent: str = ""
    call_id: str = ""
    was_text: bool = False
    """Whether this says, with no text of its own, that the text of the call so far was thinking."""


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """A model call ended, in whichever way; one row of `llm_calls`."""

    call_id: str
    agent: str
    provider: str
    model: str
    purpose: Purpose = "chat"
    status: CallStatus = "ok"
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    first_token_s: float | None = None
    """Seconds until the first piece of text, for streamed calls; thinking does not count."""
    cost: float | None = None
    """US dollars; None when the price is unknown."""
    attempt: int = 1
    error: str = ""
    error_type: str = ""
    raw_usage: dict[str, Any] = field(default_factory=dict)
    """The server's own usage figures, unchanged."""
    end: ReplyEnd | None = None
    """How the reply ended; None when there is none, or only a part because the run was stopped."""
    thinking: Thinking | None = None
    retry_in_s: float | None = None
    """Seconds from then to the next attempt of a call that failed; None where there is none."""
    asked: str = ""
    """The same as of its ModelCalled; empty in what older versions stored."""
    message: dict[str, Any] = field(default_factory=dict)
    """The reply as it goes into a history, without its content where that is `text`."""
    replayed: bool = False
    """Whether it was taken over from the run that this one goes on with, and not asked anew."""
