"""The bill: tokens in exclusive buckets, what caches saved, what a question, an answer and a
document cost, and whether the buckets agree with what servers said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from agentkit.core.rates import MILLION, Rates
from agentkit.database import Row
from agentkit.events import Usage
from agentkit.ledger.bill.repricing import Price
from agentkit.ledger.queries import COMPLETION, COST, PROMPT, CallFilter
from agentkit.ledger.store import Ledger

FindRates = Callable[[str, str, datetime], Rates | None]
"""Model, provider and time (UTC) to what a million tokens cost; None when that is unknown."""
ReadUsage = Callable[[Mapping[str, Any]], Usage]
"""A server's own usage figures to buckets."""


@dataclass(slots=True)
class Buckets:
    """Tokens, or dollars, each in one bucket only; together they are all there are."""

    input: float = 0
    """Of prompts, which no cache of a provider served."""
    cache_read: float = 0
    cache_write: float = 0
    output: float = 0
    """Of replies, without reasoning."""
    reasoning: float = 0
    embedding: float = 0
    rerank: float = 0

    @property
    def total(self) -> float:
        """All of them."""
        return sum(float(getattr(self, field.name)) for field in fields(self))


@dataclass(frozen=True, slots=True)
class Cost:
    """What some things cost together."""

    number: int
    """How many questions, answers or documents."""
    known: float
    """US dollars of those of known price."""
    unpriced: int
    """Calls for them whose price is unknown."""

    @property
    def each(self) -> float | None:
        """US dollars for one; None where nothing of it is known, or there is none."""
        has_price = self.known > 0 or not self.unpriced
        if self.number and has_price:
            return self.known / self.number
        return None


@dataclass(frozen=True, slots=True)
class Saved:
    """What caches saved, as far as prices are known."""

    by_providers: float = 0.0
    """US dollars, less what writing into their caches cost."""
    by_replies: float = 0.0
    """US dollars of replies that came out of a cache here."""
    replies: int = 0
    """How many those were."""
    unknown: int = 0
    """Calls that read from a cache, or came out of one, whose price is unknown."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A call whose buckets are not what its server said."""

    call_id: str
    run_id: str | None
    at: datetime
    model: str
    said: int
    """Tokens by the server's own figures."""
    counted: int


def list_called(ledger: Ledger, owner: str) -> list[tuple[str, str]]:
    """The servers and models that an owner's calls went to, those of most calls first."""
    rows = ledger.database.rows(
        """select provider, model from llm_calls where owner = ? and model <> ''
        group by all order by count(*) desc, provider, model""",
        [owner],
    )
    return [(row["provider"], row["model"]) for row in rows]


def sum_buckets(ledger: Ledger, chosen: CallFilter) -> Buckets:
    """All tokens of the calls."""
    where, values = chosen.where()
    row = ledger.database.row(f"select {_BUCKETS} from llm_calls c where {where}", values)
    return Buckets(**row) if row else Buckets()


def price_buckets(ledger: Ledger, chosen: CallFilter, find_rates: FindRates) -> Buckets:
    """What the buckets cost at the prices of their days, below the steps of prices by length; calls
    of unknown price are not in it.
    """
    where, values = chosen.where()
    rows = ledger.database.rows(
        f"select {_GROUP}, {_BUCKETS} from llm_calls c where {where} group by all", values
    )
    costs = Buckets()
    for row in rows:
        rates = find_rates(row["model"], row["provider"], _at(row))
        if rates is not None:
            _add_costs(costs, row, rates)
    return costs


def _add_costs(costs: Buckets, row: Row, rates: Rates) -> None:
    """Add what the tokens of a row cost, bucket by bucket."""
    prices = {
        "input": rates.input,
        "cache_read": rates.cache_read,
        "cache_write": rates.cache_write,
        "output": rates.output,
        "reasoning": rates.output,
        "embedding": rates.input,
        "rerank": rates.input,
    }
    for name, price in prices.items():
        setattr(costs, name, getattr(costs, name) + row[name] * price / MILLION)


def find_saved(
    ledger: Ledger, chosen: CallFilter, find_rates: FindRates, price: Price, read: ReadUsage
) -> Saved:
    """What caches saved: those of providers, by their lower price for what they know already, and
    the cache of replies, by calls that were not made.
    """
    by_providers, unknown = _sum_cheaper(ledger, chosen, find_rates)
    where, values = chosen.where()
    rows = ledger.database.rows(
        f"""select {_GROUP}, cast(c.raw_usage as varchar) as raw, count(*) as calls
        from llm_calls c where {where} and c.status = 'cached' group by all""",
        values,
    )
    by_replies, replies = 0.0, 0
    for row in rows:
        replies += row["calls"]
        usage = read(json.loads(row["raw"]))
        dollars = None
        if usage.total:
            dollars = price(row["model"], row["provider"], usage, _at(row))
        unknown += row["calls"] * (dollars is None)
        by_replies += row["calls"] * (dollars or 0.0)
    return Saved(by_providers, by_replies, replies, unknown)


def _sum_cheaper(ledger: Ledger, chosen: CallFilter, find_rates: FindRates) -> tuple[float, int]:
    """Dollars that caches of providers saved, and how many calls that used them are of unknown
    price.
    """
    where, values = chosen.where()
    rows = ledger.database.rows(
        f"""select {_GROUP}, sum(c.cache_read_tokens) as read, sum(c.cache_write_tokens) as written,
        count(*) as calls from llm_calls c
        where {where} and c.cache_read_tokens + c.cache_write_tokens > 0 group by all""",
        values,
    )
    saved, unknown = 0.0, 0
    for row in rows:
        rates = find_rates(row["model"], row["provider"], _at(row))
        if rates is None:
            unknown += row["calls"]
            continue
        saved += row["read"] * (rates.input - rates.cache_read)
        saved -= row["written"] * (rates.cache_write - rates.input)
    return saved / MILLION, unknown


def cost_questions(ledger: Ledger, chosen: CallFilter) -> Cost:
    """What the questions that took these calls cost."""
    return _cost_runs(ledger, chosen, "r.kind = 'chat'", "count(distinct r.id)")


def cost_evidence(ledger: Ledger, chosen: CallFilter) -> Cost:
    """What the answers cost that cite something."""
    cited = """exists (from messages m where m.run_id = r.id and m.role = 'assistant'
        and json_array_length(m.extra->'citations') > 0)"""
    return _cost_runs(ledger, chosen, f"r.kind = 'chat' and {cited}", "count(distinct r.id)")


def cost_documents(ledger: Ledger, chosen: CallFilter) -> Cost:
    """What the documents cost that were taken in with these calls."""
    done = """(select count(*) from events e where e.kind = 'DocumentDone'
        and e.data->>'status' = 'indexed' and e.run_id in (select run_id from taken))"""
    took_in = "exists (from events e where e.run_id = r.id and e.kind = 'DocumentDone')"
    return _cost_runs(ledger, chosen, f"r.kind = 'ingest' and {took_in}", done)


def _cost_runs(ledger: Ledger, chosen: CallFilter, which: str, number: str) -> Cost:
    where, values = chosen.where()
    row = ledger.database.row(
        f"""with taken as (select c.* replace ({COST} as cost) from llm_calls c
        join runs r on r.id = c.run_id where {where} and {which})
        select {number} as number, coalesce(sum(c.cost), 0)::double as known,
        count(*) filter (c.cost is null and {PROMPT} + {COMPLETION} > 0) as unpriced
        from taken c join runs r on r.id = c.run_id""",
        values,
    )
    return Cost(**row) if row else Cost(0, 0.0, 0)


def count_checked(ledger: Ledger, chosen: CallFilter) -> int:
    """How many calls there are whose server said what they took."""
    where, values = chosen.where()
    sql = f"select count(*) from llm_calls c where {where} and {_CHECKED}"
    return int(ledger.database.value(sql, values) or 0)


def find_mismatches(ledger: Ledger, chosen: CallFilter, limit: int = 200) -> list[Mismatch]:
    """The calls whose buckets are not what their servers said, the newest first."""
    where, values = chosen.where()
    rows = ledger.database.rows(
        f"""select c.id as call_id, c.run_id, c.finished_at as at, c.model,
        {_SAID} as said, ({PROMPT} + {COMPLETION})::bigint as counted from llm_calls c
        where {where} and {_CHECKED} and {_WRONG} order by c.finished_at desc, c.id limit ?""",
        [*values, limit],
    )
    return [Mismatch(**row) for row in rows]


def _at(row: Row) -> datetime:
    return datetime.combine(row["day"], datetime.min.time(), UTC).replace(hour=12)


_ALL = f"{PROMPT} + {COMPLETION}"
_SPOKEN = "c.purpose not in ('embedding', 'rerank')"
_SUMS = {
    "input": ("c.input_tokens", _SPOKEN),
    "cache_read": ("c.cache_read_tokens", _SPOKEN),
    "cache_write": ("c.cache_write_tokens", _SPOKEN),
    "output": ("c.output_tokens", _SPOKEN),
    "reasoning": ("c.reasoning_tokens", _SPOKEN),
    "embedding": (_ALL, "c.purpose = 'embedding'"),
    "rerank": (_ALL, "c.purpose = 'rerank'"),
}
_BUCKETS = ", ".join(
    f"coalesce(sum({what}) filter ({which}), 0)::bigint as {name}"
    for name, (what, which) in _SUMS.items()
)
_GROUP = "c.provider, c.model, c.finished_at::date as day"
_TOTAL, _PROMPT, _REPLY = (
    f"try_cast(c.raw_usage->>'{name}' as bigint)"
    for name in ("total_tokens", "prompt_tokens", "completion_tokens")
)
_SAID = f"coalesce({_TOTAL}, {_PROMPT} + {_REPLY})"
_CHECKED = f"c.status <> 'cached' and not c.estimated and {_SAID} > 0"
_WRONG = f"({_SAID} <> {_ALL} or coalesce({_PROMPT}, {PROMPT}) <> {PROMPT})"
