"""Which documents a run took in, found or cited, as rows: from a document to all runs that had to
do with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from agentkit.database import Database, Row
from agentkit.event_json import from_json
from agentkit.events import DocumentDone, Event, MessageSent, Retrieved

How = Literal["taken in", "found", "cited"]
"""What a run had to do with a document; what an answer cites was found as well, if not always by
the same run.
"""
HOWS: tuple[How, ...] = get_args(How)
TABLE = """create table run_documents (
    run_id varchar not null, document_id varchar not null, how varchar not null)"""
_STORED = """insert into run_documents
    select distinct run_id, document_id, how from (
        select run_id, data->>'document_id' as document_id, 'taken in' as how
        from events where kind = 'DocumentDone'
        union all
        select run_id, unnest(json_extract_string(data, '$.hits[*].document_id')), 'found'
        from events where kind = 'Retrieved'
        union all
        select run_id, unnest(json_extract_string(data, '$.extra.citations[*].document_id')),
        'cited' from events where kind = 'MessageSent')
    where document_id <> ''"""
OF_DOCUMENT = """r.id in (select run_id from run_documents
    where document_id = ? and list_contains(?, how))"""
"""The SQL condition over `r` (runs): that it had to do with a document in one of these ways."""


def create_table(database: Database) -> None:
    """Make the table, with what the events of earlier versions tell."""
    database.execute(TABLE)
    database.execute(_STORED)


def keep_documents(database: Database, run_id: str, event: Event) -> None:
    """Note the documents that an event is about, if it is about any."""
    how, ids = find_documents(event)
    _insert(database, [(run_id, one, how) for one in ids])


def find_documents(event: Event) -> tuple[How, list[str]]:
    """The documents of an event, each once, and what was done with them."""
    match event:
        case DocumentDone(document_id=document_id):
            return "taken in", _list_ids([{"document_id": document_id}])
        case Retrieved(hits=hits):
            return "found", _list_ids(hits)
        case MessageSent(extra=extra):
            return "cited", _list_ids(extra.get("citations") or ())
        case _:
            return "found", []


def _list_ids(told: Iterable[object]) -> list[str]:
    there = [str(one.get("document_id") or "") for one in told if isinstance(one, dict)]
    return list(dict.fromkeys(filter(None, there)))


def keep_stored(database: Database, rows: Sequence[Row]) -> None:
    """The same for the rows of events that came with a chat of elsewhere."""
    found: list[tuple[str, str, How]] = []
    for row in rows:
        how, ids = find_documents(from_json({**row["data"], "kind": row["kind"]}))
        found += [(row["run_id"], one, how) for one in ids]
    _insert(database, found)


def forget_runs(database: Database, run_ids: Sequence[str]) -> None:
    """Remove what was noted of these runs."""
    database.execute("delete from run_documents where list_contains(?, run_id)", [list(run_ids)])


def forget_chat(database: Database, owner: str, chat_id: str) -> None:
    """Remove what was noted of a chat's runs."""
    database.execute(
        """delete from run_documents where run_id in (
            select id from runs where chat_id = ? and owner = ?)""",
        [chat_id, owner],
    )


def _insert(database: Database, found: Sequence[tuple[str, str, How]]) -> None:
    if not found:
        return
    marks = ", ".join(["(?, ?, ?)"] * len(found))
    values = [value for row in found for value in row]
    database.execute(f"insert into run_documents values {marks}", values)
