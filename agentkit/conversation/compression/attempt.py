"""One attempt to shorten a history: it is measured, checked, paid for and told; what fails leaves
the history whole.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agentkit.conversation import announcing
from agentkit.conversation.compression.citing import add_passages, estimate_room, find_cited
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.shape import Messages, divide, find_damage, is_summary
from agentkit.conversation.compression.strategy import Scope, Strategy
from agentkit.core import bus
from agentkit.core.given import coalesce, list_new_objects
from agentkit.core.io import is_quiet
from agentkit.errors import AgentkitError, Stopped
from agentkit.events import Compressed, Event, ModelReplied
from agentkit.messages import Stored

_LEAST_ROOM = 24


@dataclass(slots=True)
class Spending:
    """What the model calls of a block took."""

    tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None as soon as one price is unknown."""

    def __call__(self, event: Event) -> None:
        """Count a call that reached a model."""
        if not isinstance(event, ModelReplied) or event.status == "cached":
            return
        self.tokens += event.usage.total
        if self.cost is None or event.cost is None:
            self.cost = None
            return
        self.cost += event.cost


@contextmanager
def count_spending() -> Iterator[Spending]:
    """Count what the model calls in the block take."""
    spent = Spending()
    with bus.listening(spent):
        yield spent


@dataclass(frozen=True, slots=True)
class Attempt:
    """Who shortens, in which way, and what holds for the result."""

    agent: str
    strategy: str
    meter: Meter
    fixed: int
    """Tokens that are sent beside the history."""
    limit: int
    """Tokens that may be sent in all."""

    def tokens(self, messages: Sequence[Stored]) -> int:
        """Tokens that are sent with this history."""
        return self.fixed + self.meter.count(messages)

    def due_at(self, trigger: int, messages: Sequence[Stored]) -> int:
        """Tokens from which on this history is shortened: the trigger, or more where the first
        message takes most of it.

        Otherwise such a history would be shortened again for every reply, and each time a model
        might have to be paid.
        """
        least = self.tokens(divide(messages, 1)[0])
        return max(trigger, min(least + trigger // 2, (trigger + self.limit) // 2))

    async def run(
        self, before: Messages, shorten: Callable[[], Awaitable[Messages]]
    ) -> Messages | None:
        """The shorter history; None when that failed. Both are told by the event Compressed and on
        the console.

        Raises Stopped, and nothing else.
        """
        began = time.monotonic()
        made: Messages | None = None
        error = ""
        with count_spending() as spent:
            try:
                made = await shorten()
                error = self.find_fault(before, made)
            except Stopped:
                raise
            except Exception as raised:  # noqa: BLE001
                # Strategies and clients of others raise anything.
                error = describe_failure(raised)
        if error:
            made = None
        self._announce(before, made, error, spent, time.monotonic() - began)
        return made

    def find_fault(self, before: Sequence[Stored], after: Sequence[Stored]) -> str:
        """Why the result cannot take the place of the history; empty when it can."""
        taken, was = self.tokens(after), self.tokens(before)
        if found := find_damage(before, after):
            return found
        if taken > self.limit:
            return f"the shortened history takes {taken} tokens, {self.limit} are allowed"
        if taken >= was:
            return f"the shortened history takes {taken} tokens, no less than the {was} before"
        return ""

    def _announce(
        self, before: Messages, made: Messages | None, error: str, spent: Spending, seconds: float
    ) -> None:
        after = coalesce(made, before)
        was, taken = self.tokens(before), self.tokens(after)
        new = list_new_objects(before, after)  # a message that stays may look like a summary, too
        summaries = [each["content"] for each in new if is_summary(each)]
        event = Compressed(
            self.agent,
            self.strategy,
            not error,
            len(before),
            len(after),
            was,
            taken,
            spent.tokens,
            spent.cost,
            seconds,
            self.meter.estimated,
            "\n\n".join(summaries),
            error,
        )
        outcome = f"was shortened to {len(after)} ({taken} tokens), {self.strategy}"
        if error:
            outcome = f"was not shortened: {error}"
        history = f"the history of {len(before)} messages ({was} tokens)"
        announcing.announce(event, f">>>> {self.agent}: {history} {outcome}", is_quiet())


def describe_failure(error: Exception) -> str:
    """What went wrong, for a person to read; of an error that is not ours, its kind too."""
    if isinstance(error, AgentkitError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def assemble(
    parts: tuple[Messages, Messages, Messages],
    strategies: Sequence[Strategy],
    attempt: Attempt,
    trigger: int,
    client: Any,
    agent: Any,
) -> Messages:
    """Head, shortened middle and tail of a history that was divided; cited passages of the middle
    stay in its summary.

    Half of what is free below `trigger` is left for what comes. Raises AgentkitError where there is
    nothing to shorten, or no room for what would stand for it, and what the strategies raise.
    """
    head, middle, tail = parts
    kept = [*head, *tail]
    taken = attempt.tokens(kept)
    if not middle:
        raise AgentkitError(
            "there is nothing between the first message and the newest ones that could be shortened"
        )
    room = (trigger - taken) // 2
    if room < _LEAST_ROOM:  # what must stay may fill what is below the trigger, but not the limit
        room = (attempt.limit - taken) // 2
    if room < _LEAST_ROOM:
        raise AgentkitError(
            f"what has to stay takes {taken} of the {attempt.limit} tokens; there is no room for a"
            " summary"
        )
    meter = attempt.meter
    needed = estimate_room(middle, kept, room, meter)
    scope = Scope(meter, room - needed, frozenset(find_cited([*kept, *middle])), client, agent)
    made = middle
    for strategy in strategies:
        if made is middle or meter.count(made) > scope.room:
            made = strategy.shorten(made, scope)
    return [*head, *add_passages(made, middle, kept, needed, meter), *tail]
