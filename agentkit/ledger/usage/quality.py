"""How good answers were: what they cite, whether it bears them out, and what people thought of
them. Times are UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from agentkit.core.given import pick_filled
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.store import Ledger
from agentkit.ledger.usage.local import local_step
from agentkit.ledger.usage.sums import find_span

if TYPE_CHECKING:
    import pandas

Side = Literal["team", "model", "collection"]
SIDES: tuple[Side, ...] = get_args(Side)
_VERDICTS = "coalesce(json_extract_string(m.extra, '$.checks[*].verdict'), [])"
_SUMS = """count(*) as answers, count(*) filter (cites) as citing,
    coalesce(sum(markers), 0)::bigint as markers,
    coalesce(sum(doubtful), 0)::bigint as doubtful,
    count(*) filter (value = 'up') as up, count(*) filter (value = 'down') as down,
    case when sum(markers) > 0 then 1 - sum(doubtful)::double / sum(markers) end as supported"""


def _answers(calls: CallFilter) -> tuple[str, list[Any]]:
    """The SQL of a table `answers`, a row for each answer that is meant, and its values."""
    conditions: dict[str, Any] = {
        "m.created_at >= ?": calls.since,
        "m.created_at < ?": calls.until,
        "list_contains(?, r.team)": list(calls.teams),
        "list_contains(?, coalesce(m.extra->>'model', ''))": list(calls.models),
        "list_contains(?, h.collection)": list(calls.collections),
        "list_contains(?, h.id)": list(calls.chats),
        "h.id = ?": calls.chat,
    }
    meant: dict[str, Any] = {"h.owner = ?": calls.owner}
    meant |= pick_filled(conditions)
    sql = f"""with answers as (
        select m.id, m.run_id, m.content, m.created_at, r.team, h.collection,
        coalesce(m.extra->>'model', '') as model, f.value, f.comment, f.rated_at,
        json_array_length(m.extra->'citations') > 0 as cites,
        len({_VERDICTS}) as markers,
        len(list_filter({_VERDICTS}, lambda one: one in ('doubtful', 'missing'))) as doubtful
        from messages m join chats h on h.id = m.chat_id and h.deleted_at is null
        join runs r on r.id = m.run_id
        left join feedback f on f.message_id = m.id and f.owner = h.owner
        where m.role = 'assistant' and m.status = 'complete'
        and m.extra->>'inner' = 'false' and {" and ".join(meant)})"""
    return sql, list(meant.values())


def sum_up(ledger: Ledger, calls: CallFilter) -> dict[str, Any]:
    """Of all answers: `answers`, `citing` something, `markers` and how many of them are
    `doubtful`, the share `supported` (None without a marker), thumbs `up` and `down`.
    """
    sql, values = _answers(calls)
    return ledger.database.row(f"{sql} select {_SUMS} from answers", values) or {}


def by_side(ledger: Ledger, calls: CallFilter, side: Side) -> pandas.DataFrame:
    """The same by team, model or collection, which is `key`; the most answers first."""
    sql, values = _answers(calls)
    return ledger.database.frame(
        f"{sql} select {side} as key, {_SUMS} from answers group by key"
        " order by answers desc, key limit 500",
        values,
    )


def over_time(ledger: Ledger, calls: CallFilter, zone: str, hours: int) -> pandas.DataFrame:
    """The same in each step of so many `hours` on the clocks of the zone, as shares: rows of
    `hour`, `supported` and `citing`.
    """
    sql, values = _answers(calls)
    step = local_step("created_at", zone, *find_span(ledger, calls), hours)
    return ledger.database.frame(
        f"""{sql} select {step} as hour, count(*) filter (cites)::double / count(*) as citing,
        case when sum(markers) > 0 then 1 - sum(doubtful)::double / sum(markers) end as supported
        from answers group by all order by hour""",
        values,
    )


def find_poor(ledger: Ledger, calls: CallFilter, limit: int = 200) -> pandas.DataFrame:
    """The answers that somebody found poor or of which a citation is doubtful, those found poor
    first, then the newest.
    """
    sql, values = _answers(calls)
    return ledger.database.frame(
        f"""{sql} select run_id, '' as id, left(content, 300) as answer, team, model, collection,
        coalesce(value, '') as thumb, coalesce(comment, '') as comment, doubtful, created_at
        from answers where value = 'down' or doubtful > 0
        order by value = 'down' desc nulls last, created_at desc limit {limit}""",
        values,
    )
