"""What an answer will probably take, from what earlier ones of the same team and model took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from agentkit.ledger.queries import ANSWERED, COMPLETION, COST, PROMPT
from agentkit.ledger.store import Ledger

FEWEST, MOST = 5, 50  # runs that it is made from
_LOOKED_AT = 400  # of the owner's latest runs
Range = tuple[float, float]
"""The 25th and the 75th percentile."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the middle half of the earlier runs took."""

    runs: int
    """How many it is made from."""
    calls: Range
    """Of language models that were answered."""
    request: Range
    """Tokens of the longest request of a run."""
    cost: Range | None
    """US dollars of all calls, also of embeddings; None where the price of a call is unknown."""

    def to_json(self) -> dict[str, Any]:
        """As it is stored with the question."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: object) -> Forecast | None:
        """What `to_json` made; None for anything else."""
        if not isinstance(stored, Mapping):
            return None
        try:
            calls, request = (_to_range(stored[name]) for name in ("calls", "request"))
            cost = stored["cost"]
            return cls(int(stored["runs"]), calls, request, _to_range(cost) if cost else None)
        except (KeyError, TypeError, ValueError):
            return None


def _to_range(stored: Any) -> Range:
    low, high = stored
    return float(low), float(high)


def find_forecast(ledger: Ledger, owner: str, team_id: str, model_id: str) -> Forecast | None:
    """What the next answer of this team and model will probably take; None while there were fewer
    than five.
    """
    row = ledger.database.row(_FORECAST, [owner, team_id, model_id])
    if row is None or row["runs"] < FEWEST:
        return None
    cost = None if row["unpriced"] else (row["cost_low"], row["cost_high"])
    return Forecast(
        row["runs"],
        (row["calls_low"], row["calls_high"]),
        (row["request_low"], row["request_high"]),
        cost,
    )


_FORECAST = f"""
    with latest as (
        select id, started_at from runs where owner = ? and kind = 'chat' and state = 'finished'
        order by started_at desc limit {_LOOKED_AT}),
    alike as (
        select l.id from latest l
        join messages q on q.run_id = l.id and q.role = 'user' and (q.extra->>'team_id') = ?
        join messages a on a.run_id = l.id and a.role = 'assistant' and (a.extra->>'model') = ?
        group by l.id, l.started_at order by l.started_at desc limit {MOST}),
    took as (
        select c.run_id, count(*) filter (c.purpose = 'chat' and {ANSWERED}) as calls,
        max({PROMPT}) filter (c.purpose = 'chat') as request,
        sum({COST}) as cost,
        bool_or({COST} is null and {PROMPT} + {COMPLETION} > 0) as unpriced
        from llm_calls c join alike on alike.id = c.run_id
        group by c.run_id having bool_or(c.purpose = 'chat'))
    select count(*) as runs, coalesce(bool_or(unpriced), false) as unpriced,
    {
    ", ".join(
        f"quantile_cont({name}, {share})::double as {name}_{end}"
        for name in ("calls", "request", "cost")
        for end, share in (("low", 0.25), ("high", 0.75))
    )
}
    from took"""
