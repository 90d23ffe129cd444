"""The listener that hands the events of a run to the ledger, as they come or a few together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    Event,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    ThinkingDelta,
    TokenDelta,
)
from agentkit.ledger.rows import RunKey

_NOT_STORED = (TokenDelta, ThinkingDelta, DocumentProgress)
_MAY_WAIT = (DocumentDone, ModelCalled, Retrieved)
_HELD, _HELD_S = 64, 1.0  # an ingest of many small documents would else spend its time on commits


class Keeper(Protocol):
    """What stores events, such as a ledger."""

    def keep(self, run: RunKey, events: Sequence[Recorded]) -> None:
        """Store events of a run and what follows from them."""


class LedgerWriter:
    """Writes the events of one run; `chat_id` and `message_id` say what its calls are for."""

    def __init__(
        self,
        ledger: Keeper,
        run_id: str,
        owner: str,
        chat_id: str | None = None,
        message_id: str | None = None,
    ) -> None:
        self.ledger = ledger
        self.run = RunKey(run_id, owner, chat_id, message_id)
        self._held: list[Recorded] = []
        self._lock = threading.Lock()

    def write(self, recorded: Recorded) -> None:
        """Store an event and what follows from it.

        Events that may wait are kept back, for a second at most while others come.
        """
        if isinstance(recorded.event, _NOT_STORED):
            return
        if due := self._due(recorded):
            self.ledger.keep(self.run, due)

    def _due(self, recorded: Recorded) -> list[Recorded]:
        """What is to be written now; a run may emit from several threads."""
        with self._lock:
            self._held.append(recorded)
            young = recorded.at - self._held[0].at <= _HELD_S
            if _may_wait(recorded.event) and len(self._held) < _HELD and young:
                return []
            due, self._held = self._held, []
            return due


def _may_wait(event: Event) -> bool:
    embedding = isinstance(event, ModelReplied) and event.purpose == "embedding"
    return isinstance(event, _MAY_WAIT) or embedding
