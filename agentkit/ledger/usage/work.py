"""What runs did beside asking models: tools and code, look-ups, compression, and people who were
waited for; times are seconds, costs US dollars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentkit.core.given import pick_filled
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.store import Ledger
from agentkit.ledger.usage.local import local_step
from agentkit.ledger.usage.sums import find_span

if TYPE_CHECKING:
    import pandas

Step = Literal["tool", "code", "search", "compression", "asked"]
TOOLS: tuple[Step, ...] = ("tool", "code")
_APPROVED = "('approve', 'approve_all', 'always', 'yes')"
_REJECTED = "('reject', 'no')"
_TIMES = """median(s.seconds)::double as p50_s, quantile_cont(s.seconds, 0.95)::double as p95_s,
    coalesce(sum(s.seconds), 0)::double as seconds"""
_LATEST = """max(s.happened_at) as last,
    arg_max(s.run_id, s.happened_at) filter (not s.ok) as run_id,
    arg_max(s.owner, s.happened_at) filter (not s.ok) as owner,
    arg_max(s.seq, s.happened_at) filter (not s.ok)::varchar as id"""


def where(calls: CallFilter, kinds: Sequence[Step]) -> tuple[str, list[Any]]:
    """The SQL condition over `s` (steps) and its values, for what the filter says of more than
    model calls: days, owners, agents, teams, collections and chats.
    """
    mine = {} if calls.everyone else {"s.owner = ?": calls.owner}
    conditions: dict[str, Any] = {
        "s.happened_at >= ?": calls.since,
        "s.happened_at < ?": calls.until,
        "list_contains(?, s.owner)": list(calls.owners),
        "list_contains(?, s.agent)": list(calls.agents),
        "list_contains(?, s.team)": list(calls.teams),
        "list_contains(?, s.collection)": list(calls.collections),
        "list_contains(?, coalesce(s.chat_id, ''))": list(calls.chats),
        "s.chat_id = ?": calls.chat,
    }
    meant = {"list_contains(?, s.kind)": list(kinds)} | mine
    meant |= pick_filled(conditions)
    return " and ".join(meant), list(meant.values())


def tools(ledger: Ledger, calls: CallFilter) -> pandas.DataFrame:
    """The tools and languages that ran, the most used first: how often, how many failed, their
    times, and the run and step of the latest that failed.
    """
    condition, values = where(calls, TOOLS)
    return ledger.database.frame(
        f"""select s.kind, s.name, count(*) as calls, count(*) filter (not s.ok) as failed,
        {_TIMES}, {_LATEST} from steps s where {condition}
        group by s.kind, s.name order by calls desc, s.name limit 500""",
        values,
    )


def lookups(ledger: Ledger, calls: CallFilter) -> pandas.DataFrame:
    """The look-ups by collection: how often, how many found nothing, passages each, the median of
    the best scores, their times, and the run and step of the latest that found nothing.
    """
    condition, values = where(calls, ["search"])
    return ledger.database.frame(
        f"""select s.collection, count(*) as calls, count(*) filter (not s.ok) as empty,
        avg(s.found)::double as found, median(s.best)::double as best, {_TIMES}, {_LATEST}
        from steps s where {condition} group by s.collection order by calls desc limit 500""",
        values,
    )


def find_best_score(ledger: Ledger, calls: CallFilter) -> float | None:
    """The median of the best scores of all look-ups; None where nothing was found."""
    condition, values = where(calls, ["search"])
    found: float | None = ledger.database.value(
        f"select median(s.best)::double from steps s where {condition}", values
    )
    return found


def over_time(
    ledger: Ledger, calls: CallFilter, kinds: Sequence[Step], zone: str, hours: int
) -> pandas.DataFrame:
    """What was done in each step of so many `hours` on the clocks of the zone: rows of `hour`,
    `calls`, `failed` (of look-ups: that found nothing) and `best` (the median of the best scores).
    """
    condition, values = where(calls, kinds)
    step = local_step("s.happened_at", zone, *find_span(ledger, calls), hours)
    return ledger.database.frame(
        f"""select {step} as hour, count(*) as calls, count(*) filter (not s.ok) as failed,
        median(s.best)::double as best, quantile_cont(s.best, 0.1)::double as low
        from steps s where {condition} group by all order by hour""",
        values,
    )


def compression(ledger: Ledger, calls: CallFilter) -> pandas.DataFrame:
    """Histories that were made shorter, by how: how often, how many failed, tokens before and
    after, what was saved of them, and what making them shorter took.
    """
    condition, values = where(calls, ["compression"])
    return ledger.database.frame(
        f"""select s.name, count(*) as calls, count(*) filter (not s.ok) as failed,
        sum(s.tokens_before)::bigint as tokens_before, sum(s.tokens_after)::bigint as tokens_after,
        coalesce(sum(s.tokens_before - s.tokens_after), 0)::bigint as saved,
        coalesce(sum(s.tokens_spent), 0)::bigint as spent, sum(s.cost)::double as cost, {_TIMES},
        {_LATEST} from steps s where {condition} group by s.name order by saved desc limit 500""",
        values,
    )


def people(ledger: Ledger, calls: CallFilter) -> pandas.DataFrame:
    """What people were asked, by agent: how often, what was approved, changed, rejected, answered
    in words or not at all, and how long was waited, with the run and step of the longest wait.
    """
    condition, values = where(calls, ["asked"])
    return ledger.database.frame(
        f"""with asked as (select s.*, a.name as answer, a.ok as in_time,
            case when a.happened_at < s.happened_at then 0
            else date_diff('millisecond', s.happened_at, a.happened_at) / 1000 end as waited_s
            from steps s left join steps a on a.kind = 'answered' and a.run_id = s.run_id
            and a.request_id = s.request_id where {condition})
        select agent, count(*) as asked, count(*) filter (answer in {_APPROVED}) as approved,
        count(*) filter (answer = 'edit') as changed,
        count(*) filter (answer in {_REJECTED}) as rejected,
        count(*) filter (answer not in {_APPROVED} and answer not in {_REJECTED}
            and answer <> 'edit') as in_words,
        count(*) filter (answer is null or not in_time) as unanswered,
        median(waited_s)::double as p50_s, quantile_cont(waited_s, 0.95)::double as p95_s,
        coalesce(sum(waited_s), 0)::double as seconds, arg_max(run_id, waited_s) as run_id,
        arg_max(owner, waited_s) as owner,
        arg_max(seq, waited_s)::varchar as id
        from asked group by agent order by asked desc limit 500""",
        values,
    )
