"""Calls that are priced anew, with the change shown before it is made, and taken back again.

A call has the price of its day: that of the moment when it was made. Where prices are entered or
corrected afterwards, the calls of those days can be given what they say. A known cost never becomes
unknown, and what came out of a cache, or with an imported chat, keeps what it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentkit.database import Database, Row
from agentkit.errors import NotFound
from agentkit.events import Usage
from agentkit.ledger.queries import COST, CallFilter
from agentkit.ledger.store import Ledger, utc_now
from agentkit.messages import new_id

Price = Callable[[str, str, Usage, datetime], float | None]
"""Model, provider, tokens and time (UTC) to US dollars; None when the price is unknown."""
_ALIKE = (
    "provider",
    "model",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)
_LEAST = 1e-12  # dollars: less is a rounding error
_TOKENS = " + ".join(f"c.{name}" for name in _ALIKE[2:])
_MEANT = f"{_TOKENS} > 0 and c.status <> 'cached' and not c.imported"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of the calls of one model at one server."""

    provider: str
    model: str
    calls: int
    before: float
    """US dollars of those whose cost was known."""
    unknown: int
    """Calls whose cost was not known."""
    after: float


@dataclass(frozen=True, slots=True)
class Repricing:
    """A change of prices that was made; times are UTC without zone."""

    id: str
    owner: str
    applied_at: datetime
    undone_at: datetime | None
    calls: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class _Kind:
    """Calls that are alike, and get the same price."""

    row: Row
    after: float

    @property
    def model(self) -> tuple[str, str]:
        return self.row["provider"], self.row["model"]


def find_changes(ledger: Ledger, chosen: CallFilter, price: Price) -> list[Change]:
    """What pricing these calls anew would change, by server and model; nothing is changed yet."""
    by_model: dict[tuple[str, str], list[_Kind]] = {}
    for kind in _find_kinds(ledger.database, chosen, price):
        by_model.setdefault(kind.model, []).append(kind)
    return [_sum_up(model, kinds) for model, kinds in sorted(by_model.items())]


def price_anew(ledger: Ledger, chosen: CallFilter, price: Price) -> Repricing | None:
    """Give these calls the prices of their days as they are known now; None where that changes
    nothing.
    """
    database, made = ledger.database, new_id()
    kinds = list(_find_kinds(database, chosen, price))
    if not kinds:
        return None
    with database.transaction():
        _keep_calls(database, made, chosen, kinds)
        _apply(database, made, "after")
        database.execute(
            """insert into repricings select ?, ?, ?, null, count(*), coalesce(sum(before), 0),
            sum(after) from repriced_calls where repricing = ?""",
            [made, chosen.owner, utc_now(), made],
        )
    ledger.spending.forget()
    return _find(ledger, chosen.owner, made)


def undo(ledger: Ledger, owner: str, repricing_id: str) -> None:
    """Give the calls of a change what they cost before, but for those that were priced anew since;
    raises NotFound.
    """
    if _find(ledger, owner, repricing_id).undone_at is not None:
        raise NotFound("This change of prices was taken back already.")
    database = ledger.database
    with database.transaction():
        _apply(database, repricing_id, "before")
        database.execute(
            "update repricings set undone_at = ? where id = ?", [utc_now(), repricing_id]
        )
    ledger.spending.forget()


def list_repricings(ledger: Ledger, owner: str) -> list[Repricing]:
    """The changes of prices that were made for an owner's calls, the newest first."""
    rows = ledger.database.rows(
        "select * from repricings where owner = ? order by applied_at desc, id", [owner]
    )
    return [Repricing(**row) for row in rows]


def _find(ledger: Ledger, owner: str, repricing_id: str) -> Repricing:
    row = ledger.database.row(
        "select * from repricings where owner = ? and id = ?", [owner, repricing_id]
    )
    if row is None:
        raise NotFound(f"There is no change of prices {repricing_id!r}.")
    return Repricing(**row)


def _find_kinds(database: Database, chosen: CallFilter, price: Price) -> Iterator[_Kind]:
    """The calls that would cost something else, those together that are alike in an hour."""
    where, values = chosen.where()
    rows = database.rows(
        f"""select {", ".join(f"c.{name}" for name in _ALIKE)}, {_HOUR} as hour, {COST} as cost,
        count(*) as calls from llm_calls c where {where} and {_MEANT} group by all""",
        values,
    )
    for row in rows:
        usage = Usage(*[row[name] for name in _ALIKE[2:]])
        after = price(row["model"], row["provider"], usage, row["hour"].replace(tzinfo=UTC))
        if after is not None and _differs(row["cost"], after):
            yield _Kind(row, after)


def _differs(before: float | None, after: float) -> bool:
    return before is None or abs(before - after) > _LEAST


def _sum_up(model: tuple[str, str], kinds: Sequence[_Kind]) -> Change:
    before, after, calls, unknown = 0.0, 0.0, 0, 0
    for kind in kinds:
        number = kind.row["calls"]
        calls += number
        after += number * kind.after
        before += number * (kind.row["cost"] or 0.0)
        unknown += number * (kind.row["cost"] is None)
    return Change(*model, calls, before, unknown, after)


def _keep_calls(database: Database, made: str, chosen: CallFilter, kinds: Sequence[_Kind]) -> None:
    """Note each call of these kinds, with what it cost and what it will cost."""
    import pyarrow

    where, values = chosen.where()
    names = [*_ALIKE, "hour", "cost"]
    columns = {name: [kind.row[name] for kind in kinds] for name in names}
    columns["after"] = [kind.after for kind in kinds]
    table = pyarrow.table(columns).cast(_make_schema())
    database.execute(f"create temporary table new_prices ({_NEW_PRICES})")
    database.insert_arrow("new_prices", table)
    same = " and ".join(f"c.{name} = n.{name}" for name in _ALIKE)
    database.execute(
        f"""insert into repriced_calls select ?, c.id, c.attempt, c.cost, n.after
        from llm_calls c join new_prices n on {same} and {_HOUR} = n.hour
        and {COST} is not distinct from n.cost where {where} and {_MEANT}""",
        [made, *values],
    )
    database.execute("drop table new_prices")


def _make_schema() -> object:
    import pyarrow

    texts = [(name, pyarrow.string()) for name in _ALIKE[:2]]
    numbers = [(name, pyarrow.int64()) for name in _ALIKE[2:]]
    rest = [("hour", pyarrow.timestamp("us")), ("cost", pyarrow.float64())]
    return pyarrow.schema([*texts, *numbers, *rest, ("after", pyarrow.float64())])


def _apply(database: Database, made: str, which: str) -> None:
    """Let the calls of a change, and what is told of them in their runs, cost what they did
    `before`, or what they do `after` it.
    """
    other = {"after": "before", "before": "after"}[which]
    database.execute(
        f"""update llm_calls set cost = r.{which} from repriced_calls r where r.repricing = ?
        and r.call_id = llm_calls.id and r.attempt = llm_calls.attempt
        and llm_calls.cost is not distinct from r.{other}""",
        [made],
    )
    database.execute(
        f"""update events set data = json_merge_patch(data, json_object('cost', r.{which}))
        from repriced_calls r where r.repricing = ? and kind = 'ModelReplied'
        and data->>'call_id' = r.call_id
        and coalesce(cast(data->>'attempt' as integer), 1) = r.attempt
        and cast(data->>'cost' as double) is not distinct from r.{other}""",
        [made],
    )


_HOUR = "date_trunc('hour', c.finished_at)"
_NEW_PRICES = ", ".join(
    [
        *[f"{name} varchar" for name in _ALIKE[:2]],
        *[f"{name} bigint" for name in _ALIKE[2:]],
        "hour timestamp, cost double, after double",
    ]
)
