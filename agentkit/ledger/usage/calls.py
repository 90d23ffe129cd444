"""The calls themselves, and how the calls that failed did: by kind and server, with the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agentkit.ledger.queries import COMPLETION, COST, PROMPT, CallFilter
from agentkit.ledger.store import Ledger
from agentkit.ledger.usage.local import local_step
from agentkit.ledger.usage.sums import find_span

if TYPE_CHECKING:
    import pandas

CallOrder = Literal["newest", "slowest", "dearest", "tokens", "first_word"]
_ORDERS: dict[CallOrder, str] = {
    "newest": "c.finished_at desc",
    "slowest": "c.seconds desc",
    "dearest": "cost desc nulls last",
    "tokens": "tokens_in + tokens_out desc",
    "first_word": "c.first_token_s desc nulls last",
}


def list_calls(
    ledger: Ledger, calls: CallFilter, order: CallOrder = "newest", limit: int = 200
) -> pandas.DataFrame:
    """Some of the calls that the filter means, in this order."""
    where, values = calls.where()
    return ledger.database.frame(
        f"""select c.id, c.attempt, c.run_id, c.chat_id, c.owner, c.finished_at, c.model, c.agent,
        coalesce(c.team, '') as team, c.provider, c.purpose, c.status, c.error, c.error_type,
        {PROMPT} as tokens_in, {COMPLETION} as tokens_out, {COST} as cost, c.seconds,
        c.first_token_s from llm_calls c where {where}
        order by {_ORDERS[order]}, c.finished_at desc, c.id, c.attempt limit {limit}""",
        values,
    )


def count_listed(ledger: Ledger, calls: CallFilter) -> int:
    """How many calls the filter means."""
    where, values = calls.where()
    return int(ledger.database.value(f"select count(*) from llm_calls c where {where}", values))


def failures(ledger: Ledger, calls: CallFilter) -> pandas.DataFrame:
    """The failed calls by kind of error and server, the most frequent first: how many, of how many
    calls of the server, since when, and the latest with its text, id and run.
    """
    where, values = calls.where()
    return ledger.database.frame(
        f"""with meant as (select * from llm_calls c where {where}),
        asked as (select provider, count(*) as asked from meant group by provider)
        select f.error_type, f.provider, count(*) as failed, any_value(a.asked) as asked,
        count(distinct f.model) as models, arg_max(f.model, f.finished_at) as model,
        min(f.finished_at) as first, max(f.finished_at) as last,
        arg_max(f.error, f.finished_at) as error, arg_max(f.id, f.finished_at) as id,
        arg_max(f.run_id, f.finished_at) as run_id, arg_max(f.owner, f.finished_at) as owner
        from meant f join asked a on a.provider = f.provider where f.status = 'failed'
        group by f.error_type, f.provider order by failed desc, last desc limit 200""",
        values,
    )


def failures_over_time(
    ledger: Ledger, calls: CallFilter, zone: str, hours: int = 24
) -> pandas.DataFrame:
    """The failed calls of each step of so many `hours` on the clocks of the zone, by kind of error
    and server: rows of `hour`, `key` and `value`.
    """
    where, values = calls.where()
    step = local_step("c.finished_at", zone, *find_span(ledger, calls), hours)
    return ledger.database.frame(
        f"""select {step} as hour,
        c.error_type || ' · ' || c.provider as key, count(*)::double as value
        from llm_calls c where {where} and c.status = 'failed' group by all order by all""",
        values,
    )


def waits(ledger: Ledger, calls: CallFilter) -> dict[str, float]:
    """How often servers took no more requests (`limited`), how often was tried again (`retries`)
    and the seconds until then (`waited_s`).
    """
    where, values = calls.where()
    row = ledger.database.row(
        f"""select count(*) filter (contains(lower(c.error_type), 'ratelimit')) as limited,
        count(*) filter (c.attempt > 1) as retries,
        coalesce(sum(c.retry_in_s), 0)::double as waited_s from llm_calls c where {where}""",
        values,
    )
    return row or {}
