"""What tokens cost by bucket."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.events import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars for a million tokens of each bucket; reasoning costs what output does."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost(self, usage: Usage) -> float:
        """US dollars for this usage."""
        dollars = (
            usage.input * self.input
            + usage.cache_read * self.cache_read
            + usage.cache_write * self.cache_write
            + usage.completion * self.output
        )
        return dollars / MILLION


FREE = Rates(0.0, 0.0, 0.0, 0.0)
