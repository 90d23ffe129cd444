"""What runs did beside asking models, a narrow row each: tools, code, look-ups, compression, and
how long people were waited for.

The events have more of it, and are large: of a million of them no page could make sums. The figures
stay when a chat is deleted, as those of its model calls do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import get_args

from agentkit.database import Database
from agentkit.event_json import to_json
from agentkit.events import (
    CodeRan,
    Compressed,
    HumanAnswered,
    HumanInputRequested,
    Recorded,
    Retrieved,
    ToolReturned,
)
from agentkit.options import OptionKey

_KINDS = (ToolReturned, CodeRan, Retrieved, Compressed, HumanInputRequested, HumanAnswered)


def create_steps(database: Database) -> None:
    """The table, with what the events tell of runs so far; and of every call the team that asked
    and the collection of its chat.
    """
    for statement in _CREATED:
        database.execute(statement)
    fill_steps(database)


def fill_steps(database: Database) -> None:
    """Store the rows of all events that are there, into the empty table."""
    _fill(database, f"(select run_id, seq, happened_at, kind, data from events where {_WHICH})")


def keep_steps(database: Database, run_id: str, recorded: Sequence[Recorded]) -> None:
    """Store the rows of those events of a run, stored already, that are such steps."""
    steps = [one for one in recorded if isinstance(one.event, _KINDS)]
    if not steps:
        return
    marks = ", ".join(["(?, ?::integer, ?::timestamp, ?, ?::json)"] * len(steps))
    values = chain.from_iterable(
        (run_id, one.seq, _time(one), type(one.event).__name__, json.dumps(to_json(one.event)))
        for one in steps
    )
    _fill(database, f"(values {marks})", list(values))


def _time(recorded: Recorded) -> datetime:
    return datetime.fromtimestamp(recorded.at, UTC).replace(tzinfo=None)


def _fill(database: Database, source: str, values: Sequence[object] = ()) -> None:
    database.execute(f"with e(run_id, seq, happened_at, kind, data) as {source} {_INSERT}", values)


_WHICH = f"kind in ({', '.join(repr(kind.__name__) for kind in _KINDS)})"
_CREATED = (
    """create table steps (
        run_id varchar not null, seq integer not null, owner varchar not null, chat_id varchar,
        team varchar not null, collection varchar not null, happened_at timestamp not null,
        kind varchar not null, agent varchar not null, name varchar not null, ok boolean not null,
        seconds double, found integer, best double, tokens_before bigint, tokens_after bigint,
        tokens_spent bigint, cost double, request_id varchar)""",
    "alter table llm_calls add column team varchar default ''",
    "alter table llm_calls add column collection varchar default ''",
    "alter table llm_calls add column retry_in_s double",
    """update llm_calls set retry_in_s = e.retry_in_s from (
        select data->>'call_id' as id, (data->>'attempt')::integer as attempt,
        (data->>'retry_in_s')::double as retry_in_s from events where kind = 'ModelReplied'
        and data->>'retry_in_s' is not null) e
        where e.id = llm_calls.id and e.attempt = llm_calls.attempt""",
    "update llm_calls set team = r.team from runs r where r.id = llm_calls.run_id",
    """update llm_calls set collection = h.collection from chats h
        where h.id = llm_calls.chat_id""",
)
_FIRST = """replace(replace(replace(lower(split_part(e.data->>'text', chr(10), 1)), ' ', '_'),
    'always_allow', 'always'), 'finish_here', 'finish')"""
_OPTIONS = ", ".join(repr(option) for option in get_args(OptionKey))
# Of an answer only the option is kept, and of no step a text: those go with their chat.
_INSERT = f"""insert into steps
    select e.run_id, e.seq, r.owner, r.chat_id, coalesce(r.team, ''),
    coalesce(e.data->>'collection', h.collection, ''), e.happened_at,
    case e.kind when 'ToolReturned' then 'tool' when 'CodeRan' then 'code'
        when 'Retrieved' then 'search' when 'Compressed' then 'compression'
        when 'HumanInputRequested' then 'asked' else 'answered' end,
    coalesce(e.data->>'agent', ''),
    case e.kind when 'ToolReturned' then e.data->>'name' when 'CodeRan' then e.data->>'language'
        when 'Retrieved' then e.data->>'mode' when 'Compressed' then e.data->>'strategy'
        when 'HumanInputRequested' then coalesce(nullif(e.data->>'language', ''),
            nullif(e.data->>'moment', ''), '')
        else case when {_FIRST} in ({_OPTIONS}) then {_FIRST} else '' end end,
    case e.kind when 'CodeRan' then coalesce((e.data->>'exit_code')::integer = 0, false)
        when 'Retrieved' then json_array_length(e.data->'hits') > 0
        when 'HumanAnswered' then (e.data->>'waited_s') is null
        else coalesce((e.data->>'ok')::boolean, true) end,
    (e.data->>'seconds')::double, json_array_length(e.data->'hits')::integer,
    (e.data->'hits'->0->>'score')::double, (e.data->>'tokens_before')::bigint,
    (e.data->>'tokens_after')::bigint, (e.data->>'tokens_spent')::bigint,
    (e.data->>'cost')::double, e.data->>'request_id'
    from e join runs r on r.id = e.run_id left join chats h on h.id = r.chat_id"""
