"""What a chat keeps in this process between its questions: its agents, and their words as they were
told last.

All of it can be had from the ledger as well, so it may go at any moment; what models are sent is
the same then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentkit.core import stopping
from agentkit.messages import Calls

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Said:
    """A word of one agent to the others."""

    sender: str
    role: str
    content: str
    calls: Calls = field(default_factory=Calls)


@dataclass(frozen=True, slots=True)
class Told:
    """Words as they are told for a later question, and their tokens by a model's count."""

    words: Sequence[Said]
    tokens: int


class Session:
    """The agents of one chat while nobody asks; a team takes its own out to work."""

    def __init__(self) -> None:
        self.told: dict[Hashable, Told] = {}
        """What was told for the last question, by all that it was made of."""
        self._crews: dict[str, tuple[tuple[object, ...], Any]] = {}

    def __len__(self) -> int:
        """How many teams have agents here."""
        return len(self._crews)

    @contextmanager
    def crew(self, team: str, made_of: Sequence[object], build: Callable[[], C]) -> Iterator[C]:
        """The agents of a team for one question: those of before if they were made of the same
        things, such as model and tools, else new ones.

        They stay for the next question, but after an error or a stop: who was left in the middle of
        something goes.
        """
        facts = tuple(made_of)
        made_before, crew = self._crews.pop(team, (None, None))
        if crew is None or made_before != facts:
            crew = build()
        yield crew
        if not stopping.current().is_set:
            self._crews[team] = (facts, crew)
