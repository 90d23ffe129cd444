"""The ledger's tables, as numbered migrations: chats, their message trees, runs, events and model
calls.
"""

from __future__ import annotations

import json

from agentkit.database import Database
from agentkit.event_json import from_json
from agentkit.events import ModelCalled
from agentkit.ledger.requests import LastLists, Lists
from agentkit.ledger.rows import RunKey, call_data
from agentkit.ledger.run_documents import create_table
from agentkit.ledger.steps import create_steps


def create_tables(database: Database) -> None:
    """Version 1."""
    for statement in _TABLES:
        database.execute(statement)


def add_thinking(database: Database) -> None:
    """Version 2: what its model thought before a message."""
    database.execute("alter table messages add column thinking json")


def add_unfinished(database: Database) -> None:
    """Version 3: which answer a run writes, its text as it comes, and what is set in a chat."""
    for statement in _ADDITIONS:
        database.execute(statement)


def add_requests(database: Database) -> None:
    """Version 4: what was sent to models, out of the events, in which each call had its whole
    prompt.
    """
    for statement in _REQUESTS:
        database.execute(statement)
    calling = database.rows(
        """select e.run_id, r.chat_id from events e left join runs r on r.id = e.run_id
        where e.kind = 'ModelCalled' group by e.run_id, r.chat_id, r.started_at
        order by r.started_at, e.run_id"""
    )
    lists = Lists()
    for row in calling:
        view = lists.with_new()
        _take_out(database, RunKey(row["run_id"], "", row["chat_id"]), view)
        lists.settle(view)


def _take_out(database: Database, run: RunKey, lists: LastLists) -> None:
    """Keep the requests of a run's calls by themselves."""
    which = "run_id = ? and kind = 'ModelCalled'"
    sql = f"select seq, data from events where {which} order by seq"
    for row in database.rows(sql, [run.id]):
        event = from_json({**json.loads(row["data"]), "kind": "ModelCalled"})
        if isinstance(event, ModelCalled):
            data = call_data(database, run, row["seq"], event, lists)
            del data["kind"]
            database.execute(
                f"update events set data = ? where {which} and seq = ?",
                [json.dumps(data, ensure_ascii=False), run.id, row["seq"]],
            )


def add_imported(database: Database) -> None:
    """Version 5: which calls came with an imported chat, so that they were made elsewhere."""
    database.execute("alter table llm_calls add column imported boolean default false")


def add_prompts(database: Database) -> None:
    """Version 6: texts that are asked again and again, each version a row."""
    database.execute(
        """create table prompts (
            id varchar not null, owner varchar not null, version integer not null,
            name varchar not null, text varchar not null, created_at timestamp not null)"""
    )


def add_order(database: Database) -> None:
    """Version 7: what is said without capitals and accents, and how chats are kept in order."""
    for statement in _ORDER:
        database.execute(statement)


def add_team(database: Database) -> None:
    """Version 8: which team a run asked, of earlier runs as far as their questions say."""
    database.execute("alter table runs add column team varchar default ''")
    database.execute(
        """update runs set team = asked.team from (
            select run_id, any_value(extra->>'team_id') as team from messages
            where role = 'user' and extra->>'team_id' is not null group by run_id) asked
        where asked.run_id = runs.id"""
    )


def add_feedback(database: Database) -> None:
    """Version 9: what people think of answers."""
    database.execute(_FEEDBACK)


def add_run_documents(database: Database) -> None:
    """Version 10: which documents a run took in, found or cited."""
    create_table(database)


def add_usage(database: Database) -> None:
    """What runs did beside asking models, in narrow rows; the team and the collection of calls."""
    create_steps(database)


MIGRATIONS = (
    create_tables,
    add_thinking,
    add_unfinished,
    add_requests,
    add_imported,
    add_prompts,
    add_order,
    add_team,
    add_feedback,
    add_run_documents,
    add_usage,
)

_TABLES = (
    """create table chats (
        id varchar primary key, owner varchar not null, title varchar not null,
        team varchar not null, model varchar not null,
        collection varchar not null, head_id varchar, created_at timestamp not null,
        updated_at timestamp not null)""",
    """create table messages (
        id varchar primary key, chat_id varchar not null, parent_id varchar, run_id varchar,
        sender varchar not null,
        recipient varchar not null, role varchar not null, content varchar not null,
        status varchar not null,
        extra json not null, created_at timestamp not null)""",
    """create table runs (
        id varchar primary key, owner varchar not null, chat_id varchar, kind varchar not null,
        title varchar not null,
        state varchar not null, reason varchar not null, started_at timestamp not null,
        finished_at timestamp)""",
    """create table events (
        run_id varchar not null, seq integer not null, happened_at timestamp not null,
        kind varchar not null, data json not null)""",
    """create table llm_calls (
        id varchar not null, attempt integer not null, owner varchar not null, run_id varchar,
        chat_id varchar,
        message_id varchar, agent varchar not null, provider varchar not null,
        model varchar not null, purpose varchar not null,
        status varchar not null, error varchar not null, error_type varchar not null,
        input_tokens bigint not null, cache_read_tokens bigint not null,
        cache_write_tokens bigint not null,
        output_tokens bigint not null, reasoning_tokens bigint not null,
        estimated boolean not null,
        cost double, seconds double not null, first_token_s double, raw_usage json not null,
        finished_at timestamp not null,
        primary key (id, attempt))""",
)
_REQUESTS = (
    """create table request_parts (
        hash varchar not null, scope varchar not null, body varchar)""",
    "create index request_parts_hash on request_parts (hash)",
)
_FEEDBACK = """create table feedback (
    message_id varchar not null, owner varchar not null, value varchar not null,
    comment varchar not null, rated_at timestamp not null)"""
_ADDITIONS = (
    "alter table runs add column message_id varchar",
    """create table streamed (
        run_id varchar not null, seq integer not null, happened_at timestamp not null,
        call_id varchar not null, agent varchar not null, text varchar not null)""",
    """create table chat_settings (
        owner varchar not null, chat_id varchar not null, name varchar not null,
        value json not null)""",
)
_ORDER = (
    "alter table messages add column folded varchar",
    "alter table chats add column folder varchar",
    "alter table chats add column pinned boolean",
    "alter table chats add column archived boolean",
    "alter table chats add column deleted_at timestamp",
)
