"""`usage --show` and `usage --by ... --within ...`: the other tables of the usage page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentkit.cli.output import Listing, dollars, put, put_json, put_table
from agentkit.core.given import list_missing

if TYPE_CHECKING:
    from agentkit.ledger.figures import GroupSums
    from agentkit.ledger.queries import CallFilter, Totals
    from agentkit.ledger.usage.sums import Sums
    from agentkit.workspace import Workspace
    from agentkit.workspace.usage.tables import Table

Shown = Literal[
    "bill",
    "speed",
    "errors",
    "tools",
    "look-ups",
    "compression",
    "people",
    "documents",
    "quality",
]
TABLES: Mapping[Shown, tuple[Table, ...]] = {
    "bill": ("buckets", "costs"),
    "speed": ("slowest",),
    "errors": ("errors", "waits"),
    "tools": ("tools",),
    "look-ups": ("lookups",),
    "compression": ("compression",),
    "people": ("people",),
    "documents": ("documents", "unanswered"),
    "quality": ("quality",),
}
"""The tables that a tab of the page has."""
_NUMBERS = (
    *("calls", "failed", "tokens in", "tokens out", "cost", "unpriced"),
    *("median s", "95 % s", "99 % s"),
)
_MONEY = ("cost", "worth", "each")
_WIDEST = 60
_LEFT_OUT = ("run_id", "owner", "id", "seq", "chat_id")
"""Columns that lead to runs, which JSON has and a terminal has no room for."""


def put_tables(workspace: Workspace, calls: CallFilter, shown: Shown, *, as_json: bool) -> None:
    """Tell the tables of a tab, each under its name."""
    found: dict[str, Any] = {name: workspace.usage_table(calls, name) for name in TABLES[shown]}
    if as_json:
        put_json({"show": shown} | found)
        return
    for name, rows in found.items():
        put(f"{name}:")
        _put_rows(rows)


def _put_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        put("nothing\n")
        return
    first, last = rows[0], rows[-1]
    names = list_missing(dict.fromkeys([*last, *first]), _LEFT_OUT)
    numbers = [name for name in names if isinstance(first.get(name), int | float)]
    put_table(names, [_to_row_cells(names, row) for row in rows], numbers)
    put("")


def _to_row_cells(names: Sequence[str], row: Mapping[str, Any]) -> list[str]:
    return [_tell(name, row.get(name)) for name in names]


def _tell(name: str, value: object) -> str:
    """A value as it is read."""
    if value is None:
        return ""
    if isinstance(value, float):
        return _tell_number(name, value)
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)[:_WIDEST]


def _tell_number(name: str, value: float) -> str:
    if name in _MONEY:
        return dollars(value)
    return f"{value:,.3f}"


def put_groups(
    by: str, within: str, groups: Sequence[GroupSums], *, as_json: bool, empty: str
) -> None:
    """Tell the sums of groups within groups."""
    rows = []
    for one in groups:
        sums = dataclasses.asdict(one.sums)
        rows.append({by: one.first, within: one.second, **sums})
    listing = Listing(
        {"by": by, "within": within, "rows": rows},
        (by, within, *_NUMBERS),
        list(map(_to_cells, groups)),
        empty,
        _NUMBERS,
    )
    listing.put(as_json=as_json)


def _to_cells(group: GroupSums) -> list[str]:
    return [
        name_group(group.first),
        name_group(group.second),
        *tell_sums(group.sums),
        tell_seconds(group.sums.p99_s),
    ]


def name_group(name: str) -> str:
    """The name of a group in a table."""
    return name or "(none)"


def tell_sums(sums: Sums | Totals) -> list[str]:
    """Calls, failed ones, tokens, cost and times as cells of a table."""
    about = ""
    if sums.estimated:
        about = "~"
    return [
        f"{sums.calls:,}",
        f"{sums.failed:,}",
        f"{about}{sums.prompt_tokens:,}",
        f"{about}{sums.completion_tokens:,}",
        _tell_cost(sums),
        f"{sums.unpriced:,}",
        tell_seconds(sums.p50_s),
        tell_seconds(sums.p95_s),
    ]


def _tell_cost(sums: Sums | Totals) -> str:
    """What was paid; nothing where no call costs anything, "unknown" where no price is known."""
    if sums.cost is None and not sums.unpriced:
        return ""
    return dollars(sums.cost)


def tell_seconds(value: float | None) -> str:
    """A time as a cell of a table; nothing where it is not known."""
    if value is None:
        return ""
    return f"{value:.2f}"
