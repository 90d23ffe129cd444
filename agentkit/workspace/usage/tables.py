"""The tables of the usage page as plain values, as the command line and programs ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from agentkit.ledger import Ledger
from agentkit.ledger.bill import buckets
from agentkit.ledger.bill.buckets import Cost
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.store import utc_now
from agentkit.ledger.usage import calls as call_lists
from agentkit.ledger.usage import health, quality, work
from agentkit.llm.calls.usage import to_usage
from agentkit.llm.prices import find_rates, price

if TYPE_CHECKING:
    import pandas

Table = Literal[
    "buckets",
    "costs",
    "errors",
    "waits",
    "slowest",
    "tools",
    "lookups",
    "compression",
    "people",
    "documents",
    "unanswered",
    "quality",
]
_SLOWEST = 20
Rows = list[dict[str, Any]]


def read_table(ledger: Ledger, calls: CallFilter, which: Table) -> Rows:
    """The rows of one table; times are UTC, as text in ISO's form."""
    return _TABLES[which](ledger, calls)


def _to_rows(frame: pandas.DataFrame) -> Rows:
    """What is unknown is None, and times are texts."""
    plain = frame.astype(object).where(frame.notna(), None)
    rows: Any = plain.map(_tell_time).to_dict("records")
    return list(rows)


def _tell_time(value: object) -> object:
    import pandas

    if isinstance(value, pandas.Timestamp):
        return f"{value.isoformat()}Z"
    return value


def _read_buckets(ledger: Ledger, calls: CallFilter) -> Rows:
    """Tokens in buckets that exclude each other, and what they are worth."""
    tokens = asdict(buckets.sum_buckets(ledger, calls))
    worth = asdict(buckets.price_buckets(ledger, calls, find_rates))
    rows = [{"bucket": name, "tokens": tokens[name], "worth": worth[name]} for name in tokens]
    whole = {"tokens": sum(tokens.values()), "worth": sum(worth.values())}
    return [*rows, {"bucket": "all", **whole}]


def _read_costs(ledger: Ledger, calls: CallFilter) -> Rows:
    """What a question, an answer with evidence and a document cost, and what caches saved."""
    each = {
        "question": buckets.cost_questions(ledger, calls),
        "cited answer": buckets.cost_evidence(ledger, calls),
        "document": buckets.cost_documents(ledger, calls),
    }
    saved = buckets.find_saved(ledger, calls, find_rates, price, to_usage)
    rows = [_to_cost(name, cost) for name, cost in each.items()]
    rows.append(_to_saving("saved by providers' caches", saved.by_providers, saved.unknown))
    rows.append(_to_saving("saved by the cache here", saved.by_replies, 0, saved.replies))
    return rows


def _to_cost(name: str, cost: Cost) -> dict[str, Any]:
    told = {"number": cost.number, "cost": cost.known, "unpriced": cost.unpriced}
    return {"of": name, "each": cost.each, **told}


def _to_saving(
    name: str, dollars: float, unpriced: int, number: int | None = None
) -> dict[str, Any]:
    return {"of": name, "each": None, "number": number, "cost": dollars, "unpriced": unpriced}


def _read_waits(ledger: Ledger, calls: CallFilter) -> Rows:
    return [dict(call_lists.waits(ledger, calls))]


def _read_slowest(ledger: Ledger, calls: CallFilter) -> Rows:
    return _to_rows(call_lists.list_calls(ledger, calls, "slowest", _SLOWEST))


def _read_documents(ledger: Ledger, calls: CallFilter) -> Rows:
    return _to_rows(health.list_documents(ledger, calls, utc_now() - health.STALE_AFTER, "number"))


def _read_unanswered(ledger: Ledger, calls: CallFilter) -> Rows:
    found = health.list_unanswered(ledger, calls)
    return [{**asdict(one), "asked_at": f"{one.asked_at.isoformat()}Z"} for one in found]


def _read_quality(ledger: Ledger, calls: CallFilter) -> Rows:
    """In all, then by team, model and collection."""
    rows: Rows = [{"side": "all", "key": "", **quality.sum_up(ledger, calls)}]
    for side in quality.SIDES:
        found = _to_rows(quality.by_side(ledger, calls, side))
        rows += [{"side": side, **row} for row in found]
    return rows


def _read_frame(
    read: Callable[[Ledger, CallFilter], pandas.DataFrame],
) -> Callable[[Ledger, CallFilter], Rows]:
    """The same, but as rows."""
    return lambda ledger, calls: _to_rows(read(ledger, calls))


_TABLES: Mapping[Table, Callable[[Ledger, CallFilter], Rows]] = {
    "buckets": _read_buckets,
    "costs": _read_costs,
    "errors": _read_frame(call_lists.failures),
    "waits": _read_waits,
    "slowest": _read_slowest,
    "tools": _read_frame(work.tools),
    "lookups": _read_frame(work.lookups),
    "compression": _read_frame(work.compression),
    "people": _read_frame(work.people),
    "documents": _read_documents,
    "unanswered": _read_unanswered,
    "quality": _read_quality,
}
