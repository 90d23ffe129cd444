"""The figures of the model calls: in all, over time, by hour of the week, and by one or two kinds
of group. Costs are US dollars, times seconds; what is unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from agentkit.core.given import list_missing
from agentkit.ledger.queries import ANSWERED, COMPLETION, COST, PROMPT, CallFilter
from agentkit.ledger.store import Ledger, utc_now
from agentkit.ledger.usage.local import local_hour, local_step

if TYPE_CHECKING:
    import pandas

Measure = Literal["cost", "tokens", "calls", "errors"]
By = Literal[
    "model", "agent", "team", "chat", "purpose", "owner", "provider", "collection", "status", "run"
]
Order = Literal["cost", "tokens", "calls", "failed", "p95_s"]
Times = Literal["none", "short", "first", "whole"]
"""Which times are found, as sorting them takes longest: none; the median and the 95th percentile;
those and the first word's; or all that Sums has.
"""
OTHERS = "\0others"
"""The key of what is not among the largest groups."""
_TIMED = "c.status = 'ok' and c.purpose = 'chat'"
_SPEED = f"({COMPLETION}) / nullif(c.seconds, 0)"
MEASURES: dict[Measure, str] = {
    "cost": f"coalesce(sum({COST}), 0)::double",
    "tokens": f"sum({PROMPT} + {COMPLETION})::bigint",
    "calls": "count(*)",
    "errors": "count(*) filter (c.status = 'failed')",
}
KEYS: dict[By, str] = {
    "model": "c.model",
    "agent": "c.agent",
    "team": "coalesce(c.team, '')",
    "chat": "coalesce(c.chat_id, '')",
    "purpose": "c.purpose",
    "owner": "c.owner",
    "provider": "c.provider",
    "collection": "coalesce(c.collection, '')",
    "status": "c.status",
    "run": "coalesce(c.run_id, '')",
}


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over calls."""

    calls: int = 0
    failed: int = 0
    cached: int = 0
    """Calls whose reply came out of a cache, which cost nothing."""
    retries: int = 0
    """Calls that were a second attempt, or a later one."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    """Whether any of the tokens are our estimate."""
    cost: float | None = None
    """Sum of the known costs; None when none is known."""
    unpriced: int = 0
    """Calls with tokens whose price is unknown."""
    p50_s: float | None = None
    """As the other times, of chat calls that a model answered to the end: not of failed, stopped
    or cached ones, and of embeddings only where they alone are meant.
    """
    p95_s: float | None = None
    p99_s: float | None = None
    first_token_p50_s: float | None = None
    first_token_p95_s: float | None = None
    tokens_per_s: float | None = None
    """Median of the tokens that came out in a second, from sending to the last word."""


def has_calls(ledger: Ledger, calls: CallFilter) -> bool:
    """Whether the filter means any call."""
    where, values = calls.where()
    sql = f"select 1 from llm_calls c where {where} limit 1"
    return ledger.database.value(sql, values) is not None


def measure(ledger: Ledger, calls: CallFilter, times: Times = "whole") -> Sums:
    """Sums over all calls that the filter means."""
    where, values = calls.where()
    row = ledger.database.row(
        f"select {_sums(calls, times)} from llm_calls c where {where}", values
    )
    assert row is not None  # an aggregate without groups always gives one row
    return Sums(**row)


def before(calls: CallFilter) -> CallFilter | None:
    """The same filter for the period of the same length just before; None without a beginning."""
    if calls.since is None:
        return None
    until = calls.until or utc_now()
    return replace(calls, since=calls.since - (until - calls.since), until=calls.since)


def find_span(ledger: Ledger, calls: CallFilter) -> tuple[datetime, datetime]:
    """From when to when the filter reaches, or the calls where it has no bounds."""
    where, values = calls.where()
    sql = f"select min(c.finished_at) as a, max(c.finished_at) as b from llm_calls c where {where}"
    row = ledger.database.row(sql, values) or {}
    first = calls.since or row["a"] or utc_now()
    last = calls.until or (row["b"] or utc_now()) + timedelta(seconds=1)
    return first, max(first, last)


def over_time(
    ledger: Ledger,
    calls: CallFilter,
    what: Measure,
    by: By,
    zone: str,
    hours: int = 24,
    most: int = 7,
) -> pandas.DataFrame:
    """What was measured in each step of so many `hours` on the clocks of the zone, by group: rows
    of `hour` (from 1970, where the step begins), `key` and `value`. All but the `most` largest
    groups are one, OTHERS.
    """
    where, values = calls.where()
    step = local_step("c.finished_at", zone, *find_span(ledger, calls), hours)
    return ledger.database.frame(
        f"""with cells as (select {step} as hour, {KEYS[by]} as key,
            {MEASURES[what]} as value from llm_calls c where {where} group by all),
        largest as (select key from cells group by key
            order by sum(value) desc, key limit {most})
        select hour, case when key in (from largest) then key else ? end as key,
        sum(value)::double as value from cells group by all order by hour, key""",
        [*values, OTHERS],
    )


def totals_over_time(
    ledger: Ledger, calls: CallFilter, zone: str, hours: int = 24, times: Times = "whole"
) -> pandas.DataFrame:
    """The sums of each step of so many `hours`: rows of `hour` and what Sums has."""
    where, values = calls.where()
    step = local_step("c.finished_at", zone, *find_span(ledger, calls), hours)
    return ledger.database.frame(
        f"""select {step} as hour, {_sums(calls, times)} from llm_calls c
        where {where} group by all order by hour""",
        values,
    )


def by_hour_of_week(
    ledger: Ledger, calls: CallFilter, what: Measure, zone: str
) -> pandas.DataFrame:
    """What was measured in each hour of the week on the clocks of the zone: rows of `day` (0 is
    Monday), `hour` and `value`.
    """
    where, values = calls.where()
    hour = local_hour("c.finished_at", zone, *find_span(ledger, calls))
    # The first of January 1970 was a Thursday.
    return ledger.database.frame(
        f"""select hour // 24 as day, hour % 24 as hour, value from (
            select (({hour}) + 72) % 168 as hour, {MEASURES[what]}::double as value
            from llm_calls c where {where} group by all) order by all""",
        values,
    )


def by_groups(
    ledger: Ledger,
    calls: CallFilter,
    first: By,
    second: By | None = None,
    *,
    order: Order = "cost",
    limit: int = 500,
    times: Times = "whole",
) -> pandas.DataFrame:
    """The sums of each group, and with `second` of each of those within it: `first`, `second` and
    what Sums has, the largest first.
    """
    where, values = calls.where()
    keys = f"{KEYS[first]} as first" + (f", {KEYS[second]} as second" if second else "")
    ordered = "prompt_tokens + completion_tokens" if order == "tokens" else order
    return ledger.database.frame(
        f"""select {keys}, {_sums(calls, times)} from llm_calls c where {where} group by all
        order by {ordered} desc nulls last, calls desc, first limit {limit}""",
        values,
    )


@dataclass(frozen=True, slots=True)
class Leader:
    """The largest of the groups of one kind."""

    by: By
    key: str
    share: float
    """Of all that was measured, from 0 to 1."""
    groups: int
    """How many there are."""


def find_leaders(
    ledger: Ledger, calls: CallFilter, what: Measure, kinds: Sequence[By]
) -> list[Leader]:
    """The largest group of each kind that has more than one, the one with the largest share first;
    none where nothing was measured.
    """
    where, values = calls.where()
    keys = ", ".join(f"{KEYS[by]} as {by}" for by in kinds)
    each = " union all ".join(
        f"""(select '{by}' as "by", {by} as key, sum(value) as value, count(*) over () as groups
        from cells group by {by} order by sum(value) desc, {by} limit 1)"""
        for by in kinds
    )
    rows = ledger.database.rows(
        f"""with cells as materialized (select {keys}, {MEASURES[what]} as value
        from llm_calls c where {where} group by all)
        select "by", key, groups,
        (value / (select nullif(sum(value), 0) from cells))::double as share
        from ({each}) where groups > 1 and value > 0 order by share desc, key""",
        values,
    )
    return [Leader(**row) for row in rows]


def name_chats(ledger: Ledger, chat_ids: list[str]) -> dict[str, str]:
    """The titles of those of these chats that are there."""
    rows = ledger.database.rows(
        "select id, title from chats where deleted_at is null and list_contains(?, id)", [chat_ids]
    )
    return {row["id"]: row["title"] for row in rows}


def find_values(ledger: Ledger, calls: CallFilter) -> dict[str, list[str]]:
    """The models, agents, teams and so on that occur in the calls, sorted."""
    where, values = calls.where()
    keys = list_missing(KEYS, ("chat", "run"))
    listed = ", ".join(f"list(distinct {KEYS[by]}) as {by}" for by in keys)
    row = ledger.database.row(f"select {listed} from llm_calls c where {where}", values)
    known: dict[str, list[str]] = {}
    for name, found in (row or {}).items():
        known[name] = sorted(found or ())
    return known


def _sums(calls: CallFilter, times: Times) -> str:
    """The columns of Sums, with these times; each list of shares is sorted once."""
    meant = {calls.purpose, *calls.purposes} - {""}
    timed = _TIMED if meant != {"embedding"} else "c.status = 'ok'"
    return _COUNTED + _TIMES[times].format(timed=timed)


_COUNTED = f"""count(*) as calls,
    count(*) filter (c.status = 'failed') as failed,
    count(*) filter (c.status = 'cached') as cached,
    count(*) filter (c.attempt > 1) as retries,
    coalesce(sum({PROMPT}), 0)::bigint as prompt_tokens,
    coalesce(sum(c.cache_read_tokens), 0)::bigint as cached_tokens,
    coalesce(sum({COMPLETION}), 0)::bigint as completion_tokens,
    coalesce(bool_or(c.estimated), false) as estimated,
    sum({COST}) as cost,
    count(*) filter ({COST} is null and {PROMPT} + {COMPLETION} > 0) as unpriced"""
_ALL = "quantile_cont(c.seconds, [0.5, 0.95, 0.99]) filter ({timed})"
_FIRST = f"quantile_cont(c.first_token_s, [0.5, 0.95]) filter ({ANSWERED})"
_TWO = _ALL.replace(", 0.99", "")
_SHORT = f", ({_TWO})[1]::double as p50_s, ({_TWO})[2]::double as p95_s"
_TIMES: dict[Times, str] = {
    "none": "",
    "short": _SHORT,
    "first": f"""{_SHORT},
    quantile_cont(c.first_token_s, 0.5) filter ({ANSWERED})::double as first_token_p50_s""",
    "whole": f""",
    ({_ALL})[1]::double as p50_s, ({_ALL})[2]::double as p95_s, ({_ALL})[3]::double as p99_s,
    ({_FIRST})[1]::double as first_token_p50_s, ({_FIRST})[2]::double as first_token_p95_s,
    quantile_cont({_SPEED}, 0.5) filter ({{timed}} and {COMPLETION} > 0)::double
        as tokens_per_s""",
}
