"""The listener that hands the events of a run to the ledger, as they come or a few together."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    Event,
    ModelCalled,
    ModelReplied,
    Purpose,
    Recorded,
    Retrieved,
    TokenDelta,
)
from agentkit.ledger.rows import RunKey

_NOT_STORED = (TokenDelta, DocumentProgress)
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


class CallKeeper(Protocol):
    """What stores model calls that belong to no run, such as a ledger."""

    def keep_call(self, owner: str, call: Recorded) -> None:
        """Store a ModelReplied."""


class CallWriter:
    """Writes the model calls that it hears of outside of runs, and nothing else.

    `agent` is who asked where a call does not say, and `purpose` what all of them are for if that
    is not what each says.
    """

    def __init__(
        self, ledger: CallKeeper, owner: str, agent: str, purpose: Purpose | None = None
    ) -> None:
        self._ledger, self._owner, self._agent, self._purpose = ledger, owner, agent, purpose

    def write(self, event: Event) -> None:
        """Store a call; it is a listener of the bus."""
        if isinstance(event, ModelReplied):
            purpose = self._purpose or event.purpose
            call = replace(event, agent=event.agent or self._agent, purpose=purpose)
            self._ledger.keep_call(self._owner, Recorded(1, time.time(), call))


def _may_wait(event: Event) -> bool:
    embedding = isinstance(event, ModelReplied) and event.purpose == "embedding"
    return isinstance(event, _MAY_WAIT) or embedding
