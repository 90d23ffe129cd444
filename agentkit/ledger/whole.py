"""A chat with all that the ledger has of it, as rows: to be read, and to be stored elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from agentkit.database import Database, Row
from agentkit.ledger import requests, run_documents
from agentkit.ledger.store import Chat, Ledger

_AT_ONCE = 200  # rows of one statement
_MESSAGES = (
    "id, parent_id, run_id, sender, recipient, role, content, status, extra, created_at, thinking"
)
_RUNS = "id, kind, title, state, reason, started_at, finished_at, message_id"
_EVENTS = "run_id, seq, happened_at, kind, data"
_CALLS = (
    "id, attempt, run_id, message_id, agent, provider, model, purpose, status, error, error_type,"
    " input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,"
    " estimated, cost, seconds, first_token_s, raw_usage, finished_at"
)
_JSON = ("extra", "thinking", "data", "raw_usage")
"""Columns that hold JSON; in the rows here they are values."""


@dataclass(frozen=True, slots=True)
class WholeChat:
    """A chat's rows, each table in the order in which it was written."""

    chat: Chat
    settings: dict[str, Any]
    """What is set in it, by name."""
    messages: list[Row]
    runs: list[Row]
    events: list[Row]
    calls: list[Row]
    requests: dict[str, str]
    """The parts of requests to models that the calls' events name, by their hash."""


def read_whole(ledger: Ledger, owner: str, chat_id: str) -> WholeChat:
    """All of a chat as it is at one moment; raises NotFound."""
    database = ledger.database
    of_chat, owned = [chat_id], [chat_id, owner]
    with database.transaction():
        chat = ledger.chat(owner, chat_id)
        runs = _read(
            database,
            f"select {_RUNS} from runs where chat_id = ? and owner = ? order by started_at, rowid",
            owned,
        )
        run_ids = [run["id"] for run in runs]
        return WholeChat(
            chat,
            ledger.settings(owner, chat_id),
            _read(
                database,
                f"select {_MESSAGES} from messages where chat_id = ? order by created_at, rowid",
                of_chat,
            ),
            runs,
            _read(
                database,
                f"select {_EVENTS} from events where list_contains(?, run_id) order by run_id, seq",
                [run_ids],
            ),
            _read(
                database,
                f"""select {_CALLS} from llm_calls where chat_id = ? and owner = ?
                order by finished_at, rowid""",
                owned,
            ),
            requests.read_scope(database, chat_id),
        )


def store_whole(ledger: Ledger, whole: WholeChat) -> None:
    """Store a chat that is not there yet, all of it or nothing; raises StoreError.

    Its ids must be new. Its calls are marked as imported: they were made and paid for elsewhere.
    """
    database, chat = ledger.database, whole.chat
    owned = {"owner": chat.owner, "chat_id": chat.id}
    with database.transaction():
        database.insert("chats", {name: getattr(chat, name) for name in Chat.__dataclass_fields__})
        for name, value in whole.settings.items():
            ledger.set(chat.owner, chat.id, name, value)
        _insert(database, "messages", whole.messages, {"chat_id": chat.id})
        _insert(database, "runs", whole.runs, owned)
        run_documents.keep_stored(database, whole.events)
        _insert(database, "events", whole.events, {})
        _insert(database, "llm_calls", whole.calls, {**owned, "imported": True})
        requests.add_parts(database, chat.id, whole.requests)


def _read(database: Database, sql: str, values: Sequence[object]) -> list[Row]:
    rows = database.rows(sql, values)
    for row in rows:
        for name in _JSON:
            if row.get(name) is not None:
                row[name] = json.loads(row[name])
    return rows


def _insert(database: Database, table: str, rows: Sequence[Row], same: Mapping[str, Any]) -> None:
    """Rows with the same columns, and what is the same in all of them."""
    for start in range(0, len(rows), _AT_ONCE):
        some = [_to_columns({**row, **same}) for row in rows[start : start + _AT_ONCE]]
        columns = ", ".join(some[0])
        marks = f"({', '.join('?' * len(some[0]))})"
        database.execute(
            f"insert into {table} ({columns}) values {', '.join([marks] * len(some))}",
            list(chain.from_iterable(row.values() for row in some)),
        )


def _to_columns(row: Row) -> Row:
    for name in _JSON:
        if row.get(name) is not None:
            row[name] = json.dumps(row[name], ensure_ascii=False)
    return row
