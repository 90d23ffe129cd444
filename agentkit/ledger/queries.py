"""Questions to the ledger, one function each. Costs are US dollars, times seconds; an unknown cost
is None, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agentkit.core.address import ON_THIS_MACHINE
from agentkit.core.given import list_known, pick_filled
from agentkit.database import Row
from agentkit.errors import ConfigError, NotFound
from agentkit.event_json import from_json
from agentkit.event_values import CallStatus
from agentkit.events import Event, ModelCalled, Purpose, Recorded, RunStarted
from agentkit.ledger import requests
from agentkit.ledger.rows import RunKey
from agentkit.ledger.store import Ledger

if TYPE_CHECKING:
    import pandas

Group = Literal[
    "day",
    "model",
    "agent",
    "chat",
    "run",
    "team",
    "purpose",
    "owner",
    "provider",
    "collection",
    "status",
]
E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which model calls are meant; times are UTC without zone, `until` is excluded; empty means
    all, but for those of imported chats, which are meant only where one `chat` is.
    """

    owner: str
    since: datetime | None = None
    until: datetime | None = None
    models: Sequence[str] = ()
    agents: Sequence[str] = ()
    purpose: Literal[""] | Purpose = ""
    chat: str = ""
    """The id of one."""
    statuses: Sequence[CallStatus] = ()
    providers: Sequence[str] = ()
    teams: Sequence[str] = ()
    """Their ids; as with agents, an empty one is meant where there was none."""
    collections: Sequence[str] = ()
    """Of the chats, by name."""
    purposes: Sequence[str] = ()
    chats: Sequence[str] = ()
    everyone: bool = False
    """Whether the calls of all owners are meant, or those of `owners`, and not only of `owner`."""
    owners: Sequence[str] = ()

    def where(self) -> tuple[str, list[Any]]:
        """The SQL condition over `c` (llm_calls) and its values."""
        mine = {} if self.everyone else {"c.owner = ?": self.owner}
        conditions: dict[str, Any] = {
            "c.finished_at >= ?": self.since,
            "c.finished_at < ?": self.until,
            "list_contains(?, c.model)": list(self.models),
            "list_contains(?, c.agent)": list(self.agents),
            "c.purpose = ?": self.purpose,
            "c.chat_id = ?": self.chat,
            "list_contains(?, c.status)": list(self.statuses),
            "list_contains(?, c.provider)": list(self.providers),
            "list_contains(?, coalesce(c.team, ''))": list(self.teams),
            "list_contains(?, coalesce(c.collection, ''))": list(self.collections),
            "list_contains(?, c.purpose)": list(self.purposes),
            "list_contains(?, coalesce(c.chat_id, ''))": list(self.chats),
            "list_contains(?, c.owner)": list(self.owners),
        }
        meant = mine | pick_filled(conditions)
        # What an imported chat took was paid for elsewhere: it counts in that chat alone.
        here = "true" if self.chat else "not c.imported"
        return " and ".join([here, *meant]), list(meant.values())


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over calls."""

    calls: int = 0
    failed: int = 0
    cached: int = 0
    """Calls whose reply came out of a cache, which cost nothing."""
    answered: int = 0
    """Chat calls that a model answered."""
    elsewhere: int = 0
    """Calls of any purpose that a server on another machine answered."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    """Whether any of the tokens are our estimate."""
    cost: float | None = None
    """Sum of the known costs; None when none is known."""
    unpriced: int = 0
    """Calls with tokens whose price is unknown."""
    seconds: float = 0.0
    p50_s: float | None = None
    """As `p95_s` of the calls that a model answered to the end: not of failed, stopped or cached
    ones.
    """
    p95_s: float | None = None
    first_token_p50_s: float | None = None


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """The sums of one day, model, agent, chat or run."""

    key: str
    title: str
    totals: Totals


@dataclass(frozen=True, slots=True)
class RunTotals:
    """A run with what it took; times are UTC without zone."""

    id: str
    kind: str
    title: str
    state: str
    reason: str
    chat_id: str | None
    started_at: datetime
    finished_at: datetime | None
    seconds: float | None
    calls: int
    tokens: int
    cost: float | None
    team: str = ""
    """The id of the team that was asked; empty for none."""
    unpriced: int = 0
    """Calls with tokens whose price is unknown."""


def totals(ledger: Ledger, calls: CallFilter) -> Totals:
    """Sums over all calls that the filter means."""
    where, values = calls.where()
    row = ledger.database.row(f"select {_SUMS} from llm_calls c where {where}", values)
    assert row is not None  # an aggregate without groups always gives one row
    return Totals(**row)


def of_messages(ledger: Ledger, owner: str, message_ids: Sequence[str]) -> dict[str, Totals]:
    """The sums by answer, for those messages that took calls; embeddings of the question are
    counted in.
    """
    return _sum_by("message_id", ledger, owner, message_ids)


def of_runs(ledger: Ledger, owner: str, run_ids: Sequence[str]) -> dict[str, Totals]:
    """The sums by run, for those runs that took calls."""
    return _sum_by("run_id", ledger, owner, run_ids)


def _sum_by(column: str, ledger: Ledger, owner: str, ids: Sequence[str]) -> dict[str, Totals]:
    which = f"c.owner = ? and list_contains(?, c.{column})"
    sql = f"select c.{column} as key, {_SUMS} from llm_calls c where {which} group by all"
    return {row.pop("key"): Totals(**row) for row in _read_sums(ledger, sql, owner, ids)}


def _read_sums(ledger: Ledger, sql: str, owner: str, ids: Sequence[str]) -> list[Row]:
    """Sums of the calls of messages or runs, looked up once until there is another call."""
    found = ledger.database.remembered.rows(("llm_calls",), sql, [owner, list(ids)]) if ids else []
    return [dict(row) for row in found]


def of_agents(
    ledger: Ledger, owner: str, message_ids: Sequence[str]
) -> dict[str, dict[str, Totals]]:
    """The same sums by answer and agent, in the order of the agents' first calls; what no agent
    made is under an empty name.
    """
    which = "c.owner = ? and list_contains(?, c.message_id)"
    sql = f"""select c.message_id as message, c.agent as agent, {_SUMS} from llm_calls c
        where {which} group by c.message_id, c.agent order by min(c.finished_at)"""
    found: dict[str, dict[str, Totals]] = {}
    for row in _read_sums(ledger, sql, owner, message_ids):
        message, agent = row.pop("message"), row.pop("agent")
        found.setdefault(message, {})[agent] = Totals(**row)
    return found


def longest_request(ledger: Ledger, owner: str, run_id: str, but: str) -> int:
    """Tokens of the longest prompt that a run sent to language models, `but` for one agent's."""
    found: int | None = ledger.database.value(
        """select max(input_tokens + cache_read_tokens + cache_write_tokens) from llm_calls
        where owner = ? and run_id = ? and purpose = 'chat' and agent <> ?""",
        [owner, run_id, but],
    )
    return found or 0


def group_calls(
    ledger: Ledger, calls: CallFilter, by: Group, timezone: str = "UTC"
) -> pandas.DataFrame:
    """One row per day (in `timezone`, an IANA name), model, agent, chat or run: the key, its title,
    and the sums.
    """
    return ledger.database.frame(*_group_statement(calls, by, timezone))


def groups(
    ledger: Ledger, calls: CallFilter, by: Group, timezone: str = "UTC"
) -> list[GroupTotals]:
    """The same, one by one."""
    rows = ledger.database.rows(*_group_statement(calls, by, timezone))
    return [GroupTotals(row.pop("key"), row.pop("title"), Totals(**row)) for row in rows]


def _group_statement(calls: CallFilter, by: Group, timezone: str) -> tuple[str, list[Any]]:
    where, values = calls.where()
    key, title = _KEYS[by]
    _check_zone(timezone)
    if by == "day":
        order, values = "key", [timezone, timezone, *values]
    else:
        order = "cost desc nulls last, calls desc"
    return (
        f"""select {key} as key, {title} as title, {_SUMS} from llm_calls c left join chats h
        on h.id = c.chat_id and h.deleted_at is null
        left join runs r on r.id = c.run_id where {where} group by 1, 2 order by {order}""",
        values,
    )


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f"There is no time zone {name!r}; give an IANA name such as Europe/Berlin."
        ) from error


def calls(ledger: Ledger, chosen: CallFilter, limit: int | None = None) -> pandas.DataFrame:
    """The calls themselves, newest first: every column of `llm_calls` but the raw usage, with the
    chat's title.

    Without a limit all of them, in memory; `export` writes any number to a file.
    """
    sql, values = every_call(chosen)
    if limit is not None:
        sql, values = f"{sql} limit ?", [*values, limit]
    return ledger.database.frame(sql, values)


def every_call(chosen: CallFilter) -> tuple[str, list[Any]]:
    """The statement that gives the calls themselves, newest first, and its values."""
    where, values = chosen.where()
    sql = f"""select c.* exclude (raw_usage, owner, imported) replace ({COST} as cost),
    coalesce(h.title, '') as chat
        from llm_calls c left join chats h on h.id = c.chat_id and h.deleted_at is null
        where {where} order by c.finished_at desc, c.id, c.attempt"""
    return sql, values


def runs(ledger: Ledger, owner: str, limit: int = 50, kind: str = "") -> list[dict[str, Any]]:
    """The owner's runs, newest first, with their times (UTC), seconds, calls, tokens and cost."""
    return ledger.database.rows(
        f"""select {RUN}, count(c.id) as calls, {RUN_SUMS} from runs r
        left join llm_calls c on c.run_id = r.id where r.owner = ? and (? = '' or r.kind = ?)
        group by all order by r.started_at desc limit ?""",
        [owner, kind, kind, limit],
    )


def last_state(ledger: Ledger, owner: str, chat_id: str) -> str:
    """How the last run of a chat stands, such as `interrupted`; empty when there was none."""
    sql = "select state from runs where owner = ? and chat_id = ? order by started_at desc limit 1"
    return str(ledger.database.value(sql, [owner, chat_id]) or "")


@dataclass(frozen=True, slots=True)
class RunState:
    """A run, and how it stands: `running`, `finished`, `failed`, `stopped`; `interrupted` when its
    process ended, `waiting` when that was while it waited for a person, `continued` when another
    one went on with it.
    """

    key: RunKey
    state: str


def run_state(ledger: Ledger, owner: str, run_id: str) -> RunState:
    """How a run stands; raises NotFound."""
    row = ledger.database.row(
        "select id, owner, chat_id, message_id, state from runs where id = ? and owner = ?",
        [run_id, owner],
    )
    if row is None:
        raise NotFound(f"There is no run {run_id!r}; `python -m agentkit runs` lists them.")
    state = row.pop("state")
    return RunState(RunKey(**row), state)


def list_waiting_runs(ledger: Ledger, owner: str, chat_id: str = "") -> list[str]:
    """The ids of the runs, of one chat or of all, that wait for a person without a process."""
    sql = "select id, chat_id from runs where owner = ? and state = 'waiting' order by started_at"
    waiting = ledger.database.remembered.rows(("runs",), sql, [owner])
    return [row["id"] for row in waiting if chat_id in ("", row["chat_id"])]


def find_resumed(ledger: Ledger, owner: str, run_id: str) -> str:
    """The id of the run that this one went on with, or began from; empty for none."""
    started = [event for _, event in told(ledger, owner, [run_id], RunStarted)]
    if started:
        return started[0].resumes or started[0].repeats
    return ""


def why_not_resumed(ledger: Ledger, owner: str, run_id: str) -> str:
    """Why the last try to go on with a run failed; empty when there was none."""
    found = ledger.database.value(
        """select r.reason from runs r join events e on e.run_id = r.id where r.owner = ?
        and r.state = 'failed' and e.kind = 'RunStarted' and e.data->>'resumes' = ?
        order by r.started_at desc limit 1""",
        [owner, run_id],
    )
    return str(found or "")


def events(
    ledger: Ledger, owner: str, run_id: str, *, with_requests: bool = True
) -> list[Recorded]:
    """The stored events of a run, in order; raises NotFound.

    With `with_requests`, each ModelCalled has what was sent, as it had when it happened.
    """
    of_owner = ledger.database.value(
        "select count(*) from runs where id = ? and owner = ?", [run_id, owner]
    )
    if of_owner == 0:
        raise NotFound(f"There is no run {run_id!r}; `python -m agentkit runs` lists them.")
    rows = ledger.database.rows(
        "select seq, happened_at, kind, data from events where run_id = ? order by seq", [run_id]
    )
    recorded = [_read_recorded(row) for row in rows]
    if not with_requests:
        return recorded

    sent = requests.of_run(ledger.database, run_id)
    return [_add_request(one, sent.get(one.seq)) for one in recorded]


def _read_recorded(row: Row) -> Recorded:
    """The event that the row holds."""
    event = from_json({"kind": row["kind"], **json.loads(row["data"])})
    return Recorded(row["seq"], row["happened_at"].replace(tzinfo=UTC).timestamp(), event)


def _add_request(recorded: Recorded, request: requests.Request | None) -> Recorded:
    """A call's event with what was sent, when that is kept."""
    event = recorded.event
    if request is None or not isinstance(event, ModelCalled):
        return recorded
    whole = replace(event, messages=request.messages, request=request.around)
    return replace(recorded, event=whole)


def find_telling(
    ledger: Ledger, owner: str, run_ids: Sequence[str], kind: type[object]
) -> set[str]:
    """Those of these runs that are the owner's and told an event of this kind."""
    rows = ledger.database.rows(
        """select distinct e.run_id as id from events e join runs r on r.id = e.run_id
        where r.owner = ? and e.kind = ? and list_contains(?, e.run_id)""",
        [owner, kind.__name__, list(run_ids)],
    )
    return {row["id"] for row in rows}


def told(
    ledger: Ledger, owner: str, run_ids: Sequence[str], kind: type[E]
) -> Iterator[tuple[str, E]]:
    """The stored events of one kind in those of these runs that are the owner's, each with its
    run's id; the last one first.
    """
    known = find_telling(ledger, owner, run_ids, kind)
    in_order = list_known(dict.fromkeys(run_ids), known)
    for run_id in reversed(in_order):
        # Run by run, as the caller asks on: the events of one lie together in the file, so that
        # little of it is read.
        sql = "select data from events where run_id = ? and kind = ? order by seq desc"
        for row in ledger.database.rows(sql, [run_id, kind.__name__]):
            event = from_json({"kind": kind.__name__, **json.loads(row["data"])})
            if isinstance(event, kind):
                yield run_id, event


@dataclass(frozen=True, slots=True)
class Search:
    """A look-up that a run made, without what it found."""

    query: str
    collection: str
    hits: int
    weak: int
    """Passages that were found and scored below the threshold."""
    min_score: float


def searches(ledger: Ledger, owner: str, run_id: str) -> list[Search]:
    """The look-ups of a run, in order; what was found is counted where it lies, and not read."""
    rows = ledger.database.rows(
        """select e.data->>'query' as query, e.data->>'collection' as collection,
        json_array_length(e.data->'hits') as hits,
        coalesce(cast(e.data->'left_out'->>'weak' as integer), 0) as weak,
        coalesce(cast(e.data->'options'->>'min_score' as double), 0) as min_score
        from events e join runs r on r.id = e.run_id
        where r.owner = ? and e.run_id = ? and e.kind = 'Retrieved' order by e.seq""",
        [owner, run_id],
    )
    return [Search(**row) for row in rows]


def passages(ledger: Ledger, owner: str, run_ids: Sequence[str]) -> dict[str, int]:
    """How many passages the look-ups of each of these runs found, counted where they lie; 0 where
    none did.
    """
    rows = ledger.database.rows(
        """select e.run_id, sum(json_array_length(e.data->'hits'))::bigint as found
        from events e join runs r on r.id = e.run_id
        where r.owner = ? and list_contains(?, e.run_id) and e.kind = 'Retrieved'
        group by e.run_id""",
        [owner, list(run_ids)],
    )
    return dict.fromkeys(run_ids, 0) | {row["run_id"]: row["found"] for row in rows}


PROMPT = "c.input_tokens + c.cache_read_tokens + c.cache_write_tokens"
COMPLETION = "c.output_tokens + c.reasoning_tokens"
_HERE = f"regexp_full_match(c.provider, '{ON_THIS_MACHINE}')"
# Rows of older versions have no cost for servers of this machine.
COST = f"case when c.cost is null and {_HERE} then 0 else c.cost end"
ANSWERED = "c.status in ('ok', 'stopped')"
_SUMS = f"""count(*) as calls,
    count(*) filter (c.status = 'failed') as failed,
    count(*) filter (c.status = 'cached') as cached,
    count(*) filter (c.purpose = 'chat' and {ANSWERED}) as answered,
    count(*) filter ({ANSWERED} and not {_HERE}) as elsewhere,
    coalesce(sum({PROMPT}), 0)::bigint as prompt_tokens,
    coalesce(sum(c.cache_read_tokens), 0)::bigint as cached_tokens,
    coalesce(sum({COMPLETION}), 0)::bigint as completion_tokens,
    coalesce(bool_or(c.estimated), false) as estimated,
    sum({COST}) as cost,
    count(*) filter ({COST} is null and {PROMPT} + {COMPLETION} > 0) as unpriced,
    coalesce(sum(c.seconds), 0)::double as seconds,
    quantile_cont(c.seconds, 0.5) filter (c.status = 'ok')::double as p50_s,
    quantile_cont(c.seconds, 0.95) filter (c.status = 'ok')::double as p95_s,
    quantile_cont(c.first_token_s, 0.5) filter ({ANSWERED})::double as first_token_p50_s"""
RUN_S = """case when r.finished_at < r.started_at then 0
    else date_diff('millisecond', r.started_at, r.finished_at) / 1000 end"""
"""How long a run `r` took, null while it goes on; 0 when the clock was set back meanwhile."""
RUN = f"""r.id, r.kind, r.title, r.state, r.reason, r.chat_id, r.started_at, r.finished_at, r.team,
    {RUN_S} as seconds"""
"""What is told of a run `r`."""
RUN_SUMS = f"""coalesce(sum({PROMPT} + {COMPLETION}), 0)::bigint as tokens, sum({COST}) as cost,
    count(*) filter ({COST} is null and {PROMPT} + {COMPLETION} > 0) as unpriced"""
"""What is told of the calls `c` of a run, with their number."""
_DAY = "strftime(c.finished_at at time zone 'UTC' at time zone ?, '%Y-%m-%d')"
_KEYS: dict[Group, tuple[str, str]] = {
    "day": (_DAY, _DAY),
    "model": ("c.model", "c.model"),
    "agent": ("c.agent", "c.agent"),
    "chat": (
        "coalesce(c.chat_id, '')",
        (
            "coalesce(h.title, case when c.chat_id is null then 'outside chats' else 'deleted chat'"
            " end)"
        ),
    ),
    "run": ("coalesce(c.run_id, '')", "coalesce(r.title, 'outside runs')"),
    "team": ("coalesce(c.team, '')", "coalesce(c.team, '')"),
    "purpose": ("c.purpose", "c.purpose"),
    "owner": ("c.owner", "c.owner"),
    "provider": ("c.provider", "c.provider"),
    "collection": ("coalesce(c.collection, '')", "coalesce(c.collection, '')"),
    "status": ("c.status", "c.status"),
}
