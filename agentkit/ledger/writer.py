"""The listener that hands the events of a run to the ledger, as they come or a few together."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from agentkit.errors import StoreError
from agentkit.events import (
    CodeBegan,
    CodeOutput,
    CodeRan,
    DocumentProgress,
    Event,
    HumanAnswered,
    HumanInputRequested,
    ModelReplied,
    Purpose,
    Recorded,
    Retrieved,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    StepDone,
    ThinkingDelta,
    TokenDelta,
    ToolCalled,
    ToolReturned,
)
from agentkit.ledger.rows import RunKey

_STEPS = (
    RunStarted,
    ModelReplied,
    ToolCalled,
    ToolReturned,
    CodeBegan,
    CodeRan,
    StepDone,
    HumanInputRequested,
    HumanAnswered,
)
"""What is stored before the work goes on: a run that dies is gone on with from the last of these;
that a tool begins is stored before it runs.
"""
_NOT_STORED = (CodeOutput, DocumentProgress, ThinkingDelta)
_ENDS = (RunFinished, RunFailed, RunStopped)
_HELD = 64  # an ingest of many small documents would else spend its time on commits
LONGEST_WAIT_S = 0.25
"""Seconds after which what waits is stored: a process that is killed loses no more than that."""


class Keeper(Protocol):
    """What stores events, such as a ledger."""

    def keep(self, run: RunKey, events: Sequence[Recorded]) -> None:
        """Store events of a run and what follows from them."""


class LedgerWriter:
    """Writes the events of one run.

    The text of a reply is stored while it is written: what came in `wait_s` seconds as one piece.
    """

    def __init__(
        self,
        ledger: Keeper,
        run: RunKey,
        wait_s: float = LONGEST_WAIT_S,
    ) -> None:
        self.ledger, self.run = ledger, run
        self._wait_s = wait_s
        self._held: list[Recorded] = []
        self._texts: dict[str, _Text] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def write(self, recorded: Recorded) -> None:
        """Store an event and what follows from it.

        Steps are stored at once; other events are kept back for a quarter of a second at most, and
        so is text. Raises StoreError when this event cannot be stored, or those that waited.
        """
        event = recorded.event
        if isinstance(event, _NOT_STORED):
            return
        if isinstance(event, _ENDS):
            self._end_timer()
        self._keep(self._take_due(recorded))

    def flush(self) -> None:
        """Store now what waits, and the text of replies so far; raises StoreError."""
        self._end_timer()
        with self._lock:
            due = self._take_all()
        self._keep(due)

    def _keep(self, due: Sequence[Recorded]) -> None:
        """Store them together; where that fails, each that can be stored by itself."""
        if not due:
            return
        try:
            self.ledger.keep(self.run, due)
        except Exception as error:
            if len(due) == 1 or isinstance(error, StoreError):
                raise
            for one in due:
                with suppress(Exception):
                    self.ledger.keep(self.run, [one])
            raise

    def _take_due(self, recorded: Recorded) -> list[Recorded]:
        """What is to be written now; a run may emit from several threads."""
        event = recorded.event
        with self._lock:
            if isinstance(event, TokenDelta):
                self._texts.setdefault(event.call_id, _Text(event.agent)).add(recorded, event.text)
                self._begin_timer()
                return []
            if isinstance(event, ModelReplied):
                self._texts.pop(event.call_id, None)  # it has all the text
            self._held.append(recorded)
            if not self._is_step(event) and len(self._held) < _HELD:
                self._begin_timer()
                return []
            return self._take_all()

    def _is_step(self, event: Event) -> bool:
        if isinstance(event, ModelReplied):
            return event.purpose != "embedding"
        of_answer = isinstance(event, Retrieved) and self.run.chat_id is not None
        return of_answer or isinstance(event, (*_STEPS, *_ENDS))

    def _take_all(self) -> list[Recorded]:
        """What is kept back, which is not any more."""
        texts = [text.piece(call_id) for call_id, text in self._texts.items()]
        taken, self._held = [*texts, *self._held], []  # in this order: what ends a text ends it
        self._texts = {}
        return taken

    def _begin_timer(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(self._wait_s, self._store_waiting)
            self._timer.name, self._timer.daemon = f"agentkit-writer-{self.run.id[:12]}", True
            self._timer.start()

    def _end_timer(self) -> None:
        """Wait for what it stores: a process that exits meanwhile would crash in the database."""
        with self._lock:
            timer = self._timer
        if timer is not None and timer is not threading.current_thread():
            timer.cancel()
            timer.join()

    def _store_waiting(self) -> None:
        with self._lock:
            due = self._take_all()
        failed: list[Recorded] = []
        try:
            if due:
                self.ledger.keep(self.run, due)
        except Exception:  # noqa: BLE001 (the run hears of it: its next event brings these along)
            failed = due
        with self._lock:
            self._timer = None
            if not failed and (self._held or self._texts):  # came meanwhile
                self._begin_timer()
            self._held = [*failed, *self._held]


class _Text:
    """What has come of a reply since it was last stored."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._pieces: list[str] = []
        self._seq, self._at = 0, 0.0

    def add(self, recorded: Recorded, text: str) -> None:
        self._pieces.append(text)
        self._seq, self._at = recorded.seq, recorded.at

    def piece(self, call_id: str) -> Recorded:
        text = "".join(self._pieces)
        return Recorded(self._seq, self._at, TokenDelta(text, self._agent, call_id))


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
