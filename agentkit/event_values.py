"""Values that events hold: how something ended, what a model call took, what was thought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MessageStatus = Literal["complete", "stopped", "failed", "interrupted"]
CallStatus = Literal["ok", "failed", "stopped", "cached"]
ReplyEnd = Literal["whole", "token_limit", "filtered", "broken_off", "too_long"]
"""How a model's reply ended: as the model meant it; at the limit of tokens; by a filter of the
provider; by a server that went away without saying that this was all; or beyond what is taken of
one reply.
"""
DocumentStatus = Literal["indexed", "unchanged", "failed", "stopped"]
Purpose = Literal["chat", "embedding", "rerank", "test", "follow-up"]
"""What a model was called for."""
Stage = Literal["waiting", "parse", "split", "prepare", "embed", "commit", "index"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call in exclusive buckets: their sum is what was processed."""

    input: int = 0
    """Prompt tokens that no provider cache served."""
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    """Completion tokens without reasoning."""
    reasoning: int = 0
    estimated: bool = False
    """True when we counted and the server did not say."""

    @property
    def total(self) -> int:
        """All tokens of the call."""
        return self.input + self.cache_read + self.cache_write + self.output + self.reasoning

    @property
    def prompt(self) -> int:
        """Tokens that went in, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def completion(self) -> int:
        """Tokens that came out, reasoning included."""
        return self.output + self.reasoning


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call of a tool that waits for a person's consent: who wants it, and whose tool it is."""

    agent: str
    tool: str
    """By the name that its maker gave it."""
    server: str = ""
    """Name of the MCP server that has it; empty for what runs here."""
    again: bool = False
    """Whether it had begun in a run that broke off, and nobody knows whether it was done."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a reasoning model thought before its answer; part of no answer and no prompt."""

    text: str
    seconds: float | None = None
    """Until it began to answer; None where the reply was not streamed."""
    tokens: int = 0
    estimated: bool = False
    """Whether we counted the tokens, because the server did not say."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """Why a search went by words alone: the embedding model that the other modes need was out of
    reach.
    """

    wanted: str
    """The mode that was asked for."""
    embedder: str
    """Name of the embedding model."""
    error: str
    error_type: str
