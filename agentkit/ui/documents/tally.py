"""What a run that works on documents, one after the other, has told so far, counted as its events
come.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    ModelReplied,
    Recorded,
    RunFailed,
    RunStopped,
)
from agentkit.runs import Run
from agentkit.ui.text import figures, markdown


@dataclass(frozen=True, slots=True)
class Words:
    """How runs of one kind are spoken of."""

    doing: str
    """Stands before the title of a run that goes on."""
    done: str
    """What a document is that came to a good end."""
    again: str
    """What one is then that was there before, in an older state."""
    undone: str
    """What the documents are that a cancelled run left."""
    nothing: str
    """Said of a run that came to a good end without any document."""


WORDS = {
    "ingest": Words("Taking in", "added", "updated", "not taken in", "nothing taken in"),
    "index": Words("Building", "built", "built", "not built", "nothing was missing"),
    "switch": Words("Switching to", "built", "built", "not built", "this answers now"),
}
"""By kind of run."""
_WRONG, _WRONG_S = 2, 5
"""An estimate is taken back when it has grown to so many times what was told, and so many
seconds.
"""
_SHARES = {
    "waiting": 0.15,
    "parse": 0.05,
    "split": 0.1,
    "prepare": 0.15,
    "embed": 0.15,
    "commit": 0.95,
    "index": 0.97,
}


@dataclass(slots=True)
class Tally:
    """What a run that works on documents has told so far."""

    size: int
    """How many documents it was given."""
    seq: int = 0
    """Events up to this number are counted in."""
    counts: Counter[str] = field(default_factory=Counter)
    """Documents that have ended, by status."""
    under_way: dict[str, DocumentProgress] = field(default_factory=dict)
    """The latest of each document that has begun and not ended, by id."""
    failed: list[DocumentDone] = field(default_factory=list)
    unchanged: list[DocumentDone] = field(default_factory=list)
    copies: list[DocumentDone] = field(default_factory=list)
    """Those with the content of another document."""
    seconds: float = 0.0
    updated: int = 0
    """How many of those that came to a good end were there before."""
    waits: tuple[str, float] | None = None
    """Why the embedding model is asked again, and until when (seconds since the epoch) that is
    waited for.
    """
    problem: str = ""
    stopped: bool = False
    left_s: float | None = None
    """Seconds that the rest will take; None while that cannot be said, or was said wrongly."""
    _told_s: float | None = None
    shown_since: bool = False
    """Whether the page that watches the run was drawn after its end."""

    @property
    def done(self) -> int:
        """How many documents have ended."""
        return self.counts.total()

    @property
    def fraction(self) -> float:
        """How much of the work is done, from 0 to 1; a document under way counts by its stage."""
        begun = sum(_share(one) for one in self.under_way.values())
        return min(1.0, (self.done + begun) / max(1, self.size, self.done + len(self.under_way)))

    def _estimate(self) -> None:
        """Note what the rest will take at the pace so far; what was told already never grows."""
        if self.seconds < 2 or self.fraction < 0.1:
            return
        now = self.seconds * (1 - self.fraction) / self.fraction
        told = self._told_s
        self._told_s = now if told is None else min(told, now)
        self.left_s = self._told_s if now <= _WRONG * self._told_s + _WRONG_S else None

    def follow(self, run: Run[Any]) -> None:
        """Count in what has happened since the last time."""
        ended = run.ended  # asked first: what comes between is counted the next time
        for recorded in run.events(self.seq):
            self.seq = recorded.seq
            self.seconds = recorded.at - run.started_at
            self._count(recorded)
        if not ended:
            self.seconds = time.time() - run.started_at
        self._estimate()

    def _count(self, recorded: Recorded) -> None:
        match recorded.event:
            case DocumentProgress() as event:
                self.under_way[event.document_id] = event
            case DocumentDone() as event:
                self._count_document(event)
            case ModelReplied(retry_in_s=None):
                self.waits = None
            case ModelReplied(error_type=error_type, retry_in_s=float() | int() as seconds):
                self.waits = error_type, recorded.at + seconds
            case RunFailed() as event:
                self.problem = event.error
            case RunStopped():
                self.stopped = True

    def _count_document(self, done: DocumentDone) -> None:
        self.under_way.pop(done.document_id, None)
        self.counts[done.status] += 1
        self.updated += done.updated
        if done.status == "failed":
            self.failed.append(done)
        elif done.status == "unchanged":
            self.unchanged.append(done)
        elif done.same_as:
            self.copies.append(done)


def summary(title: str, tally: Tally, kind: str = "ingest") -> str:
    """What came of a run, as one line of Markdown: how many documents were indexed, unchanged or
    failed, and the time.
    """
    said = WORDS[kind]
    counts = tally.counts
    ends = Counter({said.done: counts["indexed"] - tally.updated})
    ends.update(
        {said.again: tally.updated, "unchanged": counts["unchanged"], "failed": counts["failed"]}
    )
    words = [f"{figures.count(number)} {status}" for status, number in ends.items() if number]
    rest = max(0, tally.size - ends.total())
    if tally.stopped and rest:
        words.append(f"{figures.count(rest)} {said.undone}, as you cancelled")
    if words:
        what = f"{', '.join(words)}, in {figures.seconds(tally.seconds)}"
    else:
        what = _explain_nothing(tally, said)
    return f"**{markdown.literal(title)}:** {what}."


def _explain_nothing(tally: Tally, words: Words) -> str:
    """Why no document came to an end."""
    if tally.stopped:
        return "cancelled"
    if tally.problem:
        return "it broke off"
    return words.nothing


def same_content(name: str) -> str:
    """What is said of a document with the content of the document of that name."""
    return f"Same content as {name}."


def _share(progress: DocumentProgress) -> float:
    share = _SHARES[progress.stage]
    if progress.stage == "embed" and progress.total:
        share += 0.8 * progress.done / progress.total
    return share
