"""The rows that the events of a run make: the run itself, its events, messages and model calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

from agentkit.database import Database, Row
from agentkit.errors import WrongArgument
from agentkit.event_json import to_json
from agentkit.events import (
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    Thinking,
    TokenDelta,
)
from agentkit.ledger import requests, run_documents
from agentkit.ledger.message_search import fold
from agentkit.ledger.requests import LastLists, Lists
from agentkit.ledger.spending import Spending, SpentCall
from agentkit.ledger.steps import keep_steps

_ENDS = {RunFinished: "finished", RunFailed: "failed", RunStopped: "stopped"}


@dataclass(frozen=True, slots=True)
class RunKey:
    """A run and what its messages and model calls are for."""

    id: str
    """Empty for what belongs to no run."""
    owner: str
    chat_id: str | None = None
    message_id: str | None = None
    """The answer under which its calls are booked."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a ledger need not look up, since it has written it."""

    spending: Spending
    lists: Lists = field(default_factory=Lists)
    begun: set[str] = field(default_factory=set)
    """Calls of whose replies there are pieces."""
    asked: dict[str, Row] = field(default_factory=dict)
    """Of runs that go on, what their calls were made for."""


def insert(
    database: Database,
    run: RunKey,
    recorded: Sequence[Recorded],
    written: Written,
    again: bool = False,
) -> None:
    """Store events and what follows from them, all together or none; raises StoreError.

    With `again`, those that are there already are passed over.
    """
    lists = written.lists.with_new()
    known = _read_stored(database, run) if again else set()
    new = [one for one in recorded if one.seq not in known]
    with written.spending.storing(_find_calls(run, new)), database.transaction():
        _insert_events(database, run, new, lists)
        for one in new:
            _insert_what_follows(database, run, one, written)
            run_documents.keep_documents(database, run.id, one.event)
        keep_steps(database, run.id, new)
    if not database.in_transaction:  # else what is around it may still fail
        written.lists.settle(lists)


def call_data(
    database: Database, run: RunKey, seq: int, event: ModelCalled, lists: LastLists
) -> Row:
    """What the row of a call holds: what was sent is kept by itself, and only told of here."""
    data = to_json(replace(event, messages=[], request={}))
    del data["messages"], data["request"]
    return data | {
        "sent": requests.keep(database, run.id, run.chat_id or run.id, seq, event, lists)
    }


def insert_call(database: Database, owner: str, recorded: Recorded, spending: Spending) -> None:
    """Store a model call that belongs to no run; raises StoreError, WrongArgument for another
    event.
    """
    if not isinstance(recorded.event, ModelReplied):
        raise WrongArgument(f"A {type(recorded.event).__name__} is not a model call that ended.")
    run = RunKey("", owner)
    with spending.storing(_find_calls(run, [recorded])), database.transaction():
        _add_call(database, run, recorded.event, _time(recorded), _find_asked(database, run))


def _find_calls(run: RunKey, recorded: Sequence[Recorded]) -> list[SpentCall]:
    """What the model calls among these spent."""
    return [
        SpentCall(
            one.event.call_id,
            run.owner,
            run.chat_id or "",
            run.id,
            _time(one),
            one.event.usage.total,
            one.event.cost,
            one.event.attempt,
        )
        for one in recorded
        if isinstance(one.event, ModelReplied) and not one.event.replayed
    ]


def _read_stored(database: Database, run: RunKey) -> set[int]:
    found = database.rows("select seq from events where run_id = ?", [run.id])
    return {row["seq"] for row in found}


def _insert_events(
    database: Database, run: RunKey, recorded: Sequence[Recorded], lists: LastLists
) -> None:
    """One statement for all, however many come at once."""
    values: list[object] = []
    for one in recorded:
        match one.event:
            case TokenDelta():
                continue
            case ModelCalled() as called:
                data = call_data(database, run, one.seq, called, lists)
            case event:
                data = to_json(event)
        kind, at = data.pop("kind"), _time(one)
        values += [run.id, one.seq, at, kind, json.dumps(data, ensure_ascii=False)]
    if values:
        marks = ", ".join(["(?, ?, ?, ?, ?)"] * (len(values) // 5))
        columns = "run_id, seq, happened_at, kind, data"
        database.execute(f"insert into events ({columns}) values {marks}", values)


def _time(recorded: Recorded) -> datetime:
    return datetime.fromtimestamp(recorded.at, UTC).replace(tzinfo=None)


def _insert_what_follows(
    database: Database, run: RunKey, recorded: Recorded, written: Written
) -> None:
    at, begun = _time(recorded), written.begun
    match recorded.event:
        case TokenDelta() as text:
            _add_text(database, run, recorded.seq, text, at)
            begun.add(text.call_id)
        case RunStarted() as started:
            _open_run(database, run, started, at)
        case MessageSent() as sent if run.chat_id and not sent.extra.get("silent"):
            _add_message(database, run, sent, at)
        case ModelReplied(replayed=True):
            pass  # its row is there, and becomes this run's with the rest
        case ModelReplied() as replied:
            if run.id not in written.asked:
                written.asked[run.id] = _find_asked(database, run)
            _add_call(database, run, replied, at, written.asked[run.id])
            if replied.call_id in begun:  # the reply has all of its text
                _remove_text(database, run, replied.call_id)
                begun.discard(replied.call_id)
        case RunFinished() | RunFailed() | RunStopped() as end:
            _close_run(database, run, end, at)
            written.asked.pop(run.id, None)
        case _:
            pass


def _open_run(database: Database, run: RunKey, event: RunStarted, at: datetime) -> None:
    database.insert(
        "runs",
        {
            "id": run.id,
            "owner": run.owner,
            "chat_id": run.chat_id,
            "kind": event.what,
            "title": event.title,
            "state": "running",
            "reason": "",
            "started_at": at,
            "message_id": run.message_id,
            "team": event.team,
        },
    )


def _close_run(
    database: Database, run: RunKey, event: RunFinished | RunFailed | RunStopped, at: datetime
) -> None:
    reason = event.error if isinstance(event, RunFailed) else event.reason
    database.execute(
        "update runs set state = ?, reason = ?, finished_at = ? where id = ?",
        [_ENDS[type(event)], reason, at, run.id],
    )
    database.execute("delete from streamed where run_id = ?", [run.id])


def _add_text(database: Database, run: RunKey, seq: int, event: TokenDelta, at: datetime) -> None:
    database.insert(
        "streamed",
        {
            "run_id": run.id,
            "seq": seq,
            "happened_at": at,
            "call_id": event.call_id,
            "agent": event.agent,
            "text": event.text,
        },
    )


def _remove_text(database: Database, run: RunKey, call_id: str) -> None:
    database.execute("delete from streamed where run_id = ? and call_id = ?", [run.id, call_id])


def _add_message(database: Database, run: RunKey, event: MessageSent, at: datetime) -> None:
    database.insert(
        "messages",
        {
            "id": event.id,
            "chat_id": run.chat_id,
            "parent_id": event.parent_id,
            "run_id": run.id,
            "sender": event.sender,
            "recipient": event.recipient,
            "role": event.role,
            "content": event.content,
            "status": event.status,
            "extra": json.dumps(event.extra, ensure_ascii=False),
            "created_at": at,
            "thinking": _dump_thinking(event.thinking),
            "folded": fold(event.content),
        },
    )
    database.execute(
        "update chats set head_id = ?, updated_at = ? where id = ? and owner = ?",
        [event.id, at, run.chat_id, run.owner],
    )


def _dump_thinking(thinking: Thinking | None) -> str | None:
    if thinking:
        return json.dumps(asdict(thinking), ensure_ascii=False)
    return None


def _add_call(
    database: Database, run: RunKey, event: ModelReplied, at: datetime, asked: Row
) -> None:
    usage = event.usage
    database.insert(
        "llm_calls",
        {
            "id": event.call_id,
            "attempt": event.attempt,
            "owner": run.owner,
            "run_id": run.id or None,
            "chat_id": run.chat_id,
            "message_id": run.message_id,
            "agent": event.agent,
            "provider": event.provider,
            "model": event.model,
            "purpose": event.purpose,
            "status": event.status,
            "error": event.error,
            "error_type": event.error_type,
            "input_tokens": usage.input,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "output_tokens": usage.output,
            "reasoning_tokens": usage.reasoning,
            "estimated": usage.estimated,
            "cost": event.cost,
            "seconds": event.seconds,
            "first_token_s": event.first_token_s,
            "finished_at": at,
            "raw_usage": json.dumps(event.raw_usage, ensure_ascii=False),
            "retry_in_s": event.retry_in_s,
            **asked,
        },
    )


def _find_asked(database: Database, run: RunKey) -> Row:
    """Which team a call was made for, and the collection of its chat."""
    row = database.row(
        """select coalesce((select team from runs where id = ?), '') as team,
        coalesce((select collection from chats where id = ?), '') as collection""",
        [run.id, run.chat_id],
    )
    return row or {}
