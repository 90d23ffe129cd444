"""A month of a team of ten, made by the database itself: any number of calls, with runs, chats and
the events of tools, look-ups, compression and people.

Its texts have the lengths of recorded ones: 300 letters in the middle, 4,000 at the 95th
percentile.
What stands out can be found on the usage page: an audit on the 13th day that cost much, a server
that turns calls away from the 19th day on, and one call that took far longer than the others.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from agentkit.database import Database
from agentkit.ledger.steps import fill_steps

PEOPLE = ("ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana", "ivo", "jun")
COLLECTIONS = ("Handbook", "Contracts", "Papers", "Tickets")
DEAR_DAY, FAILING_DAY = 13, 19
AUDIT, SLOWEST = "Audit of all contracts", "call-slowest"
SLOW_S = 312.5
_TEAMS = ("answer", "research", "group", "plan")
_HOURS = (0, 0, 0, 0, 0, 0, 1, 3, 8, 12, 13, 11, 6, 9, 12, 11, 9, 7, 4, 2, 2, 1, 1, 0)
_PER_RUN = 6


def fill(
    database: Database,
    calls: int,
    first: datetime,
    *,
    days: int = 30,
    owners: int = 10,
    texts: bool = True,
    said: bool = False,
) -> None:
    """Write that many calls and what belongs to them into the tables of a ledger.

    `first` is the first day (UTC without zone). Without `texts` there are no events of the calls
    themselves, so that a million take seconds; with `said` there is also what agents said, in the
    events, in the messages and in what was sent next, as a run stores it: five events a call.
    """
    last = first + timedelta(days=days - 1)
    known = {
        "first": first,
        "days": days,
        "dear": find_day(last, DEAR_DAY),
        "failing": find_day(last, FAILING_DAY),
        "runs": max(1, calls // _PER_RUN),
        "calls": calls,
        "people": list(PEOPLE[:owners]),
        "collections": list(COLLECTIONS),
        "teams": list(_TEAMS),
        "hours": [hour for hour, share in enumerate(_HOURS) for _ in range(share)],
    }
    with database.transaction():
        for name, value in known.items():
            database.execute(f"set variable month_{name} = ?", [value])
        database.execute(f"create or replace temp macro chance(n, salt) as {_CHANCE}")
        database.execute(f"create or replace temp macro normal(n, salt) as {_NORMAL}")
        database.execute(f"create or replace temp macro words(n, salt) as {_WORDS}")
        database.execute("set variable month_prose = ?", [make_prose(calls)])
        extra = (*(_TEXTS if texts else ()), *(_SAID if said else ()))
        for statement in (*_STATEMENTS, *_STEPS, *extra):
            database.execute(statement)
        fill_steps(database)
    database.execute("checkpoint")


def find_day(last: datetime, number: int) -> datetime:
    """The latest day until then that is the `number`th of its month."""
    return next(day for back in range(62) if (day := last - timedelta(days=back)).day == number)


_CHANCE = "(hash(n * 31 + salt * 1000003) % 1000000 + 0.5) / 1000000"
_NORMAL = "sqrt(-2 * ln(chance(n, salt))) * cos(2 * pi() * chance(n, salt + 500))"
_LETTERS = "least(24000, exp(ln(300) + 1.575 * normal(n, salt)))::integer"
_WORDS = f"""substr(getvariable('month_prose')[1 + (hash(n, salt + 7)
    % len(getvariable('month_prose')))::integer], 1 + (hash(n, salt) % 2000)::integer,
    {_LETTERS})"""
_SYLLABLES = (
    "al an ar be con de der en er es in is ment no ob on or per pro re si ta ten ti tion un"
)
_KNOWN = (
    "the of and a warranty pump ends after it was delivered unless contract says more reader to"
)
_LONGEST = 26_000
"""Letters of a piece of prose: the longest text with where it may begin."""


def make_prose(calls: int) -> list[str]:
    """Pieces of prose to cut texts from: so many that few texts share a sentence, with words as
    often as in a language, so that they can be stored as tightly as what models write.
    """
    chance = Random(7)
    made = [*_KNOWN.split()]
    while len(made) < _WORDS_KNOWN:
        made.append("".join(chance.choices(_SYLLABLES.split(), k=chance.randint(1, 4))))
    shares = [1 / (place + 3) for place in range(len(made))]
    pieces = min(1_000, 8 + calls // 500)
    count = _LONGEST // 5
    return [
        " ".join(chance.choices(made, shares, k=count)).ljust(_LONGEST, ".")[:_LONGEST]
        for _ in range(pieces)
    ]


_WORDS_KNOWN = 5_000
# Which day and hour a run began: fewer at weekends, none at night.
_DAY = """floor(chance(n, 1) * getvariable('month_days'))::integer"""
_BEGAN = f"""getvariable('month_first')
    + to_days(case when isodow(getvariable('month_first') + to_days({_DAY})) < 6
        or chance(n, 2) < 0.2 then {_DAY} else greatest(0, {_DAY} - 2) end)
    + to_hours(getvariable('month_hours')[1 + floor(chance(n, 3)
        * len(getvariable('month_hours')))::integer])
    + to_seconds(floor(chance(n, 4) * 3600)::integer)"""
_PICK = (
    "getvariable('month_{0}')[1 + floor(power({1}, 1.6) * len(getvariable('month_{0}')))::integer]"
)
_STATEMENTS = (
    f"""create or replace temp table month_runs as
        select i as n, 'run-' || i as id, {_PICK.format("people", "chance(n, 5)")} as owner,
        {_PICK.format("teams", "chance(n // 4, 6)")} as team,
        {_PICK.format("collections", "chance(n // 4, 7)")} as collection,
        n // 4 as chat, {_BEGAN} as began, false as audit
        from (select i, i as n from range(getvariable('month_runs')) r(i))""",
    """update month_runs set audit = true, team = 'group', collection = 'Contracts',
        owner = getvariable('month_people')[len(getvariable('month_people'))],
        chat = -1, began = getvariable('month_dear') + to_hours(14)
        + to_seconds((n % 3000)::integer)
        where n % 40 = 7""",
    f"""insert into chats (id, owner, title, team, model, collection, created_at, updated_at)
        select 'chat-' || chat, min_by(owner, n), case when chat < 0 then '{AUDIT}' else
        'Question about ' || lower(any_value(collection)) || ' ' || chat end, any_value(team),
        'gpt-5-mini', any_value(collection), min(began), max(began)
        from month_runs group by chat""",
    """create or replace temp table month_calls as
        select c.n, r.id as run_id, r.owner, r.team, r.collection, 'chat-' || r.chat as chat_id,
        r.audit, r.began + to_seconds((c.n % 6 * 7)::integer) as ended,
        case when c.n % 6 = 0 then 'embedding' else 'chat' end as purpose,
        case when c.n % 6 = 0 then '' when r.team = 'answer' then 'Assistant'
            when r.team = 'research' then ['Researcher', 'Writer'][1 + (c.n % 2)::integer]
            when r.team = 'plan' then ['Planner', 'Worker', 'Solver'][1 + (c.n % 3)::integer]
            else ['Critic', 'Writer', 'Engineer', 'chat_manager'][1 + (c.n % 4)::integer]
            end as agent,
        case when c.n % 6 = 0 then 'text-embedding-3-small' when r.audit then 'gpt-5'
            when chance(c.n, 8) < 0.5 then 'gpt-5-mini' when chance(c.n, 8) < 0.75 then 'gpt-5'
            when chance(c.n, 8) < 0.9 then 'fast-large' else 'llama3.1' end as model
        from (select i as n, least(i // 6, getvariable('month_runs') - 1) as run
            from range(getvariable('month_calls')) t(i)) c
        join month_runs r on r.n = c.run""",
    """insert into llm_calls (id, attempt, owner, run_id, chat_id, message_id, agent, provider,
        model, purpose, status, error, error_type, input_tokens, cache_read_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, estimated, cost, seconds,
        first_token_s, raw_usage, finished_at, imported, team,
        collection, retry_in_s)
        select 'call-' || n, attempt, owner, run_id, chat_id, 'answer-' || run_id, agent, provider,
        model, purpose, status, case status when 'failed' then error else '' end,
        case status when 'failed' then error_type else '' end, tokens_in,
        case when n % 6 > 2 and status = 'ok' then tokens_in * 3 else 0 end, 0,
        case when purpose = 'chat' and status <> 'failed' then tokens_out else 0 end,
        case when model = 'gpt-5' and status = 'ok' then tokens_out // 3 else 0 end, n % 97 = 0,
        case when status in ('failed', 'cached') or model = 'llama3.1' then 0
            when model = 'fast-large' and n % 11 = 0 then null
            else (tokens_in * case model when 'gpt-5' then 1.25 when 'gpt-5-mini' then 0.25
                when 'fast-large' then 0.6 else 0.02 end + case when purpose = 'chat'
                then tokens_out * case model when 'gpt-5' then 10.0 else 2.0 end else 0 end)
                * case when audit then 9 else 1 end / 1e6 end, seconds,
        case when purpose = 'chat' and status = 'ok' then seconds * 0.15 + 0.2 end, '{}',
        ended, false, team, collection, case when n % 50 = 2 then 4.5 end from (
            select *, case model when 'fast-large' then 'api.fast.example'
                when 'llama3.1' then '127.0.0.1:11434' else 'api.openai.com' end as provider,
            case when n % 50 = 3 then 2 else 1 end as attempt,
            case when model = 'fast-large' and chance(n, 9) < 0.35
                and ended >= getvariable('month_failing') then 'failed'
                when chance(n, 10) < 0.006 then 'failed' when chance(n, 10) < 0.01 then 'stopped'
                when chance(n, 10) < 0.05 then 'cached' else 'ok' end as status,
            case when model = 'fast-large' and ended >= getvariable('month_failing')
                then 'The server takes no more requests this minute.'
                else 'The server did not answer within 60 s.' end as error,
            case when model = 'fast-large' and ended >= getvariable('month_failing')
                then 'RateLimitError' else 'Timeout' end as error_type,
            (800 + exp(8.3 + normal(n, 11)))::bigint as tokens_in,
            (20 + exp(5 + 0.9 * normal(n, 12)))::bigint as tokens_out,
            case when chance(n, 10) between 0.01 and 0.05 then 0.002
                when purpose = 'chat' then 0.4 + exp(0.9 + 0.7 * normal(n, 13))
                else 0.05 + 0.1 * chance(n, 13) end as seconds
            from month_calls)""",
    f"""update llm_calls set id = '{SLOWEST}', seconds = {SLOW_S}, first_token_s = 290.25,
        status = 'ok', error = '', error_type = ''
        where id = (select 'call-' || min(n) from month_calls where purpose = 'chat'
            and owner = '{PEOPLE[0]}'
            and model = 'gpt-5-mini' and n > getvariable('month_calls') // 2)""",
    """insert into runs (id, owner, chat_id, kind, title, state, reason, started_at, finished_at,
        message_id, team)
        select id, owner, 'chat-' || chat, 'chat', 'What about ' || lower(collection) || ', '
        || n || '?', case when n % 41 = 0 then 'failed' when n % 67 = 0 then 'stopped'
        else 'finished' end, '', began, began + to_seconds((20 + n % 40)::integer),
        'answer-' || id, team from month_runs""",
)
_STEPS = (
    """insert into events select id, 1, began + to_seconds(1), 'Retrieved', json_object(
        'query', words(n, 21)[:80], 'collection', collection, 'mode', 'hybrid', 'seconds',
        0.02 + 0.2 * chance(n, 22), 'hits', case when chance(n, 23) < 0.12 then []
            else list_transform(range(1, 6), lambda k: {'rank': k, 'document':
                'handbook.pdf', 'score': round((0.9 - 0.1 * k) * (0.6 + 0.4 * chance(n, 24)), 3)})
        end) from month_runs""",
    """insert into events select id, 2 + t, began + to_seconds((5 + 3 * t)::integer),
        'ToolReturned', json_object('call_id', id || '-' || t, 'agent', 'Worker', 'name',
        ['search_web', 'read_file', 'query_table', 'send_mail'][1 + ((n + t) % 4)::integer],
        'ok', not ((n + t) % 4 = 0 and chance(n + t, 25) < 0.3 or chance(n + t, 26) < 0.02),
        'content', words(n + t, 27), 'seconds', exp(normal(n + t, 28) - 0.5 + (n + t) % 4 / 2))
        from month_runs, range(3) r(t) where team <> 'answer'""",
    """insert into events select id, 6, began + to_seconds(14), 'Compressed', json_object(
        'agent', 'Writer', 'strategy', case when n % 2 = 0 then 'summary' else 'drop' end,
        'ok', chance(n, 29) > 0.03, 'messages_before', 40, 'messages_after', 12, 'tokens_before',
        9000 + (8000 * chance(n, 30))::bigint, 'tokens_after',
        2000 + (2000 * chance(n, 31))::bigint, 'tokens_spent', case when n % 2 = 0 then 2600
        else 0 end, 'cost', case when n % 2 = 0 then 0.004 else 0 end, 'seconds', 2.5)
        from month_runs where n % 5 = 1""",
    """insert into events select id, 7, began + to_seconds(16), 'HumanInputRequested',
        json_object('request_id', 'ask-' || n, 'agent', 'Worker', 'prompt', 'May this run?',
        'language', 'python') from month_runs where n % 6 = 2""",
    """insert into events select id, 8, began + to_seconds((17 + exp(4 + normal(n, 32)))::integer),
        'HumanAnswered', json_object('request_id', 'ask-' || n, 'text',
        ['approve', 'approve', 'approve', 'edit' || chr(10) || 'print(1)', 'reject']
        [1 + (n // 6 % 5)::integer]) from month_runs where n % 6 = 2 and n % 78 <> 2""",
)
_TEXTS = (
    """insert into events select id, 0, began, 'RunStarted',
        json_object('what', 'chat', 'title', 'What about ' || lower(collection) || ', ' || n || '?',
        'team', team) from month_runs""",
    """insert into events select c.run_id, 10 + (c.n % 6 * 2)::integer, c.ended, 'ModelCalled',
        json_object('call_id', l.id, 'agent', c.agent, 'provider', l.provider, 'model', c.model,
        'purpose', c.purpose) from month_calls c join llm_calls l
        on l.run_id = c.run_id and l.finished_at = c.ended""",
    """insert into events select c.run_id, 11 + (c.n % 6 * 2)::integer, c.ended, 'ModelReplied',
        json_object('call_id', l.id, 'agent', c.agent, 'provider', l.provider, 'model', c.model,
        'purpose', c.purpose, 'status', l.status, 'text', case when l.status = 'failed' then ''
        else words(c.n, 33) end, 'seconds', l.seconds, 'cost', l.cost, 'error', l.error,
        'error_type', l.error_type, 'attempt', l.attempt, 'usage', {'input': l.input_tokens,
        'cache_read': l.cache_read_tokens, 'output': l.output_tokens})
        from month_calls c join llm_calls l
        on l.run_id = c.run_id and l.finished_at = c.ended""",
    """insert into events select id, 40, began + to_seconds((20 + n % 40)::integer), 'RunFinished',
        json_object('reason', '') from month_runs""",
)
_SAID = (
    """insert into events select id, 48, began, 'Noted', json_object(
        'agent', 'chat_manager', 'text', 'The turns before are shortened.') from month_runs""",
    """insert into events select run_id, 60 + (n % 6)::integer, ended, 'SpeakerSelected',
        json_object('agent', 'chat_manager', 'speaker', agent, 'method', 'auto', 'round', n % 6,
        'candidates', ['Critic', 'Writer', 'Engineer']) from month_calls where purpose = 'chat'""",
    """insert into events select id, 70 + t, began + to_seconds((4 + 3 * t)::integer), 'ToolCalled',
        json_object('call_id', id || '-' || t, 'agent', 'Worker', 'name',
        ['search_web', 'read_file', 'query_table', 'send_mail'][1 + ((n + t) % 4)::integer],
        'arguments', '{"query": "' || words(n + t, 34)[:60] || '"}')
        from month_runs, range(3) r(t) where team <> 'answer'""",
    """create or replace temp table month_said as
        select 'said-' || n as id, run_id, chat_id, agent as sender, ended as said_at,
        words(n, 33) as content, n % 6 < 5 as is_inner, 50 + (n % 6)::integer as seq
        from month_calls where purpose = 'chat' union all
        select 'asked-' || id, id, 'chat-' || chat, 'user', began, words(n, 35)[:300], false, 49
        from month_runs""",
    """insert into events select run_id, seq, said_at, 'MessageSent', json_object(
        'id', id, 'parent_id',
        null, 'sender', sender, 'recipient', 'team', 'role', case when sender = 'user' then 'user'
        else 'assistant' end, 'content', content, 'status', 'complete',
        'extra', json_object('inner', is_inner)) from month_said""",
    """insert into messages (id, chat_id, run_id, sender, recipient, role, content, status, extra,
        created_at, folded) select id, chat_id, run_id, sender, 'team', case when sender = 'user'
        then 'user' else 'assistant' end, content, 'complete',
        json_object('inner', is_inner), said_at,
        lower(content) from month_said""",
    """insert into request_parts select md5(id), chat_id, json_object('role', 'assistant', 'name',
        sender, 'content', content) from month_said""",
)
"""What was said, as often as a run stores it: the event, the message in two forms, and a part of
what the next call sends.
"""
