"""The listener that writes a run into the ledger: the run itself, its events, its messages, its model calls."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime

from agentkit.events import (
    DocumentDone,
    DocumentProgress,
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    TokenDelta,
    to_json,
)
from agentkit.ledger.store import Ledger

_NOT_STORED = (TokenDelta, DocumentProgress)
_MAY_WAIT = (DocumentDone, ModelCalled, Retrieved)
_HELD, _HELD_S = 64, 1.0  # an ingest of many small documents would else spend its time on commits
_ENDS = {RunFinished: "finished", RunFailed: "failed", RunStopped: "stopped"}


class LedgerWriter:
    """Writes the events of one run; `chat_id` and `message_id` say what its model calls are for."""

    def __init__(
        self, ledger: Ledger, run_id: str, owner: str, chat_id: str | None = None, message_id: str | None = None
    ) -> None:
        self.ledger = ledger
        self.run_id = run_id
        self.owner = owner
        self.chat_id = chat_id
        self.message_id = message_id
        self._held: list[Recorded] = []
        self._lock = threading.Lock()

    def write(self, recorded: Recorded) -> None:
        """Store an event and what follows from it. Events that may wait are kept back, for a second at most while others come."""
        if isinstance(recorded.event, _NOT_STORED):
            return
        if due := self._due(recorded):
            with self.ledger.database.transaction():
                for each in due:
                    self._write(each)

    def _due(self, recorded: Recorded) -> list[Recorded]:
        """What is to be written now; a run may emit from several threads."""
        with self._lock:
            self._held.append(recorded)
            if _may_wait(recorded.event) and len(self._held) < _HELD and recorded.at - self._held[0].at <= _HELD_S:
                return []
            due, self._held = self._held, []
            return due

    def _write(self, recorded: Recorded) -> None:
        at = datetime.fromtimestamp(recorded.at, UTC).replace(tzinfo=None)
        data = to_json(recorded.event)
        kind = data.pop("kind")
        self.ledger.database.insert(
            "events",
            {
                "run_id": self.run_id,
                "seq": recorded.seq,
                "happened_at": at,
                "kind": kind,
                "data": json.dumps(data, ensure_ascii=False),
            },
        )
        self._write_consequence(recorded, at)

    def _write_consequence(self, recorded: Recorded, at: datetime) -> None:
        match recorded.event:
            case RunStarted() as started:
                self._open_run(started, at)
            case MessageSent() as sent if self.chat_id and not sent.extra.get("silent"):
                self._add_message(sent, at)
            case ModelReplied() as replied:
                self._add_call(replied, at)
            case RunFinished() | RunFailed() | RunStopped() as end:
                self._close_run(end, at)
            case _:
                pass

    def _open_run(self, event: RunStarted, at: datetime) -> None:
        self.ledger.database.insert("runs", {
            "id": self.run_id, "owner": self.owner, "chat_id": self.chat_id, "kind": event.what, "title": event.title,
            "state": "running", "reason": "", "started_at": at,
        })  # fmt: skip

    def _close_run(self, event: RunFinished | RunFailed | RunStopped, at: datetime) -> None:
        reason = event.error if isinstance(event, RunFailed) else event.reason
        self.ledger.database.execute(
            "update runs set state = ?, reason = ?, finished_at = ? where id = ?", [_ENDS[type(event)], reason, at, self.run_id]
        )

    def _add_message(self, event: MessageSent, at: datetime) -> None:
        self.ledger.database.insert("messages", {
            "id": event.id, "chat_id": self.chat_id, "parent_id": event.parent_id, "run_id": self.run_id, "sender": event.sender,
            "recipient": event.recipient, "role": event.role, "content": event.content, "status": event.status,
            "extra": json.dumps(event.extra, ensure_ascii=False), "created_at": at,
        })  # fmt: skip
        self.ledger.database.execute(
            "update chats set head_id = ?, updated_at = ? where id = ? and owner = ?", [event.id, at, self.chat_id, self.owner]
        )

    def _add_call(self, event: ModelReplied, at: datetime) -> None:
        usage = event.usage
        self.ledger.database.insert("llm_calls", {
            "id": event.call_id, "attempt": event.attempt, "owner": self.owner, "run_id": self.run_id, "chat_id": self.chat_id,
            "message_id": self.message_id, "agent": event.agent, "provider": event.provider, "model": event.model,
            "purpose": event.purpose, "status": event.status, "error": event.error, "error_type": event.error_type,
            "input_tokens": usage.input, "cache_read_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
            "output_tokens": usage.output, "reasoning_tokens": usage.reasoning, "estimated": usage.estimated, "cost": event.cost,
            "seconds": event.seconds, "first_token_s": event.first_token_s, "finished_at": at,
            "raw_usage": json.dumps(event.raw_usage, ensure_ascii=False),
        })  # fmt: skip


def _may_wait(event: Event) -> bool:
    return isinstance(event, _MAY_WAIT) or (isinstance(event, ModelReplied) and event.purpose == "embedding")
